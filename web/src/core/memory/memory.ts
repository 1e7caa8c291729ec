/** The memory of one run of a program, as `opscope.render.wire.memory` writes it. Its meaning is that of `opscope.memory.model`. */
import { Sections } from "../program/sections";
import type { StringTable } from "../program/types";

export interface MemoryData {
  readonly name: string;
  readonly origin: "reported" | "computed" | "measured";
  /** The first position at which the most bytes are in use, and the bytes of the run (all that is reserved, if a compiler reserves). */
  readonly peak: number;
  readonly peakBytes: number;
  /** The peak of a run of the program; undefined if it was not run. */
  readonly measured: MeasuredPeak | undefined;
  /** Bytes that are reserved, in use or not: from each of these positions on. Empty: nothing is reserved. */
  readonly heldFrom: Int32Array;
  readonly held: Float64Array;
  /** How many buffers are of unknown size; they are in no sum. */
  readonly unknown: number;
  /** Why it is not what the source reports, if there is a report that cannot be read. */
  readonly remark: string;
  readonly kinds: readonly string[];
  /** The kind of what is reserved and not in use, and what is to be said about it. */
  readonly unusedKind: number;
  readonly unusedWhy: string;
  /** Kinds that nothing computes, and what can be done to values of the others in a what-if question. */
  readonly given: readonly string[];
  readonly actions: readonly string[];
  /** Of a memory with changes: what was asked. */
  readonly whatIf: WhatIf | undefined;
  /** The node that runs at each position, or -1 and a string number. */
  readonly steps: Int32Array;
  readonly stepNames: Int32Array;
  /** Columns of buffers, sorted by birth. A buffer is alive from `born` to `last`, both included. */
  readonly count: number;
  readonly node: Int32Array;
  /** Where the node is not one of the program: its name. */
  readonly nameOf: Int32Array;
  /** NaN: unknown. */
  readonly bytes: Float64Array;
  readonly kind: Int32Array;
  readonly born: Int32Array;
  readonly last: Int32Array;
  /** The position of what reads it last, which may be before `last`. */
  readonly read: Int32Array;
  /** Buffers in the order in which they end. */
  readonly byEnd: Int32Array;
  /** Buffers of one slot share memory; -1: it shares with none. */
  readonly slot: Int32Array;
  readonly slotCount: number;
  /** String numbers. */
  readonly output: Int32Array;
  readonly type: Int32Array;
  readonly why: Int32Array;
  readonly module: Int32Array;
  readonly source: Int32Array;
  readonly strings: StringTable;
}

export interface MeasuredPeak {
  /** Null: it cannot be known. */
  readonly bytes: number | null;
  readonly why_unknown: string;
}

/** Changes ("recompute=fusion.3"), and what they cost. */
export interface WhatIf {
  readonly changes: readonly string[];
  /** Computed again; null: unknown. */
  readonly flops: number | null;
  /** Recomputed nodes whose FLOPs are not known. */
  readonly unknownFlops: number;
  /** Bytes that leave the device and come back. */
  readonly moved: number;
  /** The buffers of the memory without changes that are recomputed because a function or module is. */
  readonly checkpointed: readonly number[];
  /** What to write in the program for the functions or modules that are recomputed, and for what is suggested. */
  readonly advice: readonly string[];
  /** The most bytes in use at one point with what the advice does, and nothing else. */
  readonly adviceBytes: number;
  /** The changes that the advice does not make. */
  readonly byHand: readonly string[];
  /** How many of the changes are of functions or modules, and of values. */
  readonly functions: number;
  readonly values: number;
  /** Why the peak may not fall by what is estimated, and how far such estimates are off; empty: nothing to say. */
  readonly note: string;
  readonly error: string;
}

export function decodeMemory(bytes: Uint8Array): MemoryData {
  const sections = new Sections(bytes);
  const fields = sections.fields as unknown as Pick<
    MemoryData,
    "name" | "origin" | "peak" | "peakBytes" | "unknown" | "remark" | "kinds" | "unusedKind" | "unusedWhy" | "given" | "actions"
  > & {
    readonly slots: number;
    readonly whatIf?: WhatIf;
    readonly measured: MeasuredPeak | null;
  };
  const born = sections.integers("born");
  const length = sections.integers("length");
  const last = born.map((at, i) => at + length[i]);
  const unread = sections.integers("unread");
  const column = (name: string) => sections.integers(name);
  return {
    name: fields.name,
    origin: fields.origin,
    peak: fields.peak,
    peakBytes: fields.peakBytes,
    measured: fields.measured ?? undefined,
    heldFrom: sections.integers("heldFrom"),
    held: sections.floats("held"),
    unknown: fields.unknown,
    remark: fields.remark,
    kinds: fields.kinds,
    unusedKind: fields.unusedKind,
    unusedWhy: fields.unusedWhy,
    given: fields.given,
    actions: fields.actions,
    whatIf: fields.whatIf,
    steps: column("steps"),
    stepNames: column("stepNames"),
    count: born.length,
    node: column("node"),
    nameOf: column("name"),
    bytes: sections.floats("bytes"),
    kind: column("kind"),
    born,
    last,
    read: last.map((at, i) => at - unread[i]),
    byEnd: Int32Array.from(last.keys()).sort((a, b) => last[a] - last[b]),
    slot: column("slot"),
    slotCount: fields.slots,
    output: column("output"),
    type: column("type"),
    why: column("why"),
    module: column("module"),
    source: column("source"),
    strings: sections.strings("strings"),
  };
}

/** Bytes that are reserved at a position, in use or not; 0 if nothing is. */
export function heldAt({ heldFrom, held }: MemoryData, position: number): number {
  let low = 0;
  let high = heldFrom.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (heldFrom[middle] <= position) low = middle + 1;
    else high = middle;
  }
  return low > 0 ? held[low - 1] : 0;
}

/** Which of two buffers in one memory represents it: the larger, of equal ones the younger, then the one that ends first. */
export function comesFirst({ bytes, born, last }: MemoryData, a: number, b: number): boolean {
  const [one, other] = [bytes[a] || 0, bytes[b] || 0];
  if (one !== other) return one > other;
  if (born[a] !== born[b]) return born[a] > born[b];
  return last[a] !== last[b] ? last[a] < last[b] : a < b;
}

/** A source line without its directories: "/home/me/train.py:39 loss" is "train.py:39 loss". */
export function shortSource(source: string): string {
  return source.replace(/^.*[/\\](?=[^/\\]*:\d)/, "");
}
