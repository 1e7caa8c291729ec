/** Trivial reducers: called graphs that apply one op to their parameters and nothing else (`to_apply=add`). */

import type { ProgramData } from "../../program/types";
import { operandsOf, parametersOf } from "../../program/parameters";
import { isArgument, Role } from "../../program/roles";

const LARGEST = 5;

/** For each graph the number of the one op that it applies, or -1. */
export function findReducers(program: ProgramData): Int32Array {
  const { graphCount, graphStart, nodeRole, nodeOp, inputs, calls, graphOutputs } = program;
  const op = new Int32Array(graphCount).fill(-1);
  for (let g = 0; g < graphCount; g++) {
    const from = graphStart[g];
    const to = graphStart[g + 1];
    if (g === program.entry || to - from < 2 || to - from > LARGEST) continue;
    if (graphOutputs.start[g + 1] - graphOutputs.start[g] !== 1) continue;
    const root = graphOutputs.value[graphOutputs.start[g]];
    let plain =
      nodeRole[root] === Role.Op && calls.start[root + 1] === calls.start[root] && inputs.start[root + 1] - inputs.start[root] === 2;
    for (let n = from; n < to && plain; n++) plain = n === root || isArgument(nodeRole[n]);
    for (let i = inputs.start[root]; i < inputs.start[root + 1] && plain; i++) plain = isArgument(nodeRole[inputs.value[i]]);
    if (plain && takesOperandsInOrder(program, g, root)) op[g] = nodeOp[root];
  }
  return op;
}

/** Does an op take each of the caller's operands once, in their order (in any order if it commutes)? Otherwise its name says too little. */
function takesOperandsInOrder(program: ProgramData, graph: number, root: number): boolean {
  const { inputs, nodeOp, ops } = program;
  const parameters = parametersOf(program, graph);
  const operands = operandsOf(program, parameters);
  const taken: number[] = [];
  for (let i = inputs.start[root]; i < inputs.start[root + 1]; i++) taken.push(operands[parameters.indexOf(inputs.value[i])]);
  if (ops.unnumbered[nodeOp[root]]) taken.sort((a, b) => a - b);
  return taken.every((operand, i) => operand === i);
}
