/** How boxes show what a pass did: colours, and counts on collapsed groups. */
import { ADDED, CHANGED, MARK_NAMES, MERGED, REMOVED, SAME } from "../program/recording/marks";
import type { Marked } from "../program/recording/moment";
import { BoxKind, type ProgramData, type Visible } from "../program/types";
import { countText } from "../text/quantities";
import type { Colours } from "./types";
import { PAINT_ADDED, PAINT_CHANGED, PAINT_GROUP, PAINT_REMOVED, PAINT_SAME } from "./types";

/** Rows of the theme's paints by mark. What was merged into another node is gone, too. */
export const MARK_PAINTS = [PAINT_SAME, PAINT_ADDED, PAINT_REMOVED, PAINT_CHANGED, PAINT_REMOVED] as const;

type Changes = Pick<Marked, "marks" | "counted">;

const GONE = (1 << REMOVED) | (1 << MERGED);

/** What a picture shows of what a pass did to each node. */
export function changeColours(program: ProgramData, visible: Visible, { marks, counted }: Changes): Pick<Colours, "paints" | "corners"> {
  const paints = markPaints(visible, marks);
  return { paints, corners: counted && changeCounts(program, visible, counted, paints) };
}

/**
 * "+1 −8 ~4" for each collapsed group in which something changed; one that is new or gone says so by its colour. Like the operations in its
 * title, these are without what it calls: the bodies of fusions.
 */
function changeCounts(program: ProgramData, visible: Visible, marks: Uint8Array, paints: Uint8Array): string[] {
  const { graphStart, graphCount, groupings } = program;
  const { groupGraph } = groupings[visible.grouping] ?? { groupGraph: [] };
  const graphOf = visible.group.map((group) => (group < 0 ? visible.graph : groupGraph[group]));
  const counts = new Int32Array(visible.boxCount * MARK_NAMES.length);
  for (let graph = 0; graph < graphCount; graph++) {
    for (let node = graphStart[graph]; node < graphStart[graph + 1]; node++) {
      const box = visible.boxOfNode[node];
      if (box >= 0 && graphOf[box] === graph) counts[box * MARK_NAMES.length + marks[node]]++;
    }
  }
  return Array.from(visible.kind, (kind, box) => {
    if (visible.open[box] || paints[box] !== PAINT_CHANGED || (kind !== BoxKind.Group && kind !== BoxKind.Stack)) return "";
    const count = (mark: number) => counts[box * MARK_NAMES.length + mark];
    const texts = COUNTED.filter(([mark]) => count(mark) > 0).map(([mark, write]) => write(countText(count(mark))));
    return texts.length && isRepeated(visible, box) ? `${texts.join(" ")} in all` : texts.join(" ");
  });
}

/** Does a box stand for those of several repeats? Its title tells the operations of one of them. */
function isRepeated({ repeat, parent }: Visible, box: number): boolean {
  let at = box;
  while (at >= 0 && repeat[at] < 2) at = parent[at];
  return at >= 0;
}

const COUNTED: readonly (readonly [mark: number, write: (count: string) => string])[] = [
  [ADDED, (count) => `+${count}`],
  [REMOVED, (count) => `−${count}`],
  [CHANGED, (count) => `~${count}`],
  [MERGED, (count) => `${count} merged`],
];

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
