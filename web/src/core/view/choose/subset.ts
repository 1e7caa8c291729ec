/** Parts of a graph: the neighbourhood of nodes, all paths between two, or a set of nodes. */

import { withDefaults } from "../../program/options";
import type { ViewSpec } from "../../program/types";
import { findNamed } from "./names";
import { Forwards } from "../../program/ops";
import type { Traits } from "../traits";
import { Role } from "../../program/roles";
import { plural } from "../boxes/texts";
import type { GroupTree } from "../groups/tree";

export interface Subset {
  readonly graph: number;
  /** SHOWN: part of the view (by global node number), and no rule hides such a node. PASSED: part of it, but only as a part of edges. */
  readonly included: Uint8Array;
  /** Should omitted neighbours be counted at their place? */
  readonly showsOmitted: boolean;
}

export const SHOWN = 1;
export const PASSED = 2;

/** The walk does not continue through a source with more users than this: everything is near a mask. */
const MANY_USERS = 16;

/** The part that the specification selects, or undefined for all. */
export function readSubset(traits: Traits, tree: GroupTree, graph: number, spec: ViewSpec, remarks: string[]): Subset | undefined {
  const { around, hops, stopAt, paths, limit } = withDefaults(spec);
  if (around.length === 0 && !paths && !spec.only) return undefined;
  const { nodeCount } = traits.program;
  const included = new Uint8Array(nodeCount);
  let shown = graph;
  let settled = spec.graph !== undefined;
  const nodesOf = (names: readonly string[]): number[] => {
    const nodes: number[] = [];
    for (const name of names) {
      const match = findNamed(traits, tree, shown, name);
      if (!match || (settled && match.graph !== shown)) {
        remarks.push(`"${name}" is not in this graph.`);
        continue;
      }
      shown = match.graph;
      settled = true;
      for (const n of match.nodes) nodes.push(n);
    }
    return nodes;
  };
  if (around.length > 0) {
    const start = nodesOf(around);
    const asked = new Set(start);
    const stops = new Set(nodesOf(stopAt).filter((n) => !asked.has(n)));
    walkAround(traits, start, hops, stops, included);
    walkAlso(traits, nodesOf(spec.also ?? []), included);
    if (!paths && !spec.only) passOn(traits, asked, included);
  }
  if (paths) {
    const from = nodesOf([paths[0]]);
    const to = nodesOf([paths[1]]);
    const missing = from.length === 0 || to.length === 0;
    const nodesOnPaths = missing ? 0 : walkPaths(traits, from, to, limit, included, remarks);
    if (!missing && nodesOnPaths === 0) remarks.push(`No path leads between "${paths[0]}" and "${paths[1]}".`);
    for (const n of [...from, ...to]) included[n] = 1;
  }
  if (spec.only) {
    const only = new Uint8Array(nodeCount);
    for (const n of nodesOf(spec.only)) only[n] = 1;
    const narrows = around.length > 0 || paths !== undefined;
    for (let n = 0; n < nodeCount; n++) included[n] = only[n] & (narrows ? included[n] : 1);
  }
  return { graph: shown, included, showsOmitted: around.length > 0 };
}

/**
 * Marks what is within `hops` hops, up and down. Plumbing does not count as a hop, because it computes nothing. Values that only share a
 * tuple, or are returned together, are not near: a tuple that is reached from above is only left downwards.
 */
