/** A first picture that fills the screen and can be read: nested groups are collapsed until it is. */
import type { Size } from "../../base/camera";
import type { Visible } from "../../program/types";
import { halvesOf } from "../twoHalves/halves";
import { READABLE } from "./camera";

/** A first picture that can be read may be this many screens long, or wide: people see its beginning and scroll. */
const MOST_SCREENS = 5 / 3;
/** Fewer boxes than this show less than many small ones. */
const FEWEST_BOXES = 8;

export interface Arranged {
  readonly visible: Visible;
  readonly layout: Size;
  /** How large it is in columns, if it is broken into some. */
  readonly size?: Size;
}

/** The result of `arrange` with as many groups collapsed as necessary; `closed` are their keys. */
export function fitToScreen<A extends Arranged>(
  room: Size,
  arrange: (closed: readonly string[]) => A,
): A & { readonly closed: readonly string[] } {
  let best = { ...arrange([]), closed: [] as readonly string[] };
  for (let scale = scaleIn(room, best.layout); scale * MOST_SCREENS < READABLE; ) {
    const innermost = innermostOpen(best.visible);
    const close = (keys: readonly string[]) => ({ ...arrange([...best.closed, ...keys]), closed: [...best.closed, ...keys] });
    let calmer = innermost.length ? close(innermost) : undefined;
    if (calmer && calmer.visible.boxCount < FEWEST_BOXES && innermost.length > 1) calmer = close(fullest(best.visible, innermost));
    if (!calmer || calmer.visible.boxCount < FEWEST_BOXES) break;
    best = calmer;
    scale = scaleIn(room, best.layout);
  }
  return best;
}

/** The first of these groups, the fullest; in a half of a training step with its counterpart, so that both halves are open equally deep. */
function fullest(visible: Visible, groups: readonly string[]): readonly string[] {
  const halves = halvesOf(visible);
  const pairs = halves ? [[halves.forward, halves.backward], ...halves.pairs] : [];
  const pair = pairs.find((boxes) => boxes.some((box) => visible.key[box] === groups[0])) ?? [];
  return [...new Set([groups[0], ...pair.map((box) => visible.key[box]).filter((key) => groups.includes(key))])];
}

/** How large a picture can be in this much room. */
export function scaleIn(room: Size, layout: Size): number {
  return Math.min(room.width / Math.max(1, layout.width), room.height / Math.max(1, layout.height));
}

/** Keys of the deepest open groups, the fullest first. */
function innermostOpen({ boxCount, open, parent, key }: Visible): string[] {
  const depth = new Int32Array(boxCount),
    inside = new Int32Array(boxCount);
  let deepest = -1;
  for (let b = 0; b < boxCount; b++) {
    if (parent[b] >= 0) inside[parent[b]]++;
    if (!open[b]) continue;
    depth[b] = parent[b] < 0 ? 0 : depth[parent[b]] + 1;
    deepest = Math.max(deepest, depth[b]);
  }
  const groups = Array.from({ length: boxCount }, (_, b) => b).filter((b) => open[b] && depth[b] === deepest);
  return groups.sort((a, b) => inside[b] - inside[a]).map((b) => key[b]);
}
