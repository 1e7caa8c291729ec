/** Groupings by name, and how deep a group is in one. */
import { BoxKind, type Grouping, type ProgramData, type Visible } from "../../program/types";

/** The grouping of this name, or the program's first. */
export function groupingOf({ groupings }: ProgramData, name: string | undefined): Grouping {
  return groupings.find((each) => each.name === name) ?? groupings[0];
}

/** How many groups are around a group, itself included. */
export function depthOf(grouping: Grouping, group: number): number {
  let depth = 0;
  for (let g = group; g >= 0; g = grouping.groupParent[g]) depth++;
  return depth;
}

/** How many groups are around a group's box, itself included; 0 for everything that is not a group. */
export function levelOf(visible: Visible, box: number, grouping: Grouping | undefined): number {
  const kind = visible.kind[box];
  return grouping && (kind === BoxKind.Group || kind === BoxKind.Stack) ? depthOf(grouping, visible.group[box]) : 0;
}
