/** Attributes and source frames (`render/wire/details.py` writes them), decoded on request. */
import { attributeNamed } from "./attributes";
import { Sections } from "./sections";
import type { NodeDetails } from "./types";

/** The details of a run of nodes. */
export interface DetailsBlock {
  readonly start: number;
  readonly count: number;
  details(node: number): NodeDetails | undefined;
  /** Of the attributes of a node that are texts, that at a place. */
  textAt(node: number, place: number): string | undefined;
  ownLine(node: number): string | undefined;
  /** Marks among the block's nodes; see ProgramData. */
  findAttribute(key: string, test: (value: string) => boolean): Uint8Array;
  findAttributes(test: (key: string, value: string) => boolean): Uint8Array;
  findSource(test: (frame: string) => boolean): Uint8Array;
}

/** JSON; most of it is texts without escapes, which need no parser. */
function parsed(json: string): unknown {
  return json.startsWith('"') && !json.includes("\\") ? json.slice(1, -1) : JSON.parse(json);
}

export function decodeDetails(bytes: Uint8Array): DetailsBlock {
  const sections = new Sections(bytes);
  const start = sections.fields.start as number;
  const setOf = sections.integers("setOf");
  const sets = sections.rows("sets");
  const values = sections.integers("values");
  const stackOf = sections.integers("stackOf");
  const stacks = sections.rows("stacks");
  const file = sections.integers("frames.file");
  const func = sections.integers("frames.function");
  const line = sections.integers("frames.line");
  const keys = sections.strings("keys");
  const texts = sections.strings("texts");
  const lines = sections.has("lines") ? sections.strings("lines") : undefined;
  const valueStart = new Int32Array(setOf.length + 1);
  for (let i = 0; i < setOf.length; i++) valueStart[i + 1] = valueStart[i] + sets.start[setOf[i] + 1] - sets.start[setOf[i]];

  const details = (node: number): NodeDetails | undefined => {
    const i = node - start;
    if (i < 0 || i >= setOf.length) return undefined;
    const attrs: Record<string, unknown> = {};
    for (let k = sets.start[setOf[i]], v = valueStart[i]; k < sets.start[setOf[i] + 1]; k++, v++) {
      attrs[keys.at(sets.value[k])] = parsed(texts.at(values[v]));
    }
    const source: { file: string; line: number; function?: string }[] = [];
    for (let k = stacks.start[stackOf[i]]; k < stacks.start[stackOf[i] + 1]; k++) {
      const frame = stacks.value[k];
      const name = keys.at(func[frame]);
      source.push(
        name ? { file: keys.at(file[frame]), line: line[frame], function: name } : { file: keys.at(file[frame]), line: line[frame] },
      );
    }
    return { attrs, source };
  };
  const textAt = (node: number, place: number): string | undefined => {
    const i = node - start;
    for (let v = valueStart[i], left = place; v < valueStart[i + 1]; v++) {
      const text = texts.at(values[v]);
      if (text.startsWith('"') && left-- === 0) return parsed(text) as string;
    }
    return undefined;
  };
  const findAttribute = (key: string, test: (value: string) => boolean): Uint8Array => {
    const matchingKeys = new Uint8Array(keys.length);
    for (let k = 0; k < keys.length; k++) if (attributeNamed(keys.at(k), key)) matchingKeys[k] = 1;
    const answers = new Uint8Array(texts.length);
    const passes = (text: number): boolean => {
      if (answers[text] === 0) {
        const value = JSON.parse(texts.at(text)) as unknown;
        answers[text] = test(typeof value === "string" ? value : texts.at(text)) ? 2 : 1;
      }
      return answers[text] === 2;
    };
    const marks = new Uint8Array(setOf.length);
    for (let i = 0; i < setOf.length; i++) {
      for (let k = sets.start[setOf[i]], v = valueStart[i]; k < sets.start[setOf[i] + 1] && !marks[i]; k++, v++) {
        if (matchingKeys[sets.value[k]] && passes(values[v])) marks[i] = 1;
      }
    }
    return marks;
  };
  const findAttributes = (test: (key: string, value: string) => boolean): Uint8Array => {
    const answers = new Map<number, boolean>();
    const passes = (key: number, text: number): boolean => {
      const pair = key * texts.length + text;
      let answer = answers.get(pair);
      if (answer === undefined) {
        const value = JSON.parse(texts.at(text)) as unknown;
        answer = test(keys.at(key), typeof value === "string" ? value : texts.at(text));
        answers.set(pair, answer);
      }
      return answer;
    };
    const marks = new Uint8Array(setOf.length);
    for (let i = 0; i < setOf.length; i++) {
      for (let k = sets.start[setOf[i]], v = valueStart[i]; k < sets.start[setOf[i] + 1] && !marks[i]; k++, v++) {
        if (passes(sets.value[k], values[v])) marks[i] = 1;
      }
    }
    return marks;
  };
  const findSource = (test: (frame: string) => boolean): Uint8Array => {
    const frameHolds = Uint8Array.from(file, (name, frame) => (test(`${keys.at(name)}:${line[frame]} ${keys.at(func[frame])}`) ? 1 : 0));
    const stackHolds = new Uint8Array(stacks.start.length - 1);
    for (let s = 0; s < stackHolds.length; s++) {
      for (let k = stacks.start[s]; k < stacks.start[s + 1] && !stackHolds[s]; k++) stackHolds[s] = frameHolds[stacks.value[k]];
    }
    return Uint8Array.from(stackOf, (stack) => stackHolds[stack]);
  };
  return {
    start,
    count: setOf.length,
    details,
    textAt,
    ownLine: (node) => lines?.at(node - start) || undefined,
    findAttribute,
    findAttributes,
    findSource,
  };
}
