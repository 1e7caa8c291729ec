/** What the shown graph returns, as a box if the program has no node for it: every picture ends in "output". */

import { BoxKind, CATEGORIES, EdgeKind } from "../../program/types";
import { isReturnedUnchanged } from "../edges/connect";
import type { Edges } from "../edges/edges";
import { noEnds, sources } from "./instance";
import type { Placement } from "./placement";
import { RESULT } from "../choose/keys";
import { Forwards } from "../../program/ops";
import { Role } from "../../program/roles";
import { placeOperands } from "../edges/ports";
import { isClosedRoot } from "./root";
import { scanResults } from "./scanResults";
import { countedNames, plural, tensorName, typeText, valueType } from "./texts";

const OUTPUT = CATEGORIES.indexOf("output");

/** Is the result already a node: the tuple or the output that a program ends in? */
function endsInNode(placement: Placement): boolean {
  const { program, plumbing } = placement.traits;
  const { graph, first, count } = placement.instances[0];
  for (let i = program.graphOutputs.start[graph]; i < program.graphOutputs.start[graph + 1]; i++) {
    if (plumbing.kind[program.graphOutputs.value[i]] === Forwards.Tuple) return true;
  }
  return program.nodeRole.subarray(first, first + count).includes(Role.Output);
}

/** The results of a scan's body, by what becomes of them. */
function resultsOfBody({ traits }: Placement, graph: number): string {
  const { start, value } = traits.index.callers;
  return start[graph] < start[graph + 1] ? scanResults(traits.program, value[start[graph]], true) : "";
}

export function showResult(placement: Placement, edges: Edges): void {
  const { traits, boxes, instances, options } = placement;
  const { graphOutputs, outputs } = traits.program;
  const root = instances[0];
  const from = graphOutputs.start[root.graph];
  const count = graphOutputs.start[root.graph + 1] - from;
  const isClosed = isClosedRoot(placement, root);
  if (count === 0 || options.hiddenRole[Role.Output] || endsInNode(placement)) return;
  const ends = noEnds();
  const results: { source: number; node: number; output: number; operand: number }[] = [];
  let unchanged = 0;
  for (let i = 0; i < count; i++) {
    sources(root, graphOutputs.value[from + i], graphOutputs.extra[from + i], options.rules.plumbing, ends);
    for (let e = 0; e < ends.node.length; e++) {
      const source = ends.instance[e].place(ends.node[e]);
      if (source < 0) continue;
      if (options.rules.plumbing && count > 1 && isReturnedUnchanged(traits, ends.node[e], count)) unchanged++;
      else results.push({ source, node: ends.node[e], output: ends.output[e], operand: i });
    }
  }
  if (results.length === 0 && unchanged === 0) return;
  const names = results.map(({ node, output }) => tensorName(traits.program, node, output));
  if (options.values === "boxes" && !isClosed && unchanged === 0 && names.every((name) => name !== undefined)) return; // each is a box already
  if (options.allNodes && !isClosed) {
    for (const { source } of results) boxes.note(source, "output");
    return;
  }
  const box = boxes.add(BoxKind.Node, -1, RESULT, -1, -1);
  boxes.category[box] = OUTPUT;
  boxes.title[box] = (names.length === 1 && names[0]) || "output";
  const result = graphOutputs.value[from];
  const which = graphOutputs.extra[from];
  const one = which >= 0 && which < outputs.start[result + 1] - outputs.start[result];
  const named = root.graph === traits.program.entry ? countedNames(traits.program.results) : "";
  boxes.subtitle[box] =
    count > 1
      ? named || resultsOfBody(placement, root.graph) || plural(count, "value")
      : one
        ? valueType(traits.program, outputs.value[outputs.start[result] + which], options.layouts)
        : typeText(traits.program, result, options.layouts);
  if (count === 1 && named) boxes.subtitle[box] = `${named} · ${boxes.subtitle[box]}`;
  if (unchanged > 0) boxes.note(box, `${plural(unchanged, "parameter")} unchanged`);
  const drawn: number[] = [];
  for (const { source, node, output, operand } of results) {
    const before = edges.count;
    const edge = edges.add(EdgeKind.Data, source, box, node, output, operand);
    if (edge < before) continue;
    const values = outputs.start[node + 1] - outputs.start[node];
    if (boxes.isLeaf(source)) edges.sourcePort[edge] = output >= 0 && values > 0 ? (output + 1) / (values + 1) : 0.5;
    drawn.push(edge, drawn.length / 2 + 1);
  }
  placeOperands(traits, edges, drawn, drawn.length / 2);
}
