/**
 * Which parameters are data (the model's input, a batch of tokens), and which come from the side (weights, optimizer states,
 * targets)? Data begins the flow: from its first user on, it is combined with nothing but bare parameters. What comes from the side
 * is combined with values that were computed before. Integers (indices, labels) are always data. If two bare parameters are combined
 * first (x · w), the first operand is data. A parameter is still bare if it was only reshaped, broadcast or the like. All of this is
 * a guess, and only decides where a parameter is drawn.
 */

import { CATEGORIES, type Csr, type ProgramData } from "../../program/types";
import { isArgument, Role } from "../../program/roles";
import { isInteger, rank } from "./shapes";

const NOTHING = -1;
const SEVERAL = -2;
const SHAPE = CATEGORIES.indexOf("shape");

export const enum Input {
  Side = 0,
  Data = 1,
  MeetsBare = 2,
}

/** The kind of input of each parameter (MeetsBare: from the side, but only combined with bare parameters). */
export function findInputs(program: ProgramData, users: Csr): Uint8Array {
  const { nodeCount, nodeRole, inputs } = program;
  /** The parameter that a node's value depends on, NOTHING or SEVERAL. */
  const dependsOn = new Int32Array(nodeCount).fill(NOTHING);
  /** 1: a parameter, or one that was only reshaped. */
  const raw = new Uint8Array(nodeCount);
  const reshapes = reshaping(program);
  for (let n = 0; n < nodeCount; n++) {
    if (isArgument(nodeRole[n])) {
      dependsOn[n] = n;
      raw[n] = 1;
      continue;
    }
    let on = NOTHING;
    let untouched = true;
    for (let i = inputs.start[n]; i < inputs.start[n + 1] && on !== SEVERAL; i++) {
      const operand = inputs.value[i];
      const under = dependsOn[operand];
      if (under === NOTHING) continue;
      on = on === NOTHING || on === under ? under : SEVERAL;
      untouched = untouched && raw[operand] === 1;
    }
    dependsOn[n] = on;
    if (on < 0 || !untouched) continue;
    if (reshapes(n)) raw[n] = 1;
  }
  const kind = new Uint8Array(nodeCount);
  const operandsOf = operandsByUser(program, dependsOn, raw);
  for (let n = 0; n < nodeCount; n++) {
    if (!isArgument(nodeRole[n])) continue;
    if (isInteger(program, n)) {
      kind[n] = Input.Data;
      continue;
    }
    let at = n;
    let user = -1;
    while (users.start[at + 1] > users.start[at]) {
      user = users.value[users.start[at]];
      if (dependsOn[user] !== n || user <= at) break;
      at = user;
    }
    if (user >= 0) kind[n] = meeting(program, operandsOf(user), raw[at] === 1, n, at, user);
  }
  demoteSmallData(program, kind);
  return kind;
}

/** If data has several dimensions, a single number or vector is not data (the running variance of a norm, a learning rate). */
function demoteSmallData(program: ProgramData, kind: Uint8Array): void {
  const { graphCount, graphStart } = program;
  for (let g = 0; g < graphCount; g++) {
    let large = false;
    for (let n = graphStart[g]; n < graphStart[g + 1] && !large; n++) large = kind[n] === Input.Data && rank(program, n) > 1;
    if (!large) continue;
    for (let n = graphStart[g]; n < graphStart[g + 1]; n++) {
      if (kind[n] === Input.Data && rank(program, n) <= 1 && !isInteger(program, n)) kind[n] = Input.Side;
    }
  }
}

/** Does a node only reshape or convert? By its op, or, for a fusion, by all ops inside. */
function reshaping(program: ProgramData): (node: number) => boolean {
  const { nodeOp, nodeRole, nodeCategory, calls, graphCount, graphStart, ops } = program;
  const plain = (n: number): boolean => ops.spreads[nodeOp[n]] === 1 || nodeCategory[n] === SHAPE;
  const ofGraph = new Int8Array(graphCount).fill(-1);
  return (node) => {
    if (calls.start[node + 1] - calls.start[node] !== 1) return plain(node);
    const graph = calls.value[calls.start[node]];
    if (ofGraph[graph] < 0) {
      ofGraph[graph] = 1;
      for (let n = graphStart[graph]; n < graphStart[graph + 1]; n++) if (nodeRole[n] === Role.Op && !plain(n)) ofGraph[graph] = 0;
    }
    return ofGraph[graph] === 1;
  };
}

/** The parameters behind the operands of an operation: two that are still bare, and two that were computed with. */
interface Operands {
  readonly raw: readonly [number, number];
  readonly computed: readonly [number, number];
}

/** Computed once for each operation: one may take fifty thousand parameters. */
function operandsByUser({ inputs }: ProgramData, dependsOn: Int32Array, raw: Uint8Array): (user: number) => Operands {
  const cache = new Map<number, Operands>();
  return (user) => {
    let operands = cache.get(user);
    if (!operands) {
      const pairs: [[number, number], [number, number]] = [
        [NOTHING, NOTHING],
        [NOTHING, NOTHING],
      ];
      for (let i = inputs.start[user]; i < inputs.start[user + 1]; i++) {
        const under = dependsOn[inputs.value[i]];
        const pair = pairs[raw[inputs.value[i]] ? 0 : 1];
        if (under === NOTHING || pair[0] === under) continue;
        if (pair[0] === NOTHING) pair[0] = under;
        else if (pair[1] === NOTHING) pair[1] = under;
      }
      operands = { raw: pairs[0], computed: pairs[1] };
      cache.set(user, operands);
    }
    return operands;
  };
}

/** `at` is the last node that depends on the parameter alone, `user` the one that combines it with something else. */
function meeting(program: ProgramData, { raw, computed }: Operands, isRaw: boolean, parameter: number, at: number, user: number): Input {
  const other = ([a, b]: readonly [number, number]): number => (a === parameter ? b : a);
  if (other(computed) !== NOTHING) return Input.Side;
  const meets = other(raw);
  if (meets === NOTHING || !isRaw) return Input.Data;
  const { inputs } = program;
  return !isInteger(program, meets) && inputs.value[inputs.start[user]] === at ? Input.Data : Input.MeetsBare;
}
