/** Forward beside backward in a small window: what is not the layers is collapsed in both halves if else only one of them were in sight. */
import type { Size } from "../base/camera";
import { READABLE } from "../view/initial/camera";
import type { Arrangement } from "./types";

/** As much of the backward half has to be in sight, in a picture that begins at its left edge. */
const LEAST_SHARE = 3 / 4;

function areInSight({ layout, halves }: Arrangement, room: Size): boolean {
  return !halves || layout.x[halves.backward] + LEAST_SHARE * layout.w[halves.backward] <= room.width / READABLE;
}

/** Keys of the outermost open groups that both halves have and that are, and hold, no repeated layers. */
function groupsWithoutLayers({ visible, halves }: Arrangement): string[] {
  if (!halves) return [];
  const { boxCount, parent, open, repeat, key } = visible;
  const holdsLayers = new Uint8Array(boxCount);
  for (let box = 0; box < boxCount; box++)
    if (repeat[box] > 1 && visible.group[box] >= 0)
      for (let around = box; around >= 0 && !holdsLayers[around]; around = parent[around]) holdsLayers[around] = 1;
  // Without a stack, nothing tells what the layers are.
  if (!holdsLayers.includes(1)) return [];
  const plain = halves.pairs.filter((pair) => pair.every((box) => open[box] === 1 && !holdsLayers[box]));
  const boxes = new Set(plain.flat());
  return [...boxes].filter((box) => !boxes.has(parent[box])).map((box) => key[box]);
}

/** An arrangement, or the one with fewer groups expanded that shows more of both halves in this much room. */
export function bothInSight(arrangement: Arrangement, room: Size, arrange: (closed: readonly string[]) => Arrangement): Arrangement {
  const closed = areInSight(arrangement, room) ? [] : groupsWithoutLayers(arrangement);
  if (closed.length === 0) return arrangement;
  const calmer = arrange(closed);
  return calmer.layout.width < arrangement.layout.width ? { ...calmer, closed } : arrangement;
}
