/** What a caller's operands become inside a called graph. */
import { isArgument, Role } from "./roles";
import type { ProgramData } from "./types";

/** The place of a parameter without an operand: in an overlay, one that does not exist after the pass. */
export const NO_OPERAND = -2;

/** The operand that a call only passes on, by its place: a stack that it takes an element of, or an element that it writes; else negative. */
export const forwardedOperand = (place: number): number => -3 - place;

/** The parameters of a graph that receive operands, as they are listed. The incoming gradient of a backward half is one of them. */
export function parametersOf({ graphStart, inputs, nodePlace, nodeRole }: ProgramData, graph: number): number[] {
  const parameters: number[] = [];
  for (let n = graphStart[graph]; n < graphStart[graph + 1]; n++) {
    const isIncoming = nodeRole[n] === Role.Gradient && inputs.start[n + 1] === inputs.start[n];
    if (nodePlace[n] !== NO_OPERAND && (isArgument(nodeRole[n]) || isIncoming)) parameters.push(n);
  }
  return parameters;
}

/**
 * The operand that each parameter of a graph receives: in the order of their places if all of them have one, otherwise as they
 * are listed. Places beyond their number are operand numbers of the caller.
 */
export function operandsOf({ nodePlace }: ProgramData, parameters: readonly number[]): number[] {
  if (!parameters.every((n) => nodePlace[n] >= 0)) return parameters.map((_, i) => i);
  const inOrder = [...parameters].sort((a, b) => nodePlace[a] - nodePlace[b]);
  if (parameters.length && nodePlace[inOrder[inOrder.length - 1]] >= parameters.length) return parameters.map((n) => nodePlace[n]);
  const rank = new Map(inOrder.map((n, i) => [n, i]));
  return parameters.map((n) => rank.get(n)!);
}
