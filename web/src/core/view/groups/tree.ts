/**
 * A grouping ready for drawing: every node has its group, groups that contain everything and are not modules are removed, and what is inside
 * each group is counted. Computed once per program and grouping.
 */

import { memoized } from "../../base/memoized";
import { DIRECTION, groupingNamed, nameAndClass, UPDATE } from "../../program/names";
import { CATEGORIES, type Grouping, type ProgramData } from "../../program/types";
import { assignUngrouped } from "./assignUngrouped";
import { changedInLoops } from "./changedInLoops";
import { laterHalves } from "./laterHalves";
import { Control, Forwards } from "../../program/ops";
import type { Traits } from "../traits";
import { Role } from "../../program/roles";

export interface GroupTree {
  readonly name: string;
  readonly groupCount: number;
  readonly groupName: Int32Array;
  /** Enclosing group, or -1. Parents come before children. */
  readonly parent: Int32Array;
  /** Graph g owns groups firstGroup[g] … firstGroup[g+1]-1. */
  readonly firstGroup: Int32Array;
  /** How many groups are around a group. */
  readonly depth: Int32Array;
  /** Innermost group of each node, or -1 at the top of its graph. */
  readonly nodeGroup: Int32Array;
  /** For each graph, how many of its outermost levels are a single module that contains everything. */
  readonly soleLevels: Int32Array;
  /** 1: a node that is part of the optimizer's state, see `optimizerState`. */
  readonly state: Uint8Array;
  /** For a group and all groups inside it: operations, and elements of its parameters. */
  readonly opCount: Int32Array;
  readonly parameterElements: Float64Array;
  /** The largest loop in it whose number of iterations is known, or -1. */
  readonly loop: Int32Array;
}

const SHAPE = CATEGORIES.indexOf("shape");

const treeIn = memoized((traits: Traits) => memoized((grouping: Grouping) => build(traits, grouping)));

export function groupTree(traits: Traits, grouping: Grouping): GroupTree {
  return treeIn(traits)(grouping);
}

function build(traits: Traits, grouping: Grouping): GroupTree {
  const { program } = traits;
  const { groupCount, groupName } = grouping;
  const firstGroup = groupsByGraph(grouping, program.graphCount);
  const { exact } = grouping;
  const { outer, soleLevels } = exact
    ? { outer: new Uint8Array(groupCount), soleLevels: new Int32Array(program.graphCount) }
    : outerGroups(traits, grouping, firstGroup);
  const parent = new Int32Array(groupCount);
  const depth = new Int32Array(groupCount);
  for (let g = 0; g < groupCount; g++) {
    const above = grouping.groupParent[g];
    parent[g] = above < 0 || outer[above] ? -1 : above;
    depth[g] = parent[g] < 0 ? 0 : depth[parent[g]] + 1;
  }
  const nodeGroup = exact ? grouping.nodeGroup.slice() : declaredGroups(traits, grouping, firstGroup, outer);
  assignUngrouped(traits, { parent, depth, groupName }, nodeGroup);
  const state = grouping.name === DIRECTION ? readByUpdate(traits, { parent, groupName }, nodeGroup) : optimizerState(traits);
  return {
    name: grouping.name,
    groupCount,
    groupName,
    parent,
    firstGroup,
    depth,
    nodeGroup,
    soleLevels,
    state,
    ...count(traits, parent, nodeGroup, state),
  };
}

/**
 * The group that a node declares; -1: it is at the top; -2: it declares nothing. In a graph where every path starts with the same
 * group, a node without a path declares nothing. In others it may well be at the top, unless it only holds or reshapes a value and
 * has no source line either.
 */
function declaredGroups(traits: Traits, grouping: Grouping, firstGroup: Int32Array, outer: Uint8Array): Int32Array {
  const { program } = traits;
  const { graphOf } = traits.index;
  return grouping.nodeGroup.map((group, n) => {
    if (group >= 0) return outer[group] ? -1 : group;
    const first = firstGroup[graphOf[n]];
    if (first < firstGroup[graphOf[n] + 1] && outer[first]) return -2;
    return isWritten(traits, n) || program.nodeRole[n] === Role.Output ? -1 : -2;
  });
}

function groupsByGraph(grouping: Grouping, graphCount: number): Int32Array {
  const first = new Int32Array(graphCount + 1);
  for (let g = 0; g < grouping.groupCount; g++) first[grouping.groupGraph[g] + 1]++;
  for (let graph = 0; graph < graphCount; graph++) first[graph + 1] += first[graph];
  return first;
}

/**
 * Marks the groups that contain all of their graph and so show nothing: a single root, then its only child while nothing is next to
 * it. If some operations have no group, only a root named like the program (jit_step and step) is one of them. A module (its name has a
 * class) is drawn even so, with what is inside it: people look for the modules that they wrote.
 */
