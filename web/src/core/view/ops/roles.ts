import type { ProgramData } from "../../program/types";

/** Numbers of `ROLES` (types.ts). */
export const enum Role {
  Op = 0,
  Parameter = 1,
  Constant = 2,
  Output = 3,
  Gradient = 4,
  Saved = 5,
}

/** An output index that stands for all outputs together. */
export const WHOLE = -1;

const BESIDE_PARAMETERS = new Set(["input", "buffer", "saved"]);

/** Is a node one of the model's parameters? Inputs, buffers and what forward saved come into a graph in the same way, and are none. */
export function isModelParameter(program: ProgramData, node: number): boolean {
  return program.nodeRole[node] === Role.Parameter && !BESIDE_PARAMETERS.has(program.strings.at(program.nodeOp[node]));
}
