/** The texts of boxes: titles, types, counts. */

import { countText, shortNumber } from "../../text/quantities";
import { nameAndClass } from "../../program/names";
import type { ProgramData } from "../../program/types";
import { TitledBy } from "../../program/ops";
import type { Traits } from "../traits";
import { isArgument, Role } from "../../program/roles";
import { parameterLabel } from "./parameterLabels";
import { scanResults } from "./scanResults";

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${countText(n)} ${n === 1 ? one : many}`;
}

/** "add_fusion.12" → "add_fusion". */
function withoutNumber(name: string): string {
  return name.replace(/(\.\d+)+(\.clone)?$/, "");
}

/** The title of a node: its op, or a better name that it has (a fusion's, a library routine's, a parameter's label). */
export function nodeTitle(program: ProgramData, node: number, flat: boolean): string {
  const { strings, nodeOp, nodeId, nodeRole, nodeText } = program;
  const text = nodeText[node];
  if (isArgument(nodeRole[node])) return parameterLabel(program, node, flat);
  if (nodeRole[node] !== Role.Op && text >= 0) return strings.at(text);
  const { calls, graphName, ops } = program;
  const title = strings.at(ops.title[nodeOp[node]]);
  switch (ops.titledBy[nodeOp[node]]) {
    case TitledBy.Text:
      return text >= 0 ? strings.at(text).replace(/^__/, "").replace(/\$/g, " ") : title;
    case TitledBy.Called:
      return calls.start[node + 1] > calls.start[node] ? withoutNumber(strings.at(graphName[calls.value[calls.start[node]]])) : title;
    case TitledBy.Id:
      return withoutNumber(strings.at(nodeId[node]));
    default:
      return text >= 0 ? `${title} ${strings.at(text)}` : title;
  }
}

/** A type by its number: "f32[2, 3]", with its layout "f32[2, 3]{1,0}". */
export function valueType({ strings, types }: ProgramData, type: number, layouts: boolean): string {
  const text = strings.at(types.text[type]);
  const layout = layouts ? strings.at(types.layout[type]) : "";
  return layout.startsWith("(") ? layout : text + layout; // a tuple has layouts inside
}

/** The type of a node: "f32[2, 3]", "(f32[2], s32[])", or the number of values if that would be long; of a scan, by what they are. */
export function typeText(program: ProgramData, node: number, layouts: boolean): string {
  const { outputs } = program;
  const from = outputs.start[node];
  const to = outputs.start[node + 1];
  if (to === from) return resultNames(program, node);
  if (to - from === 1) return valueType(program, outputs.value[from], layouts);
  if (to - from > 3) return scanResults(program, node) || plural(to - from, "value");
  const texts: string[] = [];
  for (let i = from; i < to; i++) texts.push(valueType(program, outputs.value[i], layouts));
  return `(${texts.join(", ")})`;
}

/** How many names of results a box has room for. */
const MOST_NAMES = 4;

/** What comes out at an output node, if the source says so: "logits, past_key_values ×4". Parts of one result are counted. */
function resultNames({ strings, outputNames }: ProgramData, node: number): string {
  const numbers = outputNames.value.subarray(outputNames.start[node], outputNames.start[node + 1]);
  return countedNames(Array.from(numbers, (number) => strings.at(number)));
}

/** Names of results by their first part, and how many parts each has: "logits, past_key_values ×4"; of parts that are only numbers, by the second if there are few: "[0].params ×18, [1]". */
export function countedNames(names: readonly string[]): string {
  const heads = (levels: number): Map<string, number> => {
    const counts = new Map<string, number>();
    for (const name of names) {
      const head = (name.match(/\[\d+\]|[^.[]+/g) ?? [name])
        .slice(0, levels)
        .reduce((path, part) => (part.startsWith("[") || !path ? path + part : `${path}.${part}`), "");
      counts.set(head, (counts.get(head) ?? 0) + 1);
    }
    return counts;
  };
  const first = heads(1);
  const second = Array.from(first.keys()).every((head) => head.startsWith("[")) ? heads(2) : first;
  const counts = second.size > MOST_NAMES ? first : second;
  if (counts.size > MOST_NAMES) return plural(counts.size, "result");
  return Array.from(counts, ([name, count]) => (count > 1 ? `${name} ×${count}` : name)).join(", ");
}

/** The name of the tensor that an output is, if the program's tensors have names. */
export function tensorName({ strings, outputNames }: ProgramData, node: number, output: number): string | undefined {
  const at = outputNames.start[node] + output;
  return output >= 0 && at < outputNames.start[node + 1] ? strings.at(outputNames.value[at]) : undefined;
}

/** The name of a value: that of its tensor, or that of its node, with the number of the output if there are several. */
export function valueName(program: ProgramData, node: number, output: number): string {
  const { strings, nodeId, outputs } = program;
  const several = outputs.start[node + 1] - outputs.start[node] > 1;
  const id = strings.at(nodeId[node]);
  return tensorName(program, node, output) ?? (several && output >= 0 ? `${id}.${output}` : id);
}

/** The title of a group; bare numbers are preceded by the name of the group around them ("layers.0", "features.0.0"). */
export function groupTitle(program: ProgramData, names: Int32Array, parent: Int32Array, group: number): string {
  const nameOf = (each: number): string => nameAndClass(program.strings.at(names[each]))[0];
  const parts = [nameOf(group)];
  for (let g = parent[group]; g >= 0 && /^\d+$/.test(parts[0]); g = parent[g]) parts.unshift(nameOf(g));
  return parts.join(".");
}

/** "TransformerBlock", if the program says so. */
export function groupClass(program: ProgramData, names: Int32Array, group: number): string {
  return nameAndClass(program.strings.at(names[group]))[1];
}

/** The title of repeats, from those of the first and the last: "layer_0 … layer_23", but "attention 1 … 24". */
export function rangeTitle(first: string, last: string): string {
  const words = first.slice(0, first.lastIndexOf(" ") + 1);
  return `${first} … ${last.startsWith(words) ? last.slice(words.length) : last}`;
}

/** What a collapsed group says of a loop in it: "while ×24". */
export function loopText(program: ProgramData, loop: number): string {
  return loop < 0 ? "" : nodeTitle(program, loop, false);
}

/** "TransformerBlock · scan ×24 · 31 ops · 7.1 M parameters". */
export function groupSubtitle(kind: string, ops: number, parameters: number, loop = ""): string {
  const parts = [kind, loop].filter(Boolean);
  if (ops > 0) parts.push(plural(ops, "op"));
  if (parameters > 0) parts.push(`${shortNumber(parameters)} parameter${parameters === 1 ? "" : "s"}`);
  return parts.join(" · ");
}

/** A small value as text: "0.125", "γ f32[512]". */
export function operandText(traits: Traits, source: number, flat: boolean): string {
  const { program, small } = traits;
  const { strings, nodeText, nodeId, nodeRole, outputs, types } = program;
  const root = small.root[source];
  const named = isArgument(nodeRole[root]);
  const text = named ? parameterLabel(program, root, flat) : strings.at(nodeText[root] >= 0 ? nodeText[root] : nodeId[root]);
  if (named && outputs.start[root + 1] > outputs.start[root]) {
    const type = outputs.value[outputs.start[root]];
    if (types.elements[type] !== 1) return `${text} ${strings.at(types.text[type])}`;
  }
  return text;
}

/**
 * The text of an operand that is inside its user: "× 0.125", "γ f32[512]". Texts without a sign are the last operands, in their order;
 * one that comes before an operand with an edge says its number: "1: 0.125".
 */
export function operandNote(traits: Traits, user: number, operand: number, source: number, flat: boolean): string {
  const { inputs, nodeOp, nodeText, ops, strings } = traits.program;
  const text = operandText(traits, source, flat);
  const end = inputs.start[user + 1];
  const unnumbered = ops.unnumbered[nodeOp[user]] === 1;
  const sign = end - inputs.start[user] === 2 && nodeText[user] < 0 ? strings.at(ops.sign[nodeOp[user]]) : "";
  if (sign) return operand === 1 || unnumbered ? `${sign} ${text}` : `${text} ${sign}`;
  for (let i = inputs.start[user] + operand + 1; i < end && !unnumbered; i++)
    if (!traits.small.is[inputs.value[i]]) return `${operand}: ${text}`;
  return text;
}
