/**
 * Repeats: sibling groups with the same content whose names differ only in their numbers (layer_0 … layer_23), sibling nodes
 * that call graphs with the same content, and nodes at the same place of many parallel copies.
 *
 * Groups and nodes are both items here: group g is item g, node n is item groupCount + n.
 *
 * Folding must not create cycles: if something outside the repeats takes from one and feeds another, drawing them as one would be a
 * cycle. Such a set is split into the runs that feed each other directly, and what is still cyclic is not folded.
 */

import type { Csr } from "../../program/types";
import { bucketBy, TripleMap } from "../../base/csr";
import { memoized } from "../../base/memoized";
import { components } from "./scc";
import { Contents } from "./groupHash";
import { stackedParameters } from "./stackParameters";
import { nodeLabels } from "./nodeHash";
import { Forwards } from "../../program/ops";
import { parallelPlaces } from "./parallel";
import type { Traits } from "../traits";
import { Role } from "../../program/roles";
import type { GroupTree } from "./tree";

export interface Folding {
  /** Stack that an item belongs to, or -1. */
  readonly stackOf: Int32Array;
  /** The first and the last item of a stack, as the source lists them. */
  first(stack: number): number;
  last(stack: number): number;
  size(stack: number): number;
  members(stack: number): Int32Array;
  /** Nodes of a group in an order that is the same for all repeats of its stack. */
  nodes(group: number): Int32Array;
}

/** Smaller called graphs are not worth a stack. */
const LEAST_CALLED = 5;

const foldingIn = memoized((traits: Traits) => memoized((tree: GroupTree) => find(traits, tree)));

export function findRepeats(traits: Traits, tree: GroupTree): Folding {
  return foldingIn(traits)(tree);
}

function find(traits: Traits, tree: GroupTree): Folding {
  const contents = new Contents(traits, tree);
  const classOf = sameContent(traits, tree, contents);
  splitCyclic(traits, tree, classOf);
  const stackOf = renumber(classOf);
  const members = inSourceOrder(traits, tree, stackOf);
  const aligned = new Map<number, Int32Array>();
  return {
    stackOf,
    first: (stack) => members.value[members.start[stack]],
    last: (stack) => members.value[members.start[stack + 1] - 1],
    members: (stack) => members.value.subarray(members.start[stack], members.start[stack + 1]),
    size: (stack) => members.start[stack + 1] - members.start[stack],
    nodes: (group) => {
      let nodes = aligned.get(group);
      if (!nodes) {
        nodes = contents.aligned(group);
        aligned.set(group, nodes);
      }
      return nodes;
    },
  };
}

/** The members of each stack, by where their first operation is (a weight may be listed anywhere). */
function inSourceOrder(traits: Traits, tree: GroupTree, stackOf: Int32Array): Csr {
  const { nodeRole, nodeCount } = traits.program;
  const { groupCount, parent, nodeGroup } = tree;
  const position = new Int32Array(groupCount + nodeCount).fill(nodeCount);
  for (let n = nodeCount - 1; n >= 0; n--) {
    position[groupCount + n] = n;
    if (nodeGroup[n] >= 0 && nodeRole[n] === Role.Op) position[nodeGroup[n]] = n;
  }
  for (let g = groupCount - 1; g >= 0; g--) if (parent[g] >= 0) position[parent[g]] = Math.min(position[parent[g]], position[g]);
  const members = bucketBy(stackOf, classCount(stackOf));
  for (let c = 0; c + 1 < members.start.length; c++)
    members.value.subarray(members.start[c], members.start[c + 1]).sort((a, b) => position[a] - position[b]);
  return members;
}

