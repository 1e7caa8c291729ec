/** Colours of what a pass did. */
import { ADDED, MERGED, REMOVED, SAME } from "../program/recording/marks";
import type { Visible } from "../program/types";
import { PAINT_ADDED, PAINT_CHANGED, PAINT_GROUP, PAINT_REMOVED, PAINT_SAME } from "./types";

/** Rows of the theme's paints by mark. What was merged into another node is gone, too. */
export const MARK_PAINTS = [PAINT_SAME, PAINT_ADDED, PAINT_REMOVED, PAINT_CHANGED, PAINT_REMOVED] as const;

const GONE = (1 << REMOVED) | (1 << MERGED);

/** Row of the theme's paints for every box: its mark, or what happened to everything inside a collapsed box. */
export function markPaints(visible: Visible, marks: Uint8Array): Uint8Array {
  const marksInside = new Uint8Array(visible.boxCount);
  for (let node = 0; node < marks.length; node++) {
    const box = visible.boxOfNode[node];
    if (box >= 0) marksInside[box] |= 1 << marks[node];
  }
  return Uint8Array.from(marksInside, (bits, box) => {
    const node = visible.node[box];
    const mark = node >= 0 ? marks[node] : SAME;
    if (visible.open[box]) return mark === SAME ? PAINT_GROUP : MARK_PAINTS[mark];
    if (mark !== SAME) return MARK_PAINTS[mark];
    if (bits === 1 << ADDED) return PAINT_ADDED;
    if (bits !== 0 && (bits & ~GONE) === 0) return PAINT_REMOVED;
    return bits & ~(1 << SAME) ? PAINT_CHANGED : PAINT_SAME;
  });
}