function outerGroups(traits: Traits, grouping: Grouping, firstGroup: Int32Array): { outer: Uint8Array; soleLevels: Int32Array } {
  const { groupCount, groupParent, groupName, nodeGroup } = grouping;
  const { graphCount, name: programName, strings } = traits.program;
  const direct = new Int32Array(groupCount);
  const children = new Int32Array(groupCount);
  const onlyChild = new Int32Array(groupCount);
  for (const g of nodeGroup) if (g >= 0) direct[g]++;
  for (let g = 0; g < groupCount; g++) {
    if (groupParent[g] >= 0) {
      children[groupParent[g]]++;
      onlyChild[groupParent[g]] = g;
    }
  }
  const outer = new Uint8Array(groupCount);
  const soleLevels = new Int32Array(graphCount);
  for (let graph = 0; graph < graphCount; graph++) {
    let root = -1;
    let roots = 0;
    for (let g = firstGroup[graph]; g < firstGroup[graph + 1]; g++) {
      if (groupParent[g] < 0) {
        root = g;
        roots++;
      }
    }
    if (roots !== 1) continue;
    const complete = allGrouped(traits, grouping, graph);
    if (!complete && !programName.endsWith(strings.at(groupName[root]))) continue;
    const around = [root];
    while (complete && direct[root] === 0 && children[root] === 1) {
      root = onlyChild[root];
      around.push(root);
    }
    const module = complete ? around.findIndex((g) => nameAndClass(strings.at(groupName[g]))[1] !== "") : -1;
    for (const g of module < 0 ? around : around.slice(0, module)) outer[g] = 1;
    soleLevels[graph] = module < 0 ? 0 : around.length - module;
  }
  return { outer, soleLevels };
}

function allGrouped(traits: Traits, grouping: Grouping, graph: number): boolean {
  const { graphStart } = traits.program;
  for (let n = graphStart[graph]; n < graphStart[graph + 1]; n++) if (grouping.nodeGroup[n] < 0 && isWritten(traits, n)) return false;
  return true;
}

/** An operation that a person wrote, or that does more than hold, forward or reshape a value: compilers add those freely. */
function isWritten(traits: Traits, node: number): boolean {
  const { nodeRole, nodeCategory, nodeOp, ops } = traits.program;
  if (nodeRole[node] !== Role.Op) return false;
  if (traits.sourceLine && traits.sourceLine[node] >= 0) return true;
  if (nodeCategory[node] === SHAPE || traits.plumbing.kind[node] !== Forwards.Nothing) return false;
  return ops.spreads[nodeOp[node]] === 0;
}

/** 1: a parameter that only the update reads: the state of the optimizer, which is not a parameter of the model. */
export function optimizerState(traits: Traits): Uint8Array {
  const halves = groupingNamed(traits.program, DIRECTION);
  return halves ? groupTree(traits, halves).state : new Uint8Array(traits.program.nodeCount);
}

function readByUpdate(
  { program: { nodeRole, strings } }: Traits,
  { parent, groupName }: Pick<GroupTree, "parent" | "groupName">,
  nodeGroup: Int32Array,
): Uint8Array {
  const isUpdate = new Uint8Array(parent.length);
  for (let g = 0; g < parent.length; g++) isUpdate[g] = parent[g] < 0 ? Number(strings.at(groupName[g]) === UPDATE) : isUpdate[parent[g]];
  const read = new Uint8Array(nodeGroup.length);
  for (let n = 0; n < read.length; n++) if (nodeRole[n] === Role.Parameter && nodeGroup[n] >= 0) read[n] = isUpdate[nodeGroup[n]];
  return read;
}

function count(
  traits: Traits,
  parent: Int32Array,
  nodeGroup: Int32Array,
  state: Uint8Array,
): { opCount: Int32Array; parameterElements: Float64Array; loop: Int32Array } {
  const { program, plumbing, small } = traits;
  const loop = new Int32Array(parent.length).fill(-1);
  const opCount = new Int32Array(parent.length);
  const parameterElements = new Float64Array(parent.length);
  const { outputs, nodeRole, types, graphStart, entry } = program;
  const { users } = traits.index;
  const isLater = laterHalves(program);
  const changed = changedInLoops(traits);
  /** What only the backward half of a called graph reads: mostly what was saved for it, and weights that the forward half has. */
  const isReadLater = (node: number) =>
    (node < graphStart[entry] || node >= graphStart[entry + 1]) &&
    users.value.subarray(users.start[node], users.start[node + 1]).every(isLater);
  for (let n = 0; n < nodeGroup.length; n++) {
    const g = nodeGroup[n];
    if (g < 0) continue;
    if (program.ops.control[program.nodeOp[n]] >= Control.While && program.nodeText[n] >= 0) loop[g] = larger(program, loop[g], n);
    if (nodeRole[n] === Role.Op && plumbing.kind[n] === Forwards.Nothing && !small.is[n]) opCount[g]++;
    if (nodeRole[n] === Role.Parameter && !state[n] && !changed[n] && !isReadLater(n)) {
      for (let i = outputs.start[n]; i < outputs.start[n + 1]; i++) parameterElements[g] += Math.max(0, types.elements[outputs.value[i]]);
    }
  }
  for (let g = parent.length - 1; g >= 0; g--) {
    if (parent[g] < 0) continue;
    opCount[parent[g]] += opCount[g];
    parameterElements[parent[g]] += parameterElements[g];
    if (loop[g] >= 0) loop[parent[g]] = larger(program, loop[parent[g]], loop[g]);
  }
  return { opCount, parameterElements, loop };
}

/** The one of two loops, or of none and one, that calls the larger graphs. */
function larger({ calls, graphStart }: ProgramData, one: number, other: number): number {
  const sizeOf = (loop: number): number =>
    calls.value
      .subarray(calls.start[loop], calls.start[loop + 1])
      .reduce((sum, graph) => sum + graphStart[graph + 1] - graphStart[graph], 0);
  return one < 0 || sizeOf(other) > sizeOf(one) ? other : one;
}
