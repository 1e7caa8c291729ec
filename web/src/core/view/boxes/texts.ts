/** What boxes say: titles, types, counts. */

import { shortNumber } from "../../text/quantities";
import { CATEGORIES, type ProgramData } from "../../program/types";
import { bareOp } from "../ops/plumbing";
import type { Prepared } from "../prepare";
import { isArgument, Role } from "../../program/roles";

/** "mlp: LlamaMLP" is the group `mlp` of class `LlamaMLP`. */
export function nameAndClass(name: string): [string, string] {
  const at = name.indexOf(": ");
  return at > 0 ? [name.slice(0, at), name.slice(at + 2)] : [name, ""];
}

export function plural(n: number, one: string): string {
  return `${n.toLocaleString("en-US")} ${one}${n === 1 ? "" : "s"}`;
}

const opTitles = new WeakMap<ProgramData, Map<number, string>>();

function opTitle(program: ProgramData, op: number): string {
  let titles = opTitles.get(program);
  if (!titles) {
    titles = new Map();
    opTitles.set(program, titles);
  }
  let title = titles.get(op);
  if (title === undefined) {
    title = bareOp(program.strings.at(op));
    titles.set(op, title);
  }
  return title;
}

const LEAF = CATEGORIES.indexOf("leaf");

/** Ops that say nothing; the function that they call does. */
const NAMED_BY_CALLED = new Set([
  "call",
  "jit",
  "pjit",
  "closed_call",
  "core_call",
  "checkpoint",
  "remat2",
  "custom_jvp_call",
  "custom_vjp_call",
]);

/** "add_fusion.12" → "add_fusion". */
function withoutNumber(name: string): string {
  return name.replace(/(\.\d+)+(\.clone)?$/, "");
}

/** What a node is: its op, or the better name that it carries (a fusion's, a library routine's, a parameter's label). */
export function nodeTitle(program: ProgramData, node: number): string {
  const { strings, nodeOp, nodeId, nodeRole, nodeText } = program;
  const text = nodeText[node];
  if (isArgument(nodeRole[node])) return parameterLabel(program, node);
  if (nodeRole[node] !== Role.Op && text >= 0) return strings.at(text);
  const op = opTitle(program, nodeOp[node]);
  if (op === "custom-call" || op === "custom_call") return text >= 0 ? strings.at(text).replace(/^__/, "").replace(/\$/g, " ") : op;
  const { calls, graphName } = program;
  if (NAMED_BY_CALLED.has(op) && calls.start[node + 1] > calls.start[node])
    return withoutNumber(strings.at(graphName[calls.value[calls.start[node]]]));
  if (op === "fusion") return withoutNumber(strings.at(nodeId[node]));
  return op;
}

/**
 * "params['layers'][0]['attention']['q']" → "attention.q": what is beside it says the rest. "state[2][1]" stays: "2.1" is a number.
 * So does a leaf behind a tensor without a module around it: nothing else says whose "weight" it is.
 */
function parameterLabel(program: ProgramData, node: number): string {
  const { strings, nodeId, nodeText } = program;
  const label = strings.at(nodeText[node] >= 0 ? nodeText[node] : nodeId[node]);
  const modules = program.groupings.find((grouping) => grouping.name === "module");
  if (program.nodeCategory[node] === LEAF && (modules?.nodeGroup[node] ?? -1) < 0) return label;
  const keys = label.match(/\['[^']*'\]|\[\d+\]|\.\w+/g);
  if (!keys || keys.length < 2 || !label.endsWith(keys[keys.length - 1])) return label;
  const [before, last] = keys.slice(-2).map((key) => key.replace(/^\.|^\['?|'?\]$/g, ""));
  if (!/^\d/.test(before)) return `${before}.${last}`;
  return /^\d/.test(last) ? label : last;
}

/** What a node yields: "f32[2, 3]", "(f32[2], s32[])", or how many where that would be long. */
export function typeText(program: ProgramData, node: number): string {
  const { outputs, types, strings } = program;
  const from = outputs.start[node];
  const to = outputs.start[node + 1];
  if (to === from) return "";
  if (to - from === 1) return strings.at(types.text[outputs.value[from]]);
  if (to - from > 3) return plural(to - from, "value");
  const texts: string[] = [];
  for (let i = from; i < to; i++) texts.push(strings.at(types.text[outputs.value[i]]));
  return `(${texts.join(", ")})`;
}

/** A group's name to show; bare numbers take their parent's name along ("layers.0"). */
export function groupTitle(program: ProgramData, names: Int32Array, parent: Int32Array, group: number): string {
  const name = nameAndClass(program.strings.at(names[group]))[0];
  if (!/^\d+$/.test(name) || parent[group] < 0) return name;
  return `${nameAndClass(program.strings.at(names[parent[group]]))[0]}.${name}`;
}

/** "TransformerBlock · 31 ops · 7.1 M parameters". */
export function groupSubtitle(kind: string, ops: number, parameters: number): string {
  const parts = kind ? [kind] : [];
  if (ops > 0) parts.push(plural(ops, "op"));
  if (parameters > 0) parts.push(`${shortNumber(parameters)} parameter${parameters === 1 ? "" : "s"}`);
  return parts.join(" · ");
}

/** Signs between an op and the operand that is written beside it: [before a second operand, after a first one]. */
const SIGNS: Record<string, readonly [string, string]> = {
  add: ["+ ", " +"],
  subtract: ["− ", " −"],
  sub: ["− ", " −"],
  multiply: ["× ", " ×"],
  mul: ["× ", " ×"],
  divide: ["÷ ", " ÷"],
  div: ["÷ ", " ÷"],
  power: ["^ ", " ^"],
  pow: ["^ ", " ^"],
  maximum: ["max ", "max "],
  max: ["max ", "max "],
  minimum: ["min ", "min "],
  min: ["min ", "min "],
};

/** A small value as text: "0.125", "γ f32[512]". */
export function operandText(prepared: Prepared, source: number): string {
  const { program, small } = prepared;
  const { strings, nodeText, nodeId, nodeRole, outputs, types } = program;
  const root = small.root[source];
  const named = isArgument(nodeRole[root]);
  const text = named ? parameterLabel(program, root) : strings.at(nodeText[root] >= 0 ? nodeText[root] : nodeId[root]);
  if (named && outputs.start[root + 1] > outputs.start[root]) {
    const type = outputs.value[outputs.start[root]];
    if (types.elements[type] !== 1) return `${text} ${strings.at(types.text[type])}`;
  }
  return text;
}

/** The text of an operand that sits inside its user: "× 0.125", "γ f32[512]". */
export function operandNote(prepared: Prepared, user: number, operand: number, source: number): string {
  const { inputs, nodeOp } = prepared.program;
  const text = operandText(prepared, source);
  const signs = inputs.start[user + 1] - inputs.start[user] === 2 ? SIGNS[opTitle(prepared.program, nodeOp[user])] : undefined;
  if (!signs) return text;
  return operand === 1 || signs[0] === signs[1] || signs[0] === "+ " || signs[0] === "× " ? signs[0] + text : text + signs[1];
}
