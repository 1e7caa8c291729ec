/** Values as boxes: tensors between operations. */

import { BoxKind, CATEGORIES, EdgeKind } from "../../program/types";
import type { Boxes } from "./boxes";
import { TripleMap } from "../../base/csr";
import type { Edges } from "../edges/edges";
import type { Placement } from "./placement";
import { isArgument, Role } from "../../program/roles";
import { tensorName, valueName, valueType } from "./texts";

const DATA = CATEGORIES.indexOf("data");
const OUTPUT = CATEGORIES.indexOf("output");

/** Puts a box between every operation and the users of each of its values; parameters and constants are values already. */
export function addValues(placement: Placement, edges: Edges): void {
  const { boxes, traits, instances } = placement;
  const { nodeRole, graphOutputs } = traits.program;
  const numbers = new TripleMap();
  const boxOf: number[] = [];
  const valueBox = (source: number, node: number, output: number): number => {
    const number = numbers.number(source, node, output);
    if (number === boxOf.length) {
      boxOf.push(addBox(placement, boxes, source, node, output));
      const edge = edges.add(EdgeKind.Data, source, boxOf[number], node, output, 0);
      edges.sourcePort[edge] = Number.NaN;
    }
    return boxOf[number];
  };
  const count = edges.count;
  for (let e = 0; e < count; e++) {
    const source = edges.source[e];
    const node = edges.node[e];
    if (edges.kind[e] !== EdgeKind.Data || node < 0 || boxes.kind[source] === BoxKind.Stub || !boxes.isLeaf(source)) continue;
    if (isArgument(nodeRole[node]) || nodeRole[node] === Role.Constant) continue;
    const port = edges.sourcePort[e];
    const value = valueBox(source, node, edges.output[e]);
    const added = edges.count - 1;
    if (edges.source[added] === source && edges.target[added] === value) edges.sourcePort[added] = port;
    edges.source[e] = value;
    edges.sourcePort[e] = 0.5;
  }
  const root = instances[0];
  for (let i = graphOutputs.start[root.graph]; i < graphOutputs.start[root.graph + 1]; i++) {
    const node = graphOutputs.value[i];
    const box = root.place(node);
    const plain = !isArgument(nodeRole[node]) && nodeRole[node] !== Role.Constant && nodeRole[node] !== Role.Output;
    if (box < 0 || !boxes.isLeaf(box) || !plain) continue;
    const value = valueBox(box, node, graphOutputs.extra[i]);
    if (tensorName(traits.program, node, graphOutputs.extra[i]) !== undefined) boxes.category[value] = OUTPUT;
  }
}

function addBox(placement: Placement, boxes: Boxes, source: number, node: number, output: number): number {
  const { program } = placement.traits;
  const { outputs } = program;
  const box = boxes.add(BoxKind.Value, boxes.parent[source], `v:${boxes.key[source]}.${output}`, node, -1);
  boxes.title[box] = valueName(program, node, output);
  boxes.subtitle[box] =
    output >= 0 && outputs.start[node] + output < outputs.start[node + 1]
      ? valueType(program, outputs.value[outputs.start[node] + output], placement.options.layouts)
      : "";
  boxes.category[box] = DATA;
  return box;
}
