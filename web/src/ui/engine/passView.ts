/** What a pass did, in the picture: colours, a legend that counts, and a mark on every box. */
import { ADDED, CHANGED, countMarks, MARK_NAMES, MERGED, REMOVED, SAME } from "../../core/program/recording/marks";
import { MARK_PAINTS, markPaints } from "../../core/scene/changePaints";
import type { LegendRow } from "../../core/scene/types";
import type { Visible } from "../../core/program/types";
import { countText } from "../../core/text/quantities";
import type { PassShown } from "./passes";

/** What happened to each node; undefined where the pass did nothing. */
export function changeMarks({ marks }: PassShown): Uint8Array | undefined {
  return marks?.some((mark) => mark !== SAME) ? marks : undefined;
}

/** A node may have several changed copies, so before a pass fewer are changed than after it: the legend says what the row of the pass says. */
export function changeLegend(marks: Uint8Array, changed: number): LegendRow[] {
  const counts = countMarks(marks);
  if (counts[CHANGED] > 0) counts[CHANGED] = changed;
  return [ADDED, REMOVED, MERGED, CHANGED, SAME]
    .filter((mark) => counts[mark] > 0)
    .map((mark) => ({ text: `${MARK_NAMES[mark]} (${countText(counts[mark])})`, paint: MARK_PAINTS[mark] }));
}

/** What happened to each box (see marks.ts). */
export function boxMarks(visible: Visible, marks: Uint8Array): Uint8Array {
  return markPaints(visible, marks).map((paint) => Math.max(0, (MARK_PAINTS as readonly number[]).indexOf(paint)));
}
