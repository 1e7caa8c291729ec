/** Names for a map of a picture without frames (Flatten): which group the boxes around a place belong to. */
import { sortByKey, upTo } from "../base/arrays";
import { nameAndClass } from "../program/names";
import type { ProgramData, Visible } from "../program/types";
import { packDistinct, type PackedTexts } from "../text/packedTexts";
import type { Placed } from "./placed";

/** A smaller picture is never so far away that boxes have no names. */
const LEAST_BOXES = 400;
/** Groups with fewer boxes than this are never large enough for a name. */
const LEAST_IN_GROUP = 8;
/** A group with more than this share of all boxes says nothing about a place. */
const MOST_SHARE = 0.9;

/** Groups by size, the largest first. */
export interface Regions {
  /** The middle of the box that is half way through each group. */
  readonly x: Float64Array;
  readonly y: Float64Array;
  /** How many boxes it has. */
  readonly count: Int32Array;
  readonly names: PackedTexts;
}

export function regionsOf(program: ProgramData, visible: Visible, { x, y, w, h }: Placed): Regions | undefined {
  const { boxCount, node, open } = visible;
  const grouping = program.groupings[visible.grouping];
  if (boxCount < LEAST_BOXES || !grouping || open.includes(1)) return undefined;
  const { groupCount, groupParent, groupName, nodeGroup } = grouping;
  const count = new Int32Array(groupCount);
  for (let box = 0; box < boxCount; box++) if (node[box] >= 0 && nodeGroup[node[box]] >= 0) count[nodeGroup[node[box]]]++;
  for (let g = groupCount - 1; g >= 0; g--) if (groupParent[g] >= 0) count[groupParent[g]] += count[g];
  const seen = new Int32Array(groupCount);
  const middle = new Int32Array(groupCount);
  for (let box = 0; box < boxCount; box++)
    for (let g = node[box] < 0 ? -1 : nodeGroup[node[box]]; g >= 0; g = groupParent[g]) if (seen[g]++ === count[g] >> 1) middle[g] = box;
  const groups = upTo(groupCount).filter((g) => count[g] >= LEAST_IN_GROUP && count[g] <= MOST_SHARE * boxCount);
  sortByKey(
    groups,
    0,
    groups.length,
    count.map((boxes) => -boxes),
    new Int32Array(groups.length),
  );
  const places = (from: Float64Array, size: Float64Array): Float64Array => {
    const centres = new Float64Array(groups.length);
    for (let i = 0; i < groups.length; i++) centres[i] = from[middle[groups[i]]] + size[middle[groups[i]]] / 2;
    return centres;
  };
  return {
    x: places(x, w),
    y: places(y, h),
    count: groups.map((g) => count[g]),
    names: packDistinct(groups.length, (i) => nameAndClass(program.strings.at(groupName[groups[i]]))[0]),
  };
}
