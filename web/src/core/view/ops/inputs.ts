/**
 * Which parameters are data (the model's input, a batch of tokens), and which come in from the side (weights, optimizer states,
 * targets)? Data starts the flow: following it from its first user on, it meets nothing but bare parameters. What comes from the
 * side meets a flow that is already there. Integers (indices, labels) are data wherever they go. Where two bare parameters meet
 * first (x · w), the first operand is. A parameter is still bare when it was only reshaped, broadcast or the like. All of this is a
 * guess, and only decides where a parameter is drawn.
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

/** What kind of input each parameter is (MeetsBare: from the side, but all it meets are bare parameters). */
export function findInputs(program: ProgramData, users: Csr): Uint8Array {
  const { nodeCount, nodeRole, inputs } = program;
  /** What a node's value rests on: one parameter, NOTHING or SEVERAL. */
  const rests = new Int32Array(nodeCount).fill(NOTHING);
  /** 1: a parameter, or one that was only reshaped. */
  const raw = new Uint8Array(nodeCount);
  const reshapes = reshaping(program);
  for (let n = 0; n < nodeCount; n++) {
    if (isArgument(nodeRole[n])) {
      rests[n] = n;
      raw[n] = 1;
      continue;
    }
    let on = NOTHING;
    let untouched = true;
    for (let i = inputs.start[n]; i < inputs.start[n + 1] && on !== SEVERAL; i++) {
      const operand = inputs.value[i];
      const under = rests[operand];
      if (under === NOTHING) continue;
      on = on === NOTHING || on === under ? under : SEVERAL;
      untouched = untouched && raw[operand] === 1;
    }
    rests[n] = on;
    if (on < 0 || !untouched) continue;
    if (reshapes(n)) raw[n] = 1;
  }
  const kind = new Uint8Array(nodeCount);
  const company = companies(program, rests, raw);
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
      if (rests[user] !== n || user <= at) break;
      at = user;
    }
    if (user >= 0) kind[n] = meeting(program, company(user), raw[at] === 1, n, at, user);
  }
  smallBesideLarge(program, kind);
  return kind;
}

/** Where data has several dimensions, a lone number or vector is none, whatever it meets (a norm's running variance, a rate). */
function smallBesideLarge(program: ProgramData, kind: Uint8Array): void {
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

/** Tells whether a node only reshapes or converts: by its op, or, for a fusion, by all ops in it. */
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

/** Of the values that an operation takes: two different ones that parameters came through untouched, and two that were worked on. */
interface Company {
  readonly raw: readonly [number, number];
  readonly worked: readonly [number, number];
}

/** Worked out once for each operation: one may take fifty thousand parameters. */
function companies({ inputs }: ProgramData, rests: Int32Array, raw: Uint8Array): (user: number) => Company {
  const known = new Map<number, Company>();
  return (user) => {
    let company = known.get(user);
    if (!company) {
      const found: [[number, number], [number, number]] = [
        [NOTHING, NOTHING],
        [NOTHING, NOTHING],
      ];
      for (let i = inputs.start[user]; i < inputs.start[user + 1]; i++) {
        const under = rests[inputs.value[i]];
        const pair = found[raw[inputs.value[i]] ? 0 : 1];
        if (under === NOTHING || pair[0] === under) continue;
        if (pair[0] === NOTHING) pair[0] = under;
        else if (pair[1] === NOTHING) pair[1] = under;
      }
      company = { raw: found[0], worked: found[1] };
      known.set(user, company);
    }
    return company;
  };
}

/** `at` is the last that rests on the parameter alone, `user` the one that brings something else in. */
function meeting(program: ProgramData, { raw, worked }: Company, isRaw: boolean, parameter: number, at: number, user: number): Input {
  const other = ([a, b]: readonly [number, number]): number => (a === parameter ? b : a);
  if (other(worked) !== NOTHING) return Input.Side;
  const meets = other(raw);
  if (meets === NOTHING || !isRaw) return Input.Data;
  const { inputs } = program;
  return !isInteger(program, meets) && inputs.value[inputs.start[user]] === at ? Input.Data : Input.MeetsBare;
}
