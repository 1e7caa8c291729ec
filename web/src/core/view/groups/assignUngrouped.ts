/**
 * Nodes without a group (a third of a compiled module: parameters, constants, copies, wrapped fusions) are assigned to the innermost
 * group that all their users share, otherwise to the one that their operands share. So a weight is next to the op that it feeds,
 * not at the top of the page. (An operation that a person wrote outside every module has a place: the top.)
 *
 * A parameter or its copy is often used again far away (the backward half, the optimizer). It goes where it is used first, unless the
 * places are repeats of each other (layer_0, layer_1): what repeats share belongs to none of them. The model's inputs stay at the
 * top, unless there are many (a cache for each layer).
 */

import { Input } from "../ops/inputs";
import type { Traits } from "../traits";
import { isArgument, Role } from "../../program/roles";

const UNASSIGNED = -2;
const MOST_PLACES = 4;
/** More inputs than this are drawn where they are used: around the model, lines would say less than their number. */
export const MOST_INPUTS = 8;

interface Tree {
  readonly parent: Int32Array;
  readonly depth: Int32Array;
  readonly groupName: Int32Array;
}

/** Fills `nodeGroup`: -2 becomes a group, or -1 if no group is shared. */
export function assignUngrouped(traits: Traits, tree: Tree, nodeGroup: Int32Array): void {
  const { program } = traits;
  const { uses } = traits.index;
  const { nodeRole, inputs } = program;
  const isAtTop = fewInputs(traits);
  const backwards = (last: boolean): void => {
    for (let n = nodeGroup.length - 1; n >= 0; n--) {
      if (nodeGroup[n] !== UNASSIGNED || traits.inputKind[n] === Input.Data || isAtTop(n)) continue;
      const shared = sharedGroup(tree, nodeGroup, uses.value, uses.start[n], uses.start[n + 1]);
      if (shared >= 0) nodeGroup[n] = shared;
      else if (last || isArgument(nodeRole[n])) nodeGroup[n] = firstPlace(traits, tree, nodeGroup, n);
    }
  };
  backwards(false);
  for (let n = 0; n < nodeGroup.length; n++) {
    if (nodeGroup[n] !== UNASSIGNED || nodeRole[n] === Role.Output || traits.index.isOutput[n]) continue;
    const shared = sharedGroup(tree, nodeGroup, inputs.value, inputs.start[n], inputs.start[n + 1]);
    if (shared >= 0) nodeGroup[n] = shared;
  }
  backwards(true);
  for (let n = 0; n < nodeGroup.length; n++) if (nodeGroup[n] === UNASSIGNED) nodeGroup[n] = -1;
}

/** Is a node one of the few inputs of its graph? */
function fewInputs({ program: { graphCount, graphStart, nodeRole }, index }: Traits): (node: number) => boolean {
  const count = new Int32Array(graphCount);
  for (let g = 0; g < graphCount; g++) for (let n = graphStart[g]; n < graphStart[g + 1]; n++) if (nodeRole[n] === Role.Input) count[g]++;
  return (node) => nodeRole[node] === Role.Input && count[index.graphOf[node]] <= MOST_INPUTS;
}

/** The innermost group around all of list[from … to-1] that have a group; -1 if they share none. */
function sharedGroup(tree: Tree, nodeGroup: Int32Array, list: Int32Array, from: number, to: number): number {
  let shared = UNASSIGNED;
  for (let i = from; i < to && shared !== -1; i++) {
    const g = nodeGroup[list[i]];
    if (g === UNASSIGNED || g === shared) continue;
    shared = shared === UNASSIGNED ? g : common(tree, shared, g);
  }
  return shared === UNASSIGNED ? -1 : shared;
}

export function common(tree: Pick<Tree, "parent" | "depth">, a: number, b: number): number {
  while (a !== b) {
    if (a < 0 || b < 0) return -1;
    if (tree.depth[a] >= tree.depth[b]) a = tree.parent[a];
    else b = tree.parent[b];
  }
  return a;
}

/** Where a parameter that several top groups use is used first; UNASSIGNED while no user has a place. */
function firstPlace(traits: Traits, tree: Tree, nodeGroup: Int32Array, node: number): number {
  const { program } = traits;
  const { uses } = traits.index;
  const tops: number[] = [];
  let shared = UNASSIGNED;
  for (let i = uses.start[node]; i < uses.start[node + 1]; i++) {
    const g = nodeGroup[uses.value[i]];
    if (g < 0) continue;
    let top = g;
    while (tree.parent[top] >= 0) top = tree.parent[top];
    if (!tops.includes(top)) tops.push(top);
    if (tops.length > MOST_PLACES) return -1;
    if (tops[0] === top) shared = shared === UNASSIGNED ? g : common(tree, shared, g);
  }
  const patterns = new Set(tops.map((top) => numberless(program.strings.at(tree.groupName[top]))));
  return patterns.size < tops.length ? -1 : shared;
}

/** A name without its numbers: what layer_0 and layer_23 share. */
export function numberless(name: string): string {
  return name.replace(/\d+/g, "#");
}
