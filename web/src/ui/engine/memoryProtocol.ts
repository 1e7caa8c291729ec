/** What the page and the engine exchange about memory. */
import type { GroupedBy } from "../../core/memory/live";
import type { MemoryData, WhatIf } from "../../core/memory/memory";
import type { Usage } from "../../core/memory/usage";
import type { NodeName, WireAt } from "./protocol";

export interface MemorySummary
  extends Pick<
    MemoryData,
    "origin" | "peak" | "peakBytes" | "measured" | "unknown" | "remark" | "kinds" | "unusedKind" | "unusedWhy" | "given" | "actions"
  > {
  readonly steps: number;
  /** The most bytes in use at one point, and the most that are reserved. */
  readonly mostBytes: number;
  readonly mostHeld: number;
}

/** The memory with changes: the most bytes in use at one point, and what the changes cost. */
export interface WhatIfSummary extends WhatIf {
  readonly mostBytes: number;
}

/** With a what-if question answered: the bytes in use with its changes, by column. */
export interface LaneUsage extends Usage {
  readonly changed: Float64Array | undefined;
}

/** A node, or the name of something that ran and is not one. */
export type Named = NodeName | { readonly node: -1; readonly id: string };

/** A point of the run. */
export interface StepFacts {
  readonly position: number;
  /** Undefined before the first step and after the last. */
  readonly runs: Named | undefined;
  readonly bytes: number;
  /** Bytes by kind, in the order of the kinds. */
  readonly byKind: Float64Array;
}

export interface LiveSummary extends StepFacts {
  /** Lines of the list, which `memoryRows` gives. */
  readonly lines: number;
}

/** A line of the list of buffers: a group with the sum of its buffers, equal buffers of repeated layers, or a buffer. */
export interface LiveRow {
  readonly group?: string;
  /** How many buffers the line represents. */
  readonly count: number;
  /** Of all of them together; -1: unknown. */
  readonly bytes: number;
  /** The numbers of these buffers. */
  readonly numbers?: readonly number[];
  /** Of equal buffers: the name by which they are opened, the ids of the nodes that make them, and the bytes of each. `buffer` is the first. */
  readonly repeats?: { readonly key: string; readonly ids: readonly string[]; readonly each: number };
  /** The buffers of the line as a what-if question names them: with their graph where several graphs have a node of that id. */
  readonly results?: readonly string[];
  readonly buffer?: {
    readonly made: Named;
    readonly output: string;
    readonly kind: string;
    readonly type: string;
    readonly why: string;
    readonly module: string;
    readonly source: string;
    readonly lastUse: Named | undefined;
    /** It is in the same memory as the buffer before it. */
    readonly shares: boolean;
  };
}

/** Where a node is in the run: its position (-1: it does not run), and when each of its buffers is alive. */
export interface NodeSpans {
  readonly position: number;
  readonly spans: readonly (readonly [born: number, last: number])[];
}

export interface MemoryMethods {
  /** Reads the memory of the program that is shown; the other questions are about it. */
  memory(params: { readonly at: WireAt }): MemorySummary;
  /** Reads the memory with changes from an address; without one, forgets it. */
  memoryWhatIf(params: { readonly at: WireAt | undefined }): WhatIfSummary | undefined;
  memoryUsage(params: { readonly from: number; readonly to: number; readonly columns: number }): LaneUsage;
  memoryStep(params: { readonly position: number }): StepFacts;
  memoryLive(params: { readonly position: number; readonly by: GroupedBy; readonly toggled: readonly string[] }): LiveSummary;
  memoryRows(params: { readonly from: number; readonly to: number }): readonly LiveRow[];
  /** Nodes that run in a part of the run, as a mark for each node of the program. */
  memoryNodes(params: { readonly from: number; readonly to: number }): Uint8Array;
  memorySpans(params: { readonly node: number }): NodeSpans;
}
