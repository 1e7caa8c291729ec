/**
 * Reads what `opscope.render.wire.program` writes: a directory and columns of numbers (the container is described in
 * `render/wire/sections.py`). Strings stay UTF-8 until somebody reads them, details until somebody asks for a node.
 */

import { attributeNamed } from "./attributes";
import { decodeMetrics } from "./metrics";
import type { Csr, Csr2, Grouping, NodeDetails, ProgramData, StringTable } from "./types";
import { decodeUtf8 } from "../base/utf8";

const VERSION = 1;
const HEADER = 16;

type Entry = readonly [type: string, coding: string, offset: number, count: number];
type Column = Uint8Array | Int8Array | Uint16Array | Int16Array | Int32Array | Float64Array;

/** Columns by name. */
export class Sections {
  readonly fields: Record<string, unknown>;
  private readonly directory: Record<string, Entry>;
  private readonly base: number;

  constructor(private readonly bytes: Uint8Array) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (bytes.length < HEADER || decodeUtf8(bytes, 0, 4) !== "OPSW") throw new Error("these bytes are no opscope program");
    const version = view.getUint32(4, true);
    if (version !== VERSION)
      throw new Error(`the program is written in version ${version} of the wire format; this viewer reads version ${VERSION}`);
    const length = view.getUint32(8, true);
    this.base = HEADER + length;
    this.fields = JSON.parse(decodeUtf8(bytes, HEADER, this.base)) as Record<string, unknown>;
    this.directory = this.fields.sections as Record<string, Entry>;
  }

  has(name: string): boolean {
    return name in this.directory;
  }

  /** The numbers as they are stored: a window onto the bytes wherever they are aligned. */
  stored(name: string): Column {
    const entry = this.directory[name];
    if (!entry) throw new Error(`the program lacks its column "${name}"; the file is damaged`);
    const [type, , offset, count] = entry;
    const width = type === "f64" ? 8 : type === "i32" ? 4 : type.endsWith("16") ? 2 : 1;
    let buffer = this.bytes.buffer;
    let at = this.bytes.byteOffset + this.base + offset;
    if (at + count * width > this.bytes.byteOffset + this.bytes.byteLength)
      throw new Error(`the program ends within its column "${name}"; the file is cut short`);
    if (at % width !== 0) {
      buffer = new Uint8Array(this.bytes.subarray(this.base + offset, this.base + offset + count * width)).buffer;
      at = 0;
    }
    switch (type) {
      case "u8":
        return new Uint8Array(buffer, at, count);
      case "i8":
        return new Int8Array(buffer, at, count);
      case "u16":
        return new Uint16Array(buffer, at, count);
      case "i16":
        return new Int16Array(buffer, at, count);
      case "i32":
        return new Int32Array(buffer, at, count);
      case "f64":
        return new Float64Array(buffer, at, count);
      default:
        throw new Error(`column "${name}" has the unknown type "${type}"`);
    }
  }

  octets(name: string): Uint8Array {
    return this.stored(name) as Uint8Array;
  }

  floats(name: string): Float64Array {
    return this.stored(name) as Float64Array;
  }

  integers(name: string): Int32Array {
    const stored = this.stored(name);
    const coding = this.directory[name][1];
    if (coding === "rows") return sums(stored);
    const numbers = stored instanceof Int32Array && coding === "plain" ? stored : Int32Array.from(stored as ArrayLike<number>);
    if (coding === "delta") for (let i = 1; i < numbers.length; i++) numbers[i] += numbers[i - 1];
    return numbers;
  }

  rows(name: string): Csr {
    const start = this.integers(`${name}.rows`);
    const value = this.integers(`${name}.value`);
    if (this.directory[`${name}.value`][1] !== "back") return { start, value };
    const forward = new Int32Array(value.length);
    for (let row = 0; row + 1 < start.length; row++) {
      for (let i = start[row]; i < start[row + 1]; i++) forward[i] = row - value[i];
    }
    return { start, value: forward };
  }

  pairs(name: string): Csr2 {
    const rows = this.rows(name);
    const extra = this.has(`${name}.extra`) ? this.integers(`${name}.extra`) : new Int32Array(rows.value.length);
    return { ...rows, extra };
  }

  strings(name: string): StringTable {
    return new Strings(this.octets(name), this.integers(`${name}.rows`));
  }
}

/** Strings that are decoded when first read. */
class Strings implements StringTable {
  readonly length: number;
  private readonly known: (string | undefined)[];

  constructor(
    private readonly bytes: Uint8Array,
    private readonly start: Int32Array,
  ) {
    this.length = start.length - 1;
    this.known = new Array<string | undefined>(this.length);
  }

  at(index: number): string {
    const known = this.known[index];
    if (known !== undefined) return known;
    if (index < 0 || index >= this.length) return "";
    const text = decodeUtf8(this.bytes, this.start[index], this.start[index + 1]);
    this.known[index] = text;
    return text;
  }
}

