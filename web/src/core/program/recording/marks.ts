/** What a pass did to each node. */
import { EVIDENCE, type PassDiff } from "./types";

export const SAME = 0,
  ADDED = 1,
  REMOVED = 2,
  CHANGED = 3;
const REWRITE = EVIDENCE.indexOf("rewrite");
export const MARK_NAMES = ["unchanged", "added", "removed", "changed"] as const;

export function marksAfter(diff: PassDiff): Uint8Array {
  const marks = new Uint8Array(diff.counterpart.length);
  for (const node of diff.changed) marks[node] = CHANGED;
  for (const node of diff.added) marks[node] = ADDED;
  const { old, new: results, evidence } = diff.groups;
  for (let g = 0; g + 1 < results.start.length; g++) {
    // Something new that replaces others is a change; another copy of the same node (for a fusion) is not.
    for (let i = results.start[g]; i < results.start[g + 1]; i++) {
      const node = results.value[i];
      if (marks[node] !== SAME) continue;
      if (evidence[g] === REWRITE && diff.counterpart[node] < 0) marks[node] = ADDED;
      else if (diff.counterpart[node] >= 0 || old.start[g + 1] - old.start[g] > 1) marks[node] = CHANGED;
    }
  }
  return marks;
}

export function marksBefore(diff: PassDiff): Uint8Array {
  const marks = new Uint8Array(diff.beforeCount);
  for (const node of diff.changed) if (diff.counterpart[node] >= 0) marks[diff.counterpart[node]] = CHANGED;
  const { old, evidence } = diff.groups;
  for (let g = 0; g + 1 < old.start.length; g++) {
    for (let i = old.start[g]; i < old.start[g + 1]; i++)
      if (diff.back[old.value[i]] < 0) marks[old.value[i]] = evidence[g] === REWRITE ? REMOVED : CHANGED;
  }
  for (const node of diff.removed) marks[node] = REMOVED;
  return marks;
}

/** How many nodes have each mark. */
export function countMarks(marks: Uint8Array): number[] {
  const counts = [0, 0, 0, 0];
  for (const mark of marks) counts[mark]++;
  return counts;
}
