/** The neighbourhood of a node as it can be read: modules beside it are closed where there is too much of them. */

import { BoxKind, type ProgramData, type ViewSpec, type Visible } from "../../program/types";
import { build } from "../build";
import { findNamed } from "../choose/names";
import { groupingOf } from "../groups/grouping";
import { groupTree } from "../groups/tree";
import { traitsOf } from "../traits";
import { PAGE } from "./depth";

/** A module with no more boxes than this stays open: they are what was asked for. */
const FEW_INSIDE = 6;

/**
 * What is near the nodes that were asked for. One that combines the gradients of all weights is near everything: where that is more than a
 * page, the outermost modules that these nodes are not in are closed, and say how many of their operations there are. Opening one shows them.
 */
export function neighbourhood(program: ProgramData, spec: ViewSpec): Visible {
  const view = build(program, spec);
  if (view.boxCount <= PAGE || spec.flatten) return view;
  const far = farGroups(view, holdsAsked(program, spec, view));
  const closed = far.map((box) => view.key[box]).filter((key) => !spec.open?.includes(key));
  return closed.length > 0 ? build(program, { ...spec, closed: [...(spec.closed ?? []), ...closed] }) : view;
}

/** 1: the box shows or contains a node that was asked for. */
function holdsAsked(program: ProgramData, spec: ViewSpec, { boxCount, graph, kind, node, parent }: Visible): Uint8Array {
  const traits = traitsOf(program);
  const tree = groupTree(traits, groupingOf(program, spec.groupBy));
  const asked = new Set((spec.around ?? []).flatMap((name) => findNamed(traits, tree, graph, name)?.nodes ?? []));
  const holds = new Uint8Array(boxCount);
  for (let box = 0; box < boxCount; box++) {
    if (!asked.has(node[box]) || kind[box] === BoxKind.Stub) continue;
    for (let at = box; at >= 0 && !holds[at]; at = parent[at]) holds[at] = 1;
  }
  return holds;
}

/** The outermost groups with more than a few boxes and nothing of what was asked for. */
function farGroups({ boxCount, kind, parent }: Visible, holds: Uint8Array): number[] {
  /** The outermost group around each box that holds nothing asked for, or -1. Containers come before what is in them. */
  const far = new Int32Array(boxCount).fill(-1);
  const inside = new Int32Array(boxCount);
  for (let box = 0; box < boxCount; box++) {
    const outer = parent[box] < 0 ? -1 : far[parent[box]];
    far[box] = outer >= 0 || holds[box] || kind[box] !== BoxKind.Group ? outer : box;
    if (far[box] >= 0 && far[box] !== box) inside[far[box]]++;
  }
  return [...new Set(far)].filter((box) => box >= 0 && inside[box] > FEW_INSIDE);
}
