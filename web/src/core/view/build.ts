/** One view: places boxes, connects them and puts the result into columns. */

import { EdgeKind, type ProgramData, type ViewSpec, type Visible } from "../program/types";
import { Boxes } from "./boxes/boxes";
import { bundleEdges } from "./edges/bundle";
import { connectAll } from "./edges/connect";
import { describeFlow } from "./boxes/flow";
import { fittingDepth } from "./initial/depth";
import { Edges } from "./edges/edges";
import { finish } from "./toVisible";
import { ROOT_KEY } from "./choose/keys";
import { groupingOf } from "./groups/grouping";
import { findRepeats } from "./groups/fold";
import { showOmitted } from "./boxes/omitted";
import { readOptions } from "./choose/options";
import { showOrigins } from "./boxes/parameterOrigins";
import { placeAll } from "./boxes/placeBoxes";
import type { Placement } from "./boxes/placement";
import { traitsOf } from "./traits";
import { Repeats } from "./groups/repeats";
import { showResult } from "./boxes/result";
import { addStubs } from "./boxes/stubs";
import { readSubset } from "./choose/subset";
import { tiedTexts } from "./groups/tiedWeights";
import { groupTree } from "./groups/tree";
import { withoutUnused } from "./boxes/unconnected";
import { addValues } from "./boxes/values";

/** Builds the view that a specification describes; without a depth, as deep as fits on a page. */
export function build(program: ProgramData, spec: ViewSpec): Visible {
  const traits = traitsOf(program);
  const options = readOptions(spec);
  const remarks: string[] = [...program.notes];
  const entry = spec.graph === undefined ? program.entry : traits.index.graphNamed(spec.graph);
  if (entry < 0) throw new Error(`no graph named "${spec.graph}"`);
  const grouping = groupingOf(program, spec.groupBy);
  if (spec.groupBy !== undefined && grouping.name !== spec.groupBy)
    remarks.push(`There is no grouping "${spec.groupBy}"; this is "${grouping.name}".`);
  const tree = groupTree(traits, grouping);
  const subset = readSubset(traits, tree, entry, spec, remarks);
  const graph = subset?.graph ?? entry;
  const folding = options.fold && !options.flatten && !subset ? findRepeats(traits, tree) : undefined;

  const boxes = new Boxes();
  const placement: Placement = {
    traits,
    tree,
    options,
    // What a part of a graph shows was asked for, so no closed group hides it. Opening the whole graph shows more than the one module in it.
    groupDepth: subset
      ? Number.POSITIVE_INFINITY
      : Math.max(options.open.has(ROOT_KEY) ? tree.soleLevels[graph] : 0, spec.depth ?? fittingDepth(traits, tree, graph, folding)),
    callDepth: options.calls ? (spec.depth ?? 0) : 0,
    boxes,
    instances: [],
    promised: 0,
    included: subset?.included,
    folding,
    repeats: new Repeats(),
    remarks,
  };
  placeAll(placement, graph);
  showOrigins(placement);
  describeFlow(placement);
  const edges = new Edges(boxes, program, 2 * boxes.count, spec.forwardBackward ?? false);
  const omitted = subset?.showsOmitted
    ? { before: new Int32Array(program.nodeCount), after: new Int32Array(program.nodeCount) }
    : undefined;
  connectAll(placement, edges, omitted);
  withoutUnused(placement, edges);
  if (edges.kind.includes(EdgeKind.Carried)) remarks.push("Dashed arrows lead to the next iteration of a loop.");
  if (!subset || subset.showsOmitted) showResult(placement, edges);
  if (omitted) showOmitted(placement, edges, omitted);
  bundleEdges(edges);
  if (options.rules.stubs) addStubs(placement, edges);
  if (options.values === "boxes") addValues(placement, edges);
  const edgeText = tiedTexts(placement, edges);
  const visible = finish(placement, edges);
  return edgeText ? { ...visible, edgeText } : visible;
}