/** Items of the same container, name pattern and content share a number; others have -1. */
function sameContent(traits: Traits, tree: GroupTree, contents: Contents): Int32Array {
  const { groupCount } = tree;
  const { nodeCount } = traits.program;
  const sums = contents.labelSums();
  const guesses = new TripleMap(groupCount);
  const guess = new Int32Array(groupCount).fill(-1);
  for (let graph = 0; graph + 1 < tree.firstGroup.length; graph++) {
    if (traits.isFusionBody[graph]) continue;
    for (let g = tree.firstGroup[graph]; g < tree.firstGroup[graph + 1]; g++) {
      if (contents.size(g) > 0) guess[g] = guesses.number(containerOf(tree.parent[g], graph), contents.pattern(g), sums[g]);
    }
  }
  const candidates = bucketBy(guess, guesses.size);
  const exact = new TripleMap();
  const classOf = new Int32Array(groupCount + nodeCount).fill(-1);
  for (let c = 0; c < guesses.size; c++) {
    if (candidates.start[c + 1] - candidates.start[c] < 2) continue;
    for (let i = candidates.start[c]; i < candidates.start[c + 1]; i++) {
      const content = contents.of(candidates.value[i]);
      classOf[candidates.value[i]] = exact.number(c, content.a, content.b);
    }
  }
  const labels = nodeLabels(traits.program);
  for (let n = 0; n < nodeCount; n++) {
    if (callsMuch(traits, n))
      classOf[groupCount + n] = exact.number(-1, containerOf(tree.nodeGroup[n], traits.index.graphOf[n]), labels[n]);
  }
  const containers = new Int32Array(nodeCount);
  for (let n = 0; n < nodeCount; n++) containers[n] = containerOf(tree.nodeGroup[n], traits.index.graphOf[n]);
  const rows = stackedParameters(traits, containers);
  const places = parallelPlaces(traits, containers);
  for (let n = 0; n < nodeCount; n++) {
    if (rows[n] >= 0) classOf[groupCount + n] = exact.number(-3, rows[n], 0);
    else if (places[n] >= 0 && classOf[groupCount + n] < 0) classOf[groupCount + n] = exact.number(-2, places[n], 0);
  }
  dropSingles(classOf);
  return classOf;
}

function containerOf(group: number, graph: number): number {
  return group < 0 ? -1 - graph : group;
}

/** Does a node call something worth a stack? Fusions are single steps whatever is inside. */
function callsMuch(traits: Traits, node: number): boolean {
  const { calls, graphStart } = traits.program;
  if (calls.start[node + 1] === calls.start[node] || traits.isFusionBody[calls.value[calls.start[node]]]) return false;
  let most = 0;
  for (let i = calls.start[node]; i < calls.start[node + 1]; i++)
    most = Math.max(most, graphStart[calls.value[i] + 1] - graphStart[calls.value[i]]);
  return most >= LEAST_CALLED;
}

function dropSingles(classOf: Int32Array): void {
  const size = new Int32Array(classCount(classOf));
  for (let i = 0; i < classOf.length; i++) if (classOf[i] >= 0) size[classOf[i]]++;
  for (let i = 0; i < classOf.length; i++) if (classOf[i] >= 0 && size[classOf[i]] < 2) classOf[i] = -1;
}

function classCount(classOf: Int32Array): number {
  let most = -1;
  for (let i = 0; i < classOf.length; i++) if (classOf[i] > most) most = classOf[i];
  return most + 1;
}

function renumber(classOf: Int32Array): Int32Array {
  const numbers = new Int32Array(classCount(classOf)).fill(-1);
  let next = 0;
  return classOf.map((c) => {
    if (c < 0) return -1;
    if (numbers[c] < 0) numbers[c] = next++;
    return numbers[c];
  });
}

/** The flow between the things directly inside one group (or at the top of one graph). */
interface Level {
  readonly items: number[];
  /** Edges, by the places of their ends in `items`. */
  readonly source: number[];
  readonly target: number[];
}

/** Splits the classes that would create cycles. */
function splitCyclic(traits: Traits, tree: GroupTree, classOf: Int32Array): void {
  const levels = flowAround(traits, tree, classOf);
  let next = classCount(classOf);
  for (const level of levels.values()) {
    const { items } = level;
    const before = components(bucketBy(Int32Array.from(level.source), items.length, Int32Array.from(level.target)));
    for (let round = 0; round < 2; round++) {
      const cyclic = cyclicClasses(level, classOf, before);
      if (cyclic.size === 0) break;
      if (round === 0) next = splitIntoRuns(level, classOf, cyclic, next);
      else for (const item of items) if (cyclic.has(classOf[item])) classOf[item] = -1;
    }
  }
  dropSingles(classOf);
}

