/** The container of the wire: a directory and columns of numbers, as `render/wire/sections.py` writes them. Strings stay UTF-8 until read. */
import { decodeUtf8 } from "../base/utf8";
import type { Csr, Csr2, StringTable } from "./types";

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
    if (bytes.length < HEADER || decodeUtf8(bytes, 0, 4) !== "OPSW") throw new Error("these bytes are not an opscope program");
    const version = view.getUint32(4, true);
    if (version !== VERSION)
      throw new Error(`the program is written in version ${version} of the wire format; this viewer reads version ${VERSION}`);
    const length = view.getUint32(8, true);
    this.base = HEADER + length;
    this.fields = JSON.parse(decodeUtf8(bytes, HEADER, this.base)) as Record<string, unknown>;
    this.directory = this.fields.sections as Record<string, Entry>;
    // Columns are read when they are needed; a truncated file is refused before anything is drawn from it.
    for (const [name, [type, , offset, count]] of Object.entries(this.directory))
      if (this.base + offset + count * widthOf(type) > bytes.length)
        throw new Error(`the program ends inside its column "${name}"; the file is truncated`);
  }

  has(name: string): boolean {
    return name in this.directory;
  }

  /** The numbers as they are stored: a window onto the bytes wherever they are aligned. */
  stored(name: string): Column {
    const entry = this.directory[name];
    if (!entry) throw new Error(`the program has no column "${name}"; the file is damaged`);
    const [type, , offset, count] = entry;
    const width = widthOf(type);
    let buffer = this.bytes.buffer;
    let at = this.bytes.byteOffset + this.base + offset;
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
    const numbers = stored instanceof Int32Array && coding === "plain" ? stored : new Int32Array(stored);
    if (coding === "delta") for (let i = 1; i < numbers.length; i++) numbers[i] += numbers[i - 1];
    return numbers;
  }

  rows(name: string): Csr {
    return { start: this.integers(`${name}.rows`), value: this.integers(`${name}.value`) };
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
  private readonly texts: (string | undefined)[];

  constructor(
    private readonly bytes: Uint8Array,
    private readonly start: Int32Array,
  ) {
    this.length = start.length - 1;
    this.texts = new Array<string | undefined>(this.length);
  }

  at(index: number): string {
    const cached = this.texts[index];
    if (cached !== undefined) return cached;
    if (index < 0 || index >= this.length) return "";
    const text = decodeUtf8(this.bytes, this.start[index], this.start[index + 1]);
    this.texts[index] = text;
    return text;
  }
}

/** Bytes of a number. */
function widthOf(type: string): number {
  return type === "f64" ? 8 : type === "i32" ? 4 : type.endsWith("16") ? 2 : 1;
}

function sums(lengths: Column): Int32Array {
  const start = new Int32Array(lengths.length + 1);
  for (let i = 0; i < lengths.length; i++) start[i + 1] = start[i] + lengths[i];
  return start;
}
