/** Names of the groups and nodes that panels list. */
import type { ProgramIndex } from "../program/programIndex";
import type { Grouping } from "../program/types";

/** A group, or a node; neither is the whole graph. */
export interface Cell {
  /** -1 for a node. */
  readonly group: number;
  /** -1 for a group. */
  readonly node: number;
}

/** An id that says nothing: a few letters and a number, such as the buffers that Inductor numbers. */
const NUMBERED = /^\W?([a-z]{0,4})[._]?\d+$/i;

export function cellName(index: ProgramIndex, grouping: Grouping, { group, node }: Cell): string {
  if (node >= 0) return nodeName(index, node);
  return group < 0 ? index.program.name : index.text(grouping.groupName[group]);
}

/** The id of a node, after its operation if the id says nothing about it: "addmm buf24", but "dot.3". */
function nodeName(index: ProgramIndex, node: number): string {
  const id = index.id(node);
  const letters = NUMBERED.exec(id)?.[1];
  const { nodeOp, ops } = index.program;
  const title = letters === undefined ? "" : index.text(ops.title[nodeOp[node]]);
  return letters === undefined || (letters && title.startsWith(letters)) ? id : `${title} ${id}`;
}

/** The groups around a cell, from the outside in. */
export function cellPath(index: ProgramIndex, grouping: Grouping, { group, node }: Cell): string {
  const names: string[] = [];
  const inside = node >= 0 ? grouping.nodeGroup[node] : group < 0 ? -1 : grouping.groupParent[group];
  for (let g = inside; g >= 0; g = grouping.groupParent[g]) names.unshift(index.text(grouping.groupName[g]));
  return names.join("/");
}

/** What the names of repeated layers have in common. */
export function patternOf(name: string): string {
  return name.replace(/\d+/g, "#");
}
