/**
 * Small values: what is text inside its user's box instead of a separate box.
 *
 * A scalar constant, and whatever only broadcasts or converts one, is small for all its users. So is a parameter from the side, if it
 * is a scalar, or a vector with few users (the γ of a norm, a bias). If it is combined with nothing but other parameters, it must
 * have fewer dimensions than the result: a + b is drawn with two inputs, x · w + bias is not.
 */

import { CATEGORIES, type Csr, DtypeKind, type ProgramData } from "../../program/types";
import { Input } from "./inputs";
import { isArgument, Role } from "../../program/roles";
import { rank } from "./shapes";

export interface Small {
  /** 1: may become text. */
  readonly is: Uint8Array;
  /** The node whose text it shows: the constant behind a broadcast, or the node itself. */
  readonly root: Int32Array;
}

const MOST_ELEMENTS = 4;
const LONGEST = 18;
const MOST_USES = 4;
const LEAF = CATEGORIES.indexOf("leaf");

export function findSmall(program: ProgramData, users: Csr, isOutput: Uint8Array, inputKind: Uint8Array): Small {
  const { nodeCount, nodeRole, nodeCategory, nodeOp, nodeText, inputs, outputs, types, strings, ops, calls, control } = program;
  const is = new Uint8Array(nodeCount);
  const root = new Int32Array(nodeCount);
  const scalar = new Uint8Array(nodeCount);
  for (let n = 0; n < nodeCount; n++) {
    root[n] = n;
    const useCount = users.start[n + 1] - users.start[n];
    if (isOutput[n] || useCount === 0 || outputs.start[n + 1] - outputs.start[n] !== 1) continue;
    const type = outputs.value[outputs.start[n]];
    const elements = types.elements[type];
    const operandCount = inputs.start[n + 1] - inputs.start[n];
    if (nodeRole[n] === Role.Constant && operandCount === 0) {
      const text = nodeText[n] < 0 ? "" : strings.at(nodeText[n]);
      if (text !== "" && text.length <= LONGEST && elements >= 0 && elements <= MOST_ELEMENTS) is[n] = scalar[n] = 1;
    } else if (isArgument(nodeRole[n]) && operandCount === 0 && nodeCategory[n] !== LEAF) {
      const vector = elements >= 0 && useCount <= MOST_USES && rank(program, n) <= 1;
      const aside =
        inputKind[n] === Input.Side || (inputKind[n] === Input.MeetsBare && rank(program, n) < rank(program, users.value[users.start[n]]));
      if (aside && (elements === 1 || vector)) is[n] = 1;
    } else if (
      operandCount === 1 &&
      nodeRole[n] === Role.Op &&
      calls.start[n + 1] === calls.start[n] &&
      control.start[n + 1] === control.start[n]
    ) {
      const source = inputs.value[inputs.start[n]];
      const spreads = ops.spreads[nodeOp[n]] && source < n && is[source] && (scalar[source] || useCount <= MOST_USES);
      if (spreads && keepsValue(program, root[source], type)) {
        is[n] = 1;
        scalar[n] = scalar[source];
        root[n] = root[source];
      }
    }
  }
  return { is, root };
}

/** Is the text of a constant still true after a conversion to another type? 1.75 as an integer is 1, and 300 as a byte is 44. */
function keepsValue({ outputs, types, nodeRole, nodeText, strings }: ProgramData, root: number, type: number): boolean {
  const original = outputs.value[outputs.start[root]];
  if (types.dtype[original] === types.dtype[type] || nodeRole[root] !== Role.Constant) return true;
  const text = strings.at(nodeText[root]);
  switch (types.kind[type]) {
    case DtypeKind.Float:
    case DtypeKind.Complex:
      return types.kind[original] !== DtypeKind.Boolean;
    case DtypeKind.Integer:
      return /^\d{1,2}$/.test(text);
    default:
      return false;
  }
}
