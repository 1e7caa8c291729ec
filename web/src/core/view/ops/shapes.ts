/** What the view reads from types. */

import type { ProgramData } from "../../program/types";

/** Dimensions of a node's first output. */
export function rank(program: ProgramData, node: number): number {
  const { outputs, types, strings } = program;
  if (outputs.start[node + 1] === outputs.start[node]) return 0;
  const text = strings.at(types.text[outputs.value[outputs.start[node]]]);
  const inside = text.slice(text.indexOf("[") + 1, text.lastIndexOf("]"));
  return inside === "" || !text.includes("[") ? 0 : inside.split(",").length;
}

/** Does a node yield integers? */
export function isInteger(program: ProgramData, node: number): boolean {
  const { outputs, types, strings } = program;
  return (
    outputs.start[node + 1] > outputs.start[node] &&
    /^(s|u|i|int|uint)\d+$/.test(strings.at(types.dtype[outputs.value[outputs.start[node]]]))
  );
}
