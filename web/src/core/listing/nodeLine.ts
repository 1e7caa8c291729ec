/** A node on one line: of its program's own text, or else `dot.3: f32[8, 4] = dot(add.1, w, lhs_contracting_dims={1})`. */
import { indexOf } from "../program/programIndex";
import type { NodeDetails, ProgramData } from "../program/types";
import { ownWords, withoutSource } from "./ownLine";

/** Where an operation comes from says nothing about what it does, and fills the line. */
const NOT_SHOWN = /^(?:metadata|opscope)\./;

/** What a part of a line is, for its colour. */
export type WordKind = "name" | "type" | "op" | "attribute" | "other";

export interface Word {
  readonly text: string;
  readonly kind: WordKind;
}

/** `named` are attributes that are shown in any case, because they changed. Without them, an own line is shown whole. */
export function nodeLine(program: ProgramData, node: number, named?: ReadonlySet<string>): string {
  const own = named ? undefined : program.ownLine(node);
  if (own) return own;
  return nodeWords(program, node, named)
    .map(({ text }) => text)
    .join("");
}

export function nodeWords(program: ProgramData, node: number, named?: ReadonlySet<string>): Word[] {
  const own = program.ownLine(node);
  if (!own) return wordsOf(program, node, program.details(node)?.attrs ?? {}, named ?? new Set());
  const isWhole = !named || [...named].some((name) => NOT_SHOWN.test(name));
  return ownWords(isWhole ? own : withoutSource(own));
}

function wordsOf(program: ProgramData, node: number, attrs: NodeDetails["attrs"], named: ReadonlySet<string>): Word[] {
  const index = indexOf(program);
  const words: Word[] = [];
  const add = (kind: WordKind, text: string) => words.push({ kind, text: text.includes("\n") ? text.replace(/\s*\n\s*/g, " ") : text });
  const type = index.typeText(node);
  add("name", index.id(node));
  if (type) {
    add("other", ": ");
    add("type", type);
  }
  add("other", " = ");
  add("op", index.op(node));
  let separator = "(";
  const separate = () => {
    add("other", separator);
    separator = ", ";
  };
  const attribute = (name: string, text: string) => {
    separate();
    add("attribute", `${name}=`);
    add("other", text);
  };
  const { inputs, calls, control } = program;
  for (let i = inputs.start[node]; i < inputs.start[node + 1]; i++) {
    const output = inputs.extra[i];
    separate();
    add("other", index.id(inputs.value[i]) + (output === 0 ? "" : `#${output < 0 ? "*" : output}`));
  }
  for (const [name, value] of Object.entries(attrs)) {
    if (named.has(name) || !NOT_SHOWN.test(name)) attribute(name, typeof value === "string" ? value : JSON.stringify(value));
  }
  for (let i = calls.start[node]; i < calls.start[node + 1]; i++) attribute("calls", index.graphName(calls.value[i]));
  for (let i = control.start[node]; i < control.start[node + 1]; i++) attribute("after", index.id(control.value[i]));
  add("other", separator === "(" ? "()" : ")");
  return words;
}
