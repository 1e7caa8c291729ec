/** A node on one line: `dot.3: f32[8, 4] = dot(add.1, w, lhs_contracting_dims={1})`. */
import { indexOf } from "../program/programIndex";
import type { ProgramData } from "../program/types";

/** Where an operation comes from says nothing about what it does, and fills the line. */
const NOT_SHOWN = /^(?:metadata|opscope)\./;

/** `named` are attributes that are shown in any case, because they changed. */
export function nodeLine(program: ProgramData, node: number, named: ReadonlySet<string> = new Set()): string {
  const index = indexOf(program);
  const parts: string[] = [];
  const { inputs, calls, control } = program;
  for (let i = inputs.start[node]; i < inputs.start[node + 1]; i++) {
    const output = inputs.extra[i];
    parts.push(index.id(inputs.value[i]) + (output === 0 ? "" : `#${output < 0 ? "*" : output}`));
  }
  for (const [name, value] of Object.entries(program.details(node)?.attrs ?? {})) {
    if (named.has(name) || !NOT_SHOWN.test(name)) parts.push(`${name}=${typeof value === "string" ? value : JSON.stringify(value)}`);
  }
  for (let i = calls.start[node]; i < calls.start[node + 1]; i++) parts.push(`calls=${index.graphName(calls.value[i])}`);
  for (let i = control.start[node]; i < control.start[node + 1]; i++) parts.push(`after=${index.id(control.value[i])}`);
  const type = index.typeText(node);
  return `${index.id(node)}${type ? `: ${type}` : ""} = ${index.op(node)}(${parts.join(", ")})`.replace(/\s*\n\s*/g, " ");
}
