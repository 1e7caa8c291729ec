/** Facts about types that the view needs. */

import { DtypeKind, type ProgramData } from "../../program/types";

/** Dimensions of a node's first output. */
export function rank({ outputs, types }: ProgramData, node: number): number {
  return outputs.start[node + 1] === outputs.start[node] ? 0 : types.rank[outputs.value[outputs.start[node]]];
}

/** Does a node produce integers? */
export function isInteger({ outputs, types }: ProgramData, node: number): boolean {
  return outputs.start[node + 1] > outputs.start[node] && types.kind[outputs.value[outputs.start[node]]] === DtypeKind.Integer;
}
