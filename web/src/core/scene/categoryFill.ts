/** The default colour of a box: that of its category, with five refinements. */
import { Control } from "../program/ops";
import { Role } from "../program/roles";
import { BoxKind, CATEGORIES, type Category, type ProgramData, type Visible } from "../program/types";
import { isGroup } from "./boxText";
import { PAINT_GROUP, PAINT_STUB, PAINT_VALUE } from "./types";

/** A fusion has the colour of its most significant operation. */
const SIGNIFICANT: readonly Category[] = ["communication", "matmul", "reduce", "custom", "random", "data", "elementwise", "shape"];
const OUTPUT = CATEGORIES.indexOf("output");
const PARAMETER = CATEGORIES.indexOf("parameter");
const RANK = CATEGORIES.map((category) => (SIGNIFICANT.includes(category) ? SIGNIFICANT.indexOf(category) : SIGNIFICANT.length));

/** Row of the theme's paints for every box of a view. */
export function categoryPaints(program: ProgramData, visible: Visible): Uint8Array {
  const fusion = fusionPaints(program);
  const paints = new Uint8Array(visible.boxCount);
  for (let box = 0; box < visible.boxCount; box++) {
    const kind = visible.kind[box];
    const node = visible.node[box];
    paints[box] = visible.category[box];
    if (kind === BoxKind.Stub || kind === BoxKind.Omitted) paints[box] = PAINT_STUB;
    else if (kind === BoxKind.Value) paints[box] = visible.category[box] === OUTPUT ? OUTPUT : PAINT_VALUE;
    else if (isGroup(visible, box)) paints[box] = PAINT_GROUP;
    else if (kind === BoxKind.Call && node >= 0) {
      // A call of a plain function is a group with another name, not control flow.
      const control = program.ops.control[program.nodeOp[node]];
      if (control === Control.Call) paints[box] = PAINT_GROUP;
      else if (control === Control.Fusion) paints[box] = fusion(node) ?? visible.category[box];
    } else if (kind === BoxKind.Node && isInput(program, node)) paints[box] = OUTPUT;
  }
  return paints;
}

/** The row of the theme's paints for a node, as for its box. */
export function nodePaints(program: ProgramData): (node: number) => number {
  const fusion = fusionPaints(program);
  return (node) => {
    if (isInput(program, node)) return OUTPUT;
    return (program.ops.control[program.nodeOp[node]] === Control.Fusion ? fusion(node) : undefined) ?? program.nodeCategory[node];
  };
}

/** Does a node bring data into the program? Weights look different. The leaves of an autograd graph have a colour of their own. */
function isInput({ nodeRole, nodeCategory }: ProgramData, node: number): boolean {
  return nodeRole[node] === Role.Input && nodeCategory[node] === PARAMETER;
}

/** The most significant category in the body of a fusion, or undefined if there is none. */
function fusionPaints(program: ProgramData): (node: number) => number | undefined {
  const paintOfGraph = new Map<number, number>();
  return (node) => {
    const graph = program.calls.value[program.calls.start[node]];
    if (graph === undefined || program.calls.start[node] === program.calls.start[node + 1]) return undefined;
    let paint = paintOfGraph.get(graph);
    if (paint === undefined) {
      let best = SIGNIFICANT.length;
      for (let n = program.graphStart[graph]; n < program.graphStart[graph + 1]; n++) best = Math.min(best, RANK[program.nodeCategory[n]]);
      paint = best < SIGNIFICANT.length ? CATEGORIES.indexOf(SIGNIFICANT[best]) : -1;
      paintOfGraph.set(graph, paint);
    }
    return paint < 0 ? undefined : paint;
  };
}
