/** The view: from a Program and a description of what is to be seen to boxes and edges. */

import { EdgeKind, type ProgramData, type ViewSpec, type Visible } from "../types";
import { buildBeside } from "./beside";
import { Boxes } from "./boxes";
import { bundleEdges } from "./bundle";
import { connectAll } from "./connect";
import { fittingDepth } from "./depth";
import { Edges } from "./edges";
import { finish } from "./finish";
import { fromFirstLook } from "./firstLook";
import { findRepeats } from "./fold";
import { showLeftOut } from "./omitted";
import { readOptions } from "./options";
import { tellOrigins } from "./origins";
import { type Placement, placeAll } from "./place";
import { prepare } from "./prepare";
import { Repeats } from "./repeats";
import { showResult } from "./result";
import { addStubs } from "./stubs";
import { readSubset } from "./subset";
import { groupTree } from "./tree";
import { addValues } from "./values";

export { DEFAULT_RULES } from "./options";

/** Throws only for a graph that does not exist; other names that lead nowhere become remarks. */
export function buildView(program: ProgramData, spec: ViewSpec): Visible {
  if (spec.beside) return buildBeside(program, spec);
  return spec.depth === undefined && !spec.flatten ? build(program, fromFirstLook(program, spec)) : build(program, spec);
}

/** The view of a description as it stands; without a depth, as deep as a page holds. */
export function build(program: ProgramData, spec: ViewSpec): Visible {
  const prepared = prepare(program);
  const options = readOptions(spec);
  const remarks: string[] = [...(program.notes ?? [])];
  const entry = spec.graph === undefined ? program.entry : prepared.graphNamed(spec.graph);
  if (entry < 0) throw new Error(`no graph named "${spec.graph}"`);
  const grouping = program.groupings.find((one) => one.name === spec.grouping) ?? program.groupings[0];
  if (spec.grouping !== undefined && grouping.name !== spec.grouping)
    remarks.push(`There is no grouping "${spec.grouping}"; this is "${grouping.name}".`);
  const tree = groupTree(prepared, grouping);
  const subset = readSubset(prepared, tree, entry, spec, remarks);
  const graph = subset?.graph ?? entry;
  const folding = options.rules.foldRepeats && !options.flatten && !subset ? findRepeats(prepared, tree) : undefined;

  const boxes = new Boxes();
  const placement: Placement = {
    prepared,
    tree,
    options,
    groupDepth: spec.depth ?? (subset ? Number.POSITIVE_INFINITY : fittingDepth(prepared, tree, graph, folding)),
    callDepth: options.calls ? (spec.depth ?? 0) : 0,
    boxes,
    instances: [],
    promised: 0,
    kept: subset?.kept,
    named: subset?.named,
    folding,
    repeats: new Repeats(),
    remarks,
  };
  placeAll(placement, graph);
  tellOrigins(placement);
  const edges = new Edges(boxes, program, 2 * boxes.count);
  const leftOut = subset?.showsLeftOut
    ? { before: new Int32Array(program.nodeCount), after: new Int32Array(program.nodeCount) }
    : undefined;
  connectAll(placement, edges, leftOut);
  if (edges.kind.includes(EdgeKind.Carried)) remarks.push("Dashed arrows lead to the next round of a loop.");
  if (!subset || subset.showsLeftOut) showResult(placement, edges);
  if (leftOut) showLeftOut(placement, edges, leftOut);
  bundleEdges(edges);
  if (options.rules.stubs) addStubs(placement, edges);
  if (options.valuesAsBoxes) addValues(placement, edges);
  return finish(placement, edges);
}
