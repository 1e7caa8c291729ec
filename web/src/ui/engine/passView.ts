/** What a pass did, in the picture: colours, a legend that counts, and a mark on every box. */
import { countMarks, MARK_NAMES, markPaints, SAME } from "../../core/program/recording/marks";
import { type LegendRow, PAINT_ADDED, PAINT_CHANGED, PAINT_REMOVED, PAINT_SAME } from "../../core/scene/types";
import type { Visible } from "../../core/program/types";
import type { PassShown } from "./passes";

const ROWS = [PAINT_SAME, PAINT_ADDED, PAINT_REMOVED, PAINT_CHANGED];

/** What happened to each node; undefined where the pass did nothing. */
export function changeMarks({ marks }: PassShown): Uint8Array | undefined {
  return marks?.some((mark) => mark !== SAME) ? marks : undefined;
}

export function changeLegend(marks: Uint8Array): LegendRow[] {
  const counts = countMarks(marks);
  return [1, 2, 3, 0]
    .filter((mark) => counts[mark] > 0)
    .map((mark) => ({ text: `${MARK_NAMES[mark]} (${counts[mark].toLocaleString("en-US")})`, paint: ROWS[mark] }));
}

/** What happened to each box (see marks.ts). */
export function boxMarks(visible: Visible, marks: Uint8Array): Uint8Array {
  return markPaints(visible, marks).map((paint) => Math.max(0, ROWS.indexOf(paint)));
}
