/** Weights that two modules share: an embedding that is also the last projection. Without a word, its second edge looks like data. */
import { memoized } from "../../base/memoized";
import { groupingNamed, MODULE } from "../../program/names";
import { Role } from "../../program/roles";
import { EdgeKind } from "../../program/types";
import { depthOf } from "./grouping";
import { laterHalves } from "./laterHalves";
import type { Placement } from "../boxes/placement";
import type { Edges } from "../edges/edges";
import type { Traits } from "../traits";

/** 1: a parameter that operations of several modules read in the forward half, none of them inside another. */
export const findTied = memoized(({ program, index }: Traits): Uint8Array => {
  const { nodeCount, nodeRole } = program;
  const tied = new Uint8Array(nodeCount);
  const modules = groupingNamed(program, MODULE);
  // Only where inputs are told apart from parameters: a mask that every layer reads is not a weight.
  if (!modules || !nodeRole.includes(Role.Input)) return tied;
  const isLater = laterHalves(program);
  for (let n = 0; n < nodeCount; n++) {
    if (nodeRole[n] !== Role.Parameter) continue;
    const users = new Set<number>();
    for (let u = index.users.start[n]; u < index.users.start[n + 1]; u++) {
      const user = index.users.value[u];
      if (modules.nodeGroup[user] >= 0 && !isLater(user)) users.add(modules.nodeGroup[user]);
    }
    const innermost = [...users].reduce((a, b) => (depthOf(modules, b) > depthOf(modules, a) ? b : a), -1);
    const around = new Set<number>();
    for (let group = innermost; group >= 0; group = modules.groupParent[group]) around.add(group);
    if ([...users].some((group) => !around.has(group))) tied[n] = 1;
  }
  return tied;
});

/** "tied weight" on edges that bring such a weight out of a group in which it is not seen. */
export function tiedTexts({ traits, boxes, instances }: Placement, edges: Edges): (string | undefined)[] | undefined {
  const tied = findTied(traits);
  const { users } = traits.index;
  const [shown] = instances;
  const carrying = new Set<number>();
  for (let n = tied.indexOf(1); n >= 0; n = tied.indexOf(1, n + 1)) {
    const source = shown.place(n);
    if (source < 0 || boxes.node[source] === n) continue;
    for (let u = users.start[n]; u < users.start[n + 1]; u++) {
      const target = shown.place(users.value[u]);
      if (target >= 0) carrying.add(source * boxes.count + target);
    }
  }
  if (carrying.size === 0) return undefined;
  return Array.from(edges.source.subarray(0, edges.count), (source, e) => {
    if (edges.kind[e] !== EdgeKind.Data || !carrying.has(source * boxes.count + edges.target[e])) return undefined;
    return edges.distinct[e] > 1 ? `×${edges.distinct[e]}, a tied weight` : "tied weight";
  });
}
