/** From one picture to the next: what stays keeps its place, so that people do not get lost. */
import type { PreviousPlaces } from "../layout/types";
import type { ViewSpec, Visible } from "../program/types";
import type { Arrangement, Stayed } from "./types";

/** In a drawing of this many boxes, people would have to wait if expanding a group moved the others. */
const LARGE_VIEW = 3000;

export const isLargeView = (visible: Visible): boolean => visible.boxCount >= LARGE_VIEW;

/**
 * The pictures that lead to one, each one step from the next: as it comes, then with what is collapsed, then with one group after the
 * other expanded. Each continues the layout before it, so that expanding a group never changes the order of the others; and because they
 * follow from the specification alone, a link or a file shows what the page shows.
 */
export function stepsTo(spec: ViewSpec): ViewSpec[] {
  const { open = [], closed = [] } = spec;
  const collapsed = closed.length > 0 ? [{ ...spec, open: [], closed: [] }] : [];
  return [...collapsed, ...open.map((_, count) => ({ ...spec, open: open.slice(0, count) }))];
}

/** Places across the flow from which the next layout continues. */
export function placesBefore(
  before: Arrangement,
  { visible, direction, stayed }: Pick<Arrangement, "visible" | "direction" | "stayed">,
): PreviousPlaces | undefined {
  if (direction !== before.direction) return undefined;
  const box = stayed?.box ?? matchKeys(before.visible.key, visible.key);
  const { x, y, w, h } = before.layout;
  const [across, width] = direction === "LR" ? [y, h] : [x, w];
  const ofOld = (values: Float64Array) => Float64Array.from(box, (old) => (old < 0 ? Number.NaN : values[old]));
  return { x: ofOld(across), width: ofOld(width) };
}

/** Is a large view the previous one with one group expanded or collapsed? */
export function isNextStep(before: Arrangement, now: ViewSpec, visible: Visible): boolean {
  if (!isLargeView(visible) || !isLargeView(before.visible)) return false;
  const rest = (spec: ViewSpec) => JSON.stringify({ ...spec, open: 0, closed: 0 });
  if (rest(before.request.spec) !== rest(now)) return false;
  const all = (spec: ViewSpec) => [...(spec.open ?? []), ...(spec.closed ?? [])];
  const were = new Set(all(before.request.spec));
  const changed = all(now).filter((key) => !were.delete(key)).length + were.size;
  return changed === 1;
}

/** The number before of each new key, or -1. */
export function matchKeys(before: readonly string[], now: readonly string[]): Int32Array {
  if (before.length > now.length) return Int32Array.from(findKeys(before, now));
  const numbers = new Map<string, number>();
  for (let i = before.length - 1; i >= 0; i--) numbers.set(before[i], i);
  return Int32Array.from(now, (key) => numbers.get(key) ?? -1);
}

/** The first number of each of a few keys among many, or -1. */
export function findKeys(keys: readonly string[], wanted: readonly string[]): number[] {
  const numbers = new Map(wanted.filter((key) => key !== "").map((key) => [key, -1]));
  for (let i = keys.length - 1; i >= 0 && numbers.size > 0; i--) if (numbers.has(keys[i])) numbers.set(keys[i], i);
  return wanted.map((key) => numbers.get(key) ?? -1);
}

/** Which boxes of the previous view stay in a view of another program. `counterparts`: the old node of each new one. */
export function stayedBoxes(was: Visible, now: Visible, counterparts: Int32Array): Stayed {
  const byKey = new Map(was.key.map((key, box) => [key, box]));
  const box = Int32Array.from(now.key, (key, b) => {
    const node = now.node[b];
    const counterpart = node >= 0 && now.boxOfNode[node] === b ? counterparts[node] : -1;
    const old = counterpart >= 0 ? was.boxOfNode[counterpart] : -1;
    return old >= 0 && was.node[old] === counterpart ? old : node >= 0 && counterpart < 0 ? -1 : (byKey.get(key) ?? -1);
  });
  return {
    box,
    locate: (key) => {
      const node = was.node[byKey.get(key) ?? -1] ?? -1;
      const next = node < 0 ? -1 : counterparts.indexOf(node);
      return next < 0 || now.boxOfNode[next] < 0 ? undefined : now.boxOfNode[next];
    },
  };
}
