/** Operations whose operands may change places: numbers on their edges would say nothing. */
import type { ProgramData } from "../../program/types";
import { bareOp } from "./plumbing";

const COMMUTATIVE = new Set([
  "add",
  "add_any",
  "multiply",
  "mul",
  "maximum",
  "max",
  "minimum",
  "min",
  "and",
  "or",
  "xor",
  "tuple",
  "return",
  "output",
  "bitwise_and",
  "bitwise_or",
  "bitwise_xor",
  "logical_and",
  "logical_or",
  "logical_xor",
  "eq",
  "ne",
  "fusion",
  "call",
  "all-reduce",
]);

export function commutes({ nodeOp, strings }: ProgramData, node: number): boolean {
  return COMMUTATIVE.has(bareOp(strings.at(nodeOp[node])).replace(/_$/, ""));
}
