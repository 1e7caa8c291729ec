/**
 * Which parameters are data (the model's input, a batch of tokens) and which are its weights? Data starts the flow: where it is
 * first used, nothing else has been computed yet from anything but itself. A weight meets a flow that is already there. Where two
 * parameters meet first (x · w), integers are data (indices into a table), otherwise the first operand is.
 */

import type { Csr, ProgramData } from "../types";
import { Role } from "./roles";

const NOTHING = -1;
const SEVERAL = -2;

/** 1 for each parameter that is data. */
export function findDataInputs(program: ProgramData, users: Csr): Uint8Array {
  const { nodeCount, nodeRole, inputs } = program;
  const rests = new Int32Array(nodeCount).fill(NOTHING);
  for (let n = 0; n < nodeCount; n++) {
    if (nodeRole[n] === Role.Parameter) {
      rests[n] = n;
      continue;
    }
    let on = NOTHING;
    for (let i = inputs.start[n]; i < inputs.start[n + 1] && on !== SEVERAL; i++) {
      const under = rests[inputs.value[i]];
      if (under !== NOTHING) on = on === NOTHING || on === under ? under : SEVERAL;
    }
    rests[n] = on;
  }
  const data = new Uint8Array(nodeCount);
  for (let n = 0; n < nodeCount; n++) {
    if (nodeRole[n] === Role.Parameter && users.start[n + 1] > users.start[n] && startsFlow(program, rests, n, users.value[users.start[n]])) data[n] = 1;
  }
  return data;
}

function startsFlow(program: ProgramData, rests: Int32Array, parameter: number, user: number): boolean {
  const { inputs, nodeRole } = program;
  let meets = -1;
  for (let i = inputs.start[user]; i < inputs.start[user + 1]; i++) {
    const operand = inputs.value[i];
    if (rests[operand] === NOTHING || rests[operand] === parameter) continue;
    if (nodeRole[operand] !== Role.Parameter) return false;
    if (meets < 0) meets = operand;
  }
  if (meets < 0 || isInteger(program, parameter)) return true;
  return !isInteger(program, meets) && inputs.value[inputs.start[user]] === parameter;
}

function isInteger(program: ProgramData, node: number): boolean {
  const { outputs, types, strings } = program;
  return outputs.start[node + 1] > outputs.start[node] && /^(s|u|i|int|uint)\d+$/.test(strings.at(types.dtype[outputs.value[outputs.start[node]]]));
}
