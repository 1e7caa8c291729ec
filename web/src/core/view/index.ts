/** The view: from a Program and a description of what is to be seen to boxes and edges. */

import type { ProgramData, ViewSpec, Visible } from "../types";
import { Boxes } from "./boxes";
import { connectAll } from "./connect";
import { fittingDepth } from "./depth";
import { Edges } from "./edges";
import { finish } from "./finish";
import type { Folding } from "./fold";
import { readOptions } from "./options";
import { type Placement, placeAll } from "./place";
import { Kind } from "./plumbing";
import { prepare } from "./prepare";
import { Repeats } from "./repeats";
import { groupTree } from "./tree";

export { DEFAULT_RULES } from "./options";

export function buildView(program: ProgramData, spec: ViewSpec): Visible {
  const prepared = prepare(program);
  const options = readOptions(spec);
  const remarks: string[] = [];
  let graph = program.entry;
  if (spec.graph !== undefined) {
    graph = prepared.graphNamed(spec.graph);
    if (graph < 0) throw new Error(`no graph named "${spec.graph}"`);
  }
  const grouping = program.groupings.find((one) => one.name === spec.grouping) ?? program.groupings[0];
  if (spec.grouping !== undefined && grouping.name !== spec.grouping) remarks.push(`There is no grouping "${spec.grouping}"; this is "${grouping.name}".`);
  const tree = groupTree(prepared, grouping);
  const folding: Folding | undefined = undefined;
  const first = program.graphStart[graph];
  const depth =
    spec.depth ??
    (options.flatten
      ? 0
      : fittingDepth(tree, graph, first, program.graphStart[graph + 1] - first, (n) => !prepared.small.is[n] && prepared.plumbing.kind[n] === Kind.None, folding));

  const boxes = new Boxes();
  const placement: Placement = {
    prepared, tree, options, depth, boxes, instances: [], kept: undefined, named: undefined, folding, repeats: new Repeats(), remarks,
  };
  placeAll(placement, graph);
  const edges = new Edges(boxes, 2 * boxes.count);
  connectAll(placement, edges, undefined);
  return finish(placement, edges);
}