function sums(lengths: Column): Int32Array {
  const start = new Int32Array(lengths.length + 1);
  for (let i = 0; i < lengths.length; i++) start[i + 1] = start[i] + lengths[i];
  return start;
}

/** The details of a run of nodes. */
export interface DetailsBlock {
  readonly start: number;
  readonly count: number;
  details(node: number): NodeDetails | undefined;
  /** Marks among the block's nodes; see ProgramData. */
  findAttribute(key: string, test: (value: string) => boolean): Uint8Array;
  findAttributes(test: (key: string, value: string) => boolean): Uint8Array;
  findSource(test: (frame: string) => boolean): Uint8Array;
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
  const valueStart = new Int32Array(setOf.length + 1);
  for (let i = 0; i < setOf.length; i++) valueStart[i + 1] = valueStart[i] + sets.start[setOf[i] + 1] - sets.start[setOf[i]];

  const details = (node: number): NodeDetails | undefined => {
    const i = node - start;
    if (i < 0 || i >= setOf.length) return undefined;
    const attrs: Record<string, unknown> = {};
    for (let k = sets.start[setOf[i]], v = valueStart[i]; k < sets.start[setOf[i] + 1]; k++, v++) {
      attrs[keys.at(sets.value[k])] = JSON.parse(texts.at(values[v]));
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
  const findAttribute = (key: string, test: (value: string) => boolean): Uint8Array => {
    const wanted = new Uint8Array(keys.length);
    for (let k = 0; k < keys.length; k++) if (attributeNamed(keys.at(k), key)) wanted[k] = 1;
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
        if (wanted[sets.value[k]] && passes(values[v])) marks[i] = 1;
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
  return { start, count: setOf.length, details, findAttribute, findAttributes, findSource };
}

/** A program of the wire. `fetched` answers for details that were not sent along, where the host has them. */
export function decodeWire(bytes: Uint8Array, fetched?: (node: number) => NodeDetails | undefined): ProgramData {
  const sections = new Sections(bytes);
  const graphStart = sections.integers("graph.rows");
  const graphCount = graphStart.length - 1;
  const nodeId = sections.integers("nodeId");
  const graphOutputs = sections.pairs("graphOutputs");
  const outputValue = Int32Array.from(graphOutputs.value);
  for (let g = 0; g < graphCount; g++) {
    for (let i = graphOutputs.start[g]; i < graphOutputs.start[g + 1]; i++) outputValue[i] += graphStart[g];
  }
  let decoded: DetailsBlock | undefined;
  const included = sections.has("details");
  const block = (): DetailsBlock | undefined => {
    if (included) decoded ??= decodeDetails(sections.octets("details"));
    return decoded;
  };
  return {
    name: sections.fields.name as string,
    entry: sections.fields.entry as number,
    strings: sections.strings("strings"),
    graphCount,
    graphStart,
    graphName: sections.integers("graphName"),
    graphOutputs: { ...graphOutputs, value: outputValue },
    nodeCount: nodeId.length,
    nodeId,
    nodeOp: sections.integers("nodeOp"),
    nodeRole: sections.octets("nodeRole"),
    nodeCategory: sections.octets("nodeCategory"),
    outputs: sections.rows("outputs"),
    inputs: sections.pairs("inputs"),
    calls: sections.rows("calls"),
    control: sections.rows("control"),
    links: sections.pairs("links"),
    types: {
      text: sections.integers("types.text"),
      dtype: sections.integers("types.dtype"),
      layout: sections.integers("types.layout"),
      bytes: sections.floats("types.bytes"),
      elements: sections.floats("types.elements"),
    },
    notes: (sections.fields.notes ?? []) as readonly string[],
    derivatives: (sections.fields.derivatives ?? {}) as ProgramData["derivatives"],
    looks: sections.fields.looks as ProgramData["looks"],
    summary: sections.fields.summary as ProgramData["summary"],
    groupings: (sections.fields.groupings as string[]).map((name, i): Grouping => {
      const groupName = sections.integers(`grouping${i}.name`);
      return {
        name,
        groupCount: groupName.length,
        groupName,
        groupParent: sections.integers(`grouping${i}.parent`),
        groupGraph: sections.integers(`grouping${i}.graph`),
        nodeGroup: sections.integers(`grouping${i}.node`),
      };
    }),
    nodeText: sections.integers("nodeText"),
    nodePlace: sections.integers("nodePlace"),
    metrics: decodeMetrics(sections, sections.integers("nodeMetrics")),
    details: (node) => (included ? block()?.details(node) : fetched?.(node)),
    findAttribute: (key, test) => block()?.findAttribute(key, test),
    findAttributes: (test) => block()?.findAttributes(test),
    findSource: (test) => block()?.findSource(test),
  };
}