function walkAround(traits: Traits, start: readonly number[], hops: number, stops: ReadonlySet<number>, included: Uint8Array): void {
  const { program, plumbing } = traits;
  const { uses } = traits.index;
  const { inputs, nodeRole } = program;
  const asked = new Set(start);
  const returns = (n: number): boolean =>
    !asked.has(n) && (nodeRole[n] === Role.Output || (traits.index.isOutput[n] === 1 && plumbing.kind[n] === Forwards.Tuple));
  const reachedFromAbove = new Set<number>();
  let level = [...start];
  for (const n of start) included[n] = 1;
  for (let hop = 0; hop < hops && level.length > 0; hop++) {
    const next: number[] = [];
    const visit = (n: number, asUser: boolean): void => {
      if (included[n]) return;
      included[n] = 1;
      if (asUser && plumbing.kind[n] === Forwards.Tuple) reachedFromAbove.add(n);
      if (plumbing.kind[n] !== Forwards.Nothing) level.push(n);
      else next.push(n);
    };
    for (let k = 0; k < level.length; k++) {
      const n = level[k];
      if (stops.has(n) || returns(n)) continue;
      for (let i = inputs.start[n]; i < inputs.start[n + 1]; i++) if (!reachedFromAbove.has(n)) visit(inputs.value[i], false);
      const broad = nodeRole[n] === Role.Constant || uses.start[n + 1] - uses.start[n] > MANY_USERS;
      if (broad && !(hop === 0 && k < start.length)) continue;
      for (let i = uses.start[n]; i < uses.start[n + 1]; i++) visit(uses.value[i], true);
    }
    level = next;
  }
}

/** With more nodes than this, what only passes values on has no box, nor have small values. */
const MANY_NODES = 60;

/**
 * A small neighbourhood has a box for every node. In a large one, a loop of HLO would have one for each of its fifty values: what only passes
 * values on is a part of the edges there, and a zero that fills a stack is text in its user, unless it was asked for.
 */
function passOn({ plumbing, program, small }: Traits, asked: ReadonlySet<number>, included: Uint8Array): void {
  if (included.reduce((sum, each) => sum + each, 0) <= MANY_NODES) return;
  for (let n = 0; n < program.nodeCount; n++)
    if (included[n] && (plumbing.kind[n] !== Forwards.Nothing || small.is[n]) && !asked.has(n)) included[n] = PASSED;
}

/** Marks the direct neighbours of nodes; plumbing does not count as a hop. */
function walkAlso(traits: Traits, start: readonly number[], included: Uint8Array): void {
  const { program, plumbing } = traits;
  const { uses } = traits.index;
  const reached = new Set(start);
  for (const n of reached) {
    included[n] = 1;
    for (const { start: from, value } of [program.inputs, uses]) {
      for (let i = from[n]; i < from[n + 1]; i++) {
        included[value[i]] = 1;
        if (plumbing.kind[value[i]] !== Forwards.Nothing) reached.add(value[i]);
      }
    }
  }
}

/** Marks the nodes on paths from one set to the other, in either direction; the shortest, if there are too many. */
function walkPaths(
  traits: Traits,
  from: readonly number[],
  to: readonly number[],
  limit: number,
  included: Uint8Array,
  remarks: string[],
): number {
  for (const [first, last] of [
    [from, to],
    [to, from],
  ] as const) {
    const down = distances(traits, first, false);
    const up = distances(traits, last, true);
    const perLength: number[] = [];
    let total = 0;
    for (let n = 0; n < down.length; n++) {
      if (down[n] < 0 || up[n] < 0) continue;
      perLength[down[n] + up[n]] = (perLength[down[n] + up[n]] ?? 0) + 1;
      total++;
    }
    if (total === 0) continue;
    let longest = perLength.findIndex((count) => count > 0);
    let shown = perLength[longest];
    while (longest + 1 < perLength.length && shown + (perLength[longest + 1] ?? 0) <= limit) shown += perLength[++longest] ?? 0;
    if (shown < total) remarks.push(`The shortest paths are shown: ${plural(total - shown, "node")} on longer paths are omitted.`);
    for (let n = 0; n < down.length; n++) if (down[n] >= 0 && up[n] >= 0 && down[n] + up[n] <= longest) included[n] = 1;
    return shown;
  }
  return 0;
}

function distances(traits: Traits, from: readonly number[], upwards: boolean): Int32Array {
  const next = upwards ? traits.program.inputs : traits.index.uses;
  const distance = new Int32Array(traits.program.nodeCount).fill(-1);
  const queue = [...from];
  for (const n of queue) distance[n] = 0;
  for (let q = 0; q < queue.length; q++) {
    const n = queue[q];
    for (let i = next.start[n]; i < next.start[n + 1]; i++) {
      if (distance[next.value[i]] >= 0) continue;
      distance[next.value[i]] = distance[n] + 1;
      queue.push(next.value[i]);
    }
  }
  return distance;
}
