/** Recordings: programs after passes, and what each pass did. */
import type { Csr, ProgramData } from "../types";

export interface PassRow {
  /** What people call it by, here and at the command line. If only some passes are here, it is not the position. */
  readonly number: number;
  readonly name: string;
  readonly pipeline: readonly string[];
  readonly module: string;
  readonly seconds: number | null;
  readonly nodes: number;
  /** Equal numbers mean equal programs. */
  readonly content: number;
  /** The pass before it of the same module, or -1. */
  readonly before: number;
  /** It is the second of two programs that are compared, not a pass. */
  readonly compares?: boolean;
  /** What the program takes at best on the device that times are estimated for. */
  readonly estimatedSeconds?: number;
  /** Absent until the passes are compared. */
  readonly added?: number;
  readonly removed?: number;
  readonly changed?: number;
  /** Nodes that became part of a node that was already there. */
  readonly merged?: number;
  /** Further copies of nodes. */
  readonly copied?: number;
  /** What differs if no node does: "3 renamed", "reordered", "annotations"; otherwise empty. */
  readonly aside?: string;
  /** The most bytes in use in the program after it; absent until somebody looks at the memory, and from pages of large recordings. */
  readonly peak?: number;
}

/** As `opscope.recording.match` names and ranks it. */
export const EVIDENCE = ["rewrite", "identity", "name", "output", "place", "slot", "neighbourhood", "similarity", "undecided"] as const;
export type Evidence = (typeof EVIDENCE)[number];

export interface Change {
  readonly field: string;
  readonly old: string;
  readonly new: string;
}

/** What a pass did, over node numbers of the programs before and after. */
export interface PassDiff {
  readonly beforeCount: number;
  /** The counterpart before the pass of each node after it, or -1. */
  readonly counterpart: Int32Array;
  /** The counterpart after the pass of each node before it, or -1. */
  readonly back: Int32Array;
  readonly evidence: Uint8Array;
  readonly added: Int32Array;
  readonly removed: Int32Array;
  /**
   * Nodes that became others without being one pair: n before, m after. With the evidence "slot" they count as removed and added; with
   * "undecided" each became one of the others.
   */
  readonly groups: { readonly old: Csr; readonly new: Csr; readonly evidence: Uint8Array; readonly rule: readonly string[] };
  /** New nodes that replace several old ones, and the graphs that each calls, as a first node and the one after the last. */
  readonly fusions: { readonly old: Csr; readonly new: Int32Array; readonly bodies: Csr };
  /** Nodes after the pass that are not identical to their counterparts. */
  readonly changed: Int32Array;
  readonly changes: ReadonlyMap<number, readonly Change[]>;
  readonly rule: ReadonlyMap<number, string>;
  /** Where a rule is written. */
  readonly places: Readonly<Record<string, string>>;
  /** How nodes were matched, in words. */
  readonly basis: string;
  /** Names were evidence, so a node that was matched in another way has lost its name. */
  readonly byName: boolean;
  /** All of added, removed and changed by module; equal changes of repeated modules are one entry. */
  readonly byModule: readonly ModuleChanges[];
}

/** The same changes in modules that are alike. */
export interface ModuleChanges {
  /** "in each of 24 layers (h.*\/mlp)" */
  readonly place: string;
  /** "−1 add, +1 multiply", in each of them. */
  readonly what: string;
  readonly modules: number;
  /** The nodes are in a graph that another calls, such as the body of a fusion. */
  readonly inside: boolean;
  /** Nodes after the pass, and nodes before it that are gone. */
  readonly added: Int32Array;
  readonly changed: Int32Array;
  readonly removed: Int32Array;
}

/** A recording with everything in it; a single program is one without passes, whose content is 0. */
export interface RecordingData {
  readonly name: string;
  readonly passes: readonly PassRow[];
  program(content: number): ProgramData;
  diff(pass: number): PassDiff | undefined;
  readonly reasons: readonly Reason[];
  readonly codes: readonly NodeCode[];
  /** The files of the user's program that came with the page, by name. */
  readonly sources: Readonly<Record<string, string>>;
}

/** The code of a kernel: in a file of the dump, or, if that is empty, in the recording. */
export interface Code {
  readonly language: string;
  readonly file: string;
  readonly text: string;
}

/** Code in the files of a dump, by the node that launches the kernel. */
export interface NodeCode extends Code {
  readonly module: string;
  readonly node: string;
}

/** What a compiler noted about nodes of a module, by their names then. */
export interface Reason {
  readonly module: string;
  /** The part of the module, if its parts were compiled one by one: each has nodes of its own, which may have the same names. */
  readonly part?: string;
  /** The nodes that it is about; of a note on fusion, the producer and its consumers. */
  readonly names: readonly string[];
  /** The fusion that they became, if they were fused. */
  readonly fusion?: string;
  readonly text: string;
  /** It is about what the autotuner chose, not about fusion. */
  readonly autotuned?: boolean;
}
