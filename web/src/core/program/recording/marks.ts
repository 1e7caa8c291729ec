/** What a pass did to each node. */
import type { PassDiff } from "./types";

export const SAME = 0,
  ADDED = 1,
  REMOVED = 2,
  CHANGED = 3,
  /** Gone, but part of a node that is there. */
  MERGED = 4;
export const MARK_NAMES = ["unchanged", "added", "removed", "changed", "merged"] as const;

/** As many nodes have each mark as the row of the pass says. */
export function marksAfter(diff: PassDiff): Uint8Array {
  const marks = new Uint8Array(diff.counterpart.length);
  for (const { added, changed } of diff.byModule) {
    for (const node of changed) marks[node] = CHANGED;
    for (const node of added) marks[node] = ADDED;
  }
  return marks;
}

export function marksBefore(diff: PassDiff): Uint8Array {
  const marks = new Uint8Array(diff.beforeCount);
  for (const node of diff.changed) if (diff.counterpart[node] >= 0) marks[diff.counterpart[node]] = CHANGED;
  const { old, new: results } = diff.groups;
  for (let g = 0; g + 1 < old.start.length; g++) {
    const result = results.value[results.start[g]];
    // A group beside a pair: what became part of the node after. Any other group of one node before: its copies.
    const mark = diff.counterpart[result] >= 0 ? MERGED : diff.changes.has(result) ? CHANGED : SAME;
    for (let i = old.start[g]; i < old.start[g + 1]; i++) if (diff.back[old.value[i]] < 0) marks[old.value[i]] = mark;
  }
  for (const { removed } of diff.byModule) for (const node of removed) marks[node] = REMOVED;
  return marks;
}

/** How many nodes have each mark. */
export function countMarks(marks: Uint8Array): number[] {
  const counts = MARK_NAMES.map(() => 0);
  for (const mark of marks) counts[mark]++;
  return counts;
}