/** For each container of repeats, the edges between its items: child groups by number, nodes as groupCount + number. */
function flowAround(traits: Traits, tree: GroupTree, classOf: Int32Array): Map<number, Level> {
  const { inputs, nodeCount } = traits.program;
  const { plumbing } = traits;
  const { graphOf } = traits.index;
  const { parent, depth, nodeGroup, groupCount } = tree;
  const levels = new Map<number, Level>();
  const addLevel = (item: number, container: number): void => {
    if (classOf[item] >= 0 && !levels.has(container)) levels.set(container, { items: [], source: [], target: [] });
  };
  for (let graph = 0; graph + 1 < tree.firstGroup.length; graph++) {
    for (let g = tree.firstGroup[graph]; g < tree.firstGroup[graph + 1]; g++) addLevel(g, containerOf(parent[g], graph));
  }
  for (let n = 0; n < nodeCount; n++) addLevel(groupCount + n, containerOf(nodeGroup[n], graphOf[n]));
  if (levels.size === 0) return levels;
  // Each item is in one container, so its place there is one number.
  const placeOf = new Int32Array(groupCount + nodeCount).fill(-1);
  for (let n = 0; n < nodeCount; n++) {
    if (plumbing.kind[n] === Forwards.Value) continue;
    for (let i = inputs.start[n]; i < inputs.start[n + 1]; i++) {
      let s = inputs.value[i];
      if (plumbing.kind[s] === Forwards.Value) s = plumbing.node[s];
      let a = nodeGroup[s];
      let b = nodeGroup[n];
      let below = groupCount + s;
      let above = groupCount + n;
      while (a !== b) {
        if (b < 0 || (a >= 0 && depth[a] >= depth[b])) {
          below = a;
          a = parent[a];
        } else {
          above = b;
          b = parent[b];
        }
      }
      const level = levels.get(containerOf(a, graphOf[n]));
      if (!level || below === above) continue;
      if (placeOf[below] < 0) placeOf[below] = level.items.push(below) - 1;
      if (placeOf[above] < 0) placeOf[above] = level.items.push(above) - 1;
      level.source.push(placeOf[below]);
      level.target.push(placeOf[above]);
    }
  }
  return levels;
}

/** Classes that, drawn as one, would put items into a cycle that were in none before. */
function cyclicClasses(level: Level, classOf: Int32Array, before: Int32Array): Set<number> {
  const { items } = level;
  const representative = new Int32Array(items.length);
  const ofClass = new Map<number, number>();
  for (let i = 0; i < items.length; i++) {
    const c = classOf[items[i]];
    if (c >= 0 && !ofClass.has(c)) ofClass.set(c, i);
    representative[i] = c < 0 ? i : (ofClass.get(c) as number);
  }
  const after = components(
    bucketBy(
      Int32Array.from(level.source, (i) => representative[i]),
      items.length,
      Int32Array.from(level.target, (i) => representative[i]),
    ),
  );
  const firstIn = new Map<number, number>();
  const cycles = new Set<number>();
  for (let i = 0; i < items.length; i++) {
    const cycle = after[representative[i]];
    if (!firstIn.has(cycle)) firstIn.set(cycle, representative[i]);
    else if (firstIn.get(cycle) !== representative[i]) cycles.add(cycle);
  }
  const was = new Map<number, number>();
  const newCycles = new Set<number>();
  for (let i = 0; i < items.length; i++) {
    const cycle = after[representative[i]];
    if (!cycles.has(cycle)) continue;
    if (!was.has(cycle)) was.set(cycle, before[i]);
    else if (was.get(cycle) !== before[i]) newCycles.add(cycle);
  }
  const cyclic = new Set<number>();
  for (let i = 0; i < items.length; i++)
    if (classOf[items[i]] >= 0 && newCycles.has(after[representative[i]])) cyclic.add(classOf[items[i]]);
  return cyclic;
}

/** Splits classes into the runs whose members feed each other directly. Returns the next free class number. */
function splitIntoRuns(level: Level, classOf: Int32Array, cyclic: Set<number>, next: number): number {
  const { items } = level;
  const leader = Int32Array.from(items, (_, i) => i);
  const find = (i: number): number => {
    while (leader[i] !== i) {
      leader[i] = leader[leader[i]];
      i = leader[i];
    }
    return i;
  };
  for (let e = 0; e < level.source.length; e++) {
    const c = classOf[items[level.source[e]]];
    if (c >= 0 && c === classOf[items[level.target[e]]] && cyclic.has(c)) leader[find(level.source[e])] = find(level.target[e]);
  }
  const runs = new Map<number, number>();
  for (let i = 0; i < items.length; i++) {
    if (!cyclic.has(classOf[items[i]])) continue;
    const run = find(i);
    if (!runs.has(run)) runs.set(run, next++);
    classOf[items[i]] = runs.get(run) as number;
  }
  return next;
}
