/** From names that people write (ids, keys, group paths) to nodes. */

import { unescapeName } from "./keys";
import type { Traits } from "../traits";
import type { GroupTree } from "../groups/tree";

export interface NamedNodes {
  readonly graph: number;
  readonly nodes: readonly number[];
}

/**
 * Nodes that a name refers to: a key ("n:dot.3", "g:layer_0", "n:fusion.2>n:add.1"), an id, or a group's path. Looked up in
 * `graph` first, then, for ids, in the others.
 */
export function findNamed(traits: Traits, tree: GroupTree, graph: number, name: string): NamedNodes | undefined {
  const steps = name.split(">");
  if (steps.length > 1 && steps.every((step) => /^[ngxc]:/.test(step))) {
    let at = graph;
    for (let i = 0; i + 1 < steps.length; i++) {
      if (steps[i].startsWith("c:")) continue;
      const node = steps[i].startsWith("n:") ? traits.index.find(at, unescapeName(steps[i].slice(2))) : -1;
      const { start, value } = traits.program.calls;
      const which = steps[i + 1].startsWith("c:") ? Number(steps[i + 1].slice(2)) : 0;
      if (node < 0 || start[node] + which >= start[node + 1]) return undefined;
      at = value[start[node] + which];
    }
    return findNamed(traits, tree, at, steps[steps.length - 1]);
  }
  if (/^[gx]:/.test(name)) return groupNodes(traits, tree, graph, name.slice(2).split("/").map(unescapeName));
  const id = name.startsWith("n:") ? unescapeName(name.slice(2)) : name;
  const here = traits.index.find(graph, id);
  if (here >= 0) return { graph, nodes: [here] };
  const group = groupNodes(traits, tree, graph, name.split("/"));
  if (group) return group;
  for (let g = 0; g < traits.program.graphCount; g++) {
    const node = traits.index.find(g, id);
    if (node >= 0) return { graph: g, nodes: [node] };
  }
  return undefined;
}

function groupNodes(traits: Traits, tree: GroupTree, graph: number, path: readonly string[]): NamedNodes | undefined {
  const { strings, graphStart } = traits.program;
  const from = tree.firstGroup[graph];
  const to = tree.firstGroup[graph + 1];
  const inside = new Uint8Array(to - from);
  let exists = false;
  for (let g = from; g < to; g++) {
    const above = tree.parent[g];
    if (above >= 0 && inside[above - from]) inside[g - from] = 1;
    else if (tree.depth[g] === path.length - 1) {
      let at = g;
      let i = path.length - 1;
      while (at >= 0 && strings.at(tree.groupName[at]) === path[i]) {
        at = tree.parent[at];
        i--;
      }
      if (i < 0) {
        inside[g - from] = 1;
        exists = true;
      }
    }
  }
  if (!exists) return undefined;
  const nodes: number[] = [];
  for (let n = graphStart[graph]; n < graphStart[graph + 1]; n++) {
    const g = tree.nodeGroup[n];
    if (g >= 0 && inside[g - from]) nodes.push(n);
  }
  return { graph, nodes };
}
