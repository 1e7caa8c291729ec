/** What the page and the engine exchange about passes. */
import type { StepKind } from "../../core/program/recording/history";
import type { Change, Evidence } from "../../core/program/recording/types";
import type { NodeName } from "./protocol";

/** Which program of a recording is shown, and whether what the pass did is coloured. */
export interface PassRequest {
  readonly index: number;
  readonly mode: "before" | "after" | "overlay";
  readonly colours: boolean;
  /** Reveal the first node that the pass changed. */
  readonly revealChange?: boolean;
}

/** Nodes before a pass and nodes after it: as many of them as a person reads, and how many there are. */
interface Became {
  readonly old: readonly NodeName[];
  readonly oldCount: number;
  readonly new: readonly NodeName[];
  readonly newCount: number;
}

/** Which of the passes that were looked at changed nodes that a query matches: added or changed them, or removed them. */
export interface TouchingPasses {
  readonly passes: readonly number[];
  /** The first of them after which the query matches any node. */
  readonly first?: number;
  readonly problem?: string;
  /** Where to look next; -1: all passes were looked at. */
  readonly next: number;
}

/** What a pass did to a node, by names. */
export interface HistoryRow extends Became {
  readonly pass: number;
  readonly name: string;
  readonly kind: StepKind;
  readonly evidence?: Evidence;
  readonly rule?: string;
  readonly place?: string;
  readonly changes: readonly Change[];
}

/** The same changes in modules that are alike (see `ModuleChanges`), and the first of the nodes. */
export interface ModuleChangesRow {
  readonly place: string;
  readonly what: string;
  readonly inside: boolean;
  readonly first: NodeName;
  /** It is a node of the program after the pass, not one that is gone. */
  readonly after: boolean;
}

/** How many nodes of an operation were added, removed and changed. */
export interface OpChanges {
  readonly op: string;
  readonly added: number;
  readonly removed: number;
  readonly changed: number;
}

export interface PassFacts {
  readonly pass: number;
  /** How nodes were matched, in words. */
  readonly basis: string;
  /** Nodes of the entry before and after: not those in graphs that it calls. */
  readonly entry: readonly [number, number];
  readonly byModule: readonly ModuleChangesRow[];
  /** The most affected first. */
  readonly byOp: readonly OpChanges[];
  readonly added: readonly NodeName[];
  readonly addedCount: number;
  readonly removed: readonly NodeName[];
  readonly removedCount: number;
  readonly changed: readonly (NodeName & { readonly fields: readonly string[] })[];
  readonly changedCount: number;
  /** How many of the changed nodes are in another scope or graph now. */
  readonly movedCount: number;
  /** What the compiler reported: these nodes became those, by a rule. */
  readonly rewrites: readonly (Became & { readonly rule: string })[];
  readonly rewriteCount: number;
  /** Nodes that are gone and what is in their place, as comparing found; undecided: one of these. */
  readonly replaced: readonly (Became & { readonly decided: boolean })[];
  readonly replacedCount: number;
  readonly fusions: readonly { readonly node: NodeName; readonly count: number; readonly parts: readonly NodeName[] }[];
  readonly fusionCount: number;
}

/** In sentences: why the compiler fused a node, or did not, and what its autotuner chose. */
export interface NodeReasons {
  readonly fusion: readonly string[];
  readonly autotuning: readonly string[];
  /** Did the compiler note reasons at all? */
  readonly noted: boolean;
}

export const NO_REASONS: NodeReasons = { fusion: [], autotuning: [], noted: false };

/** Whether a producer and a consumer were fused, and what was noted about both; undefined if nothing was. */
export interface PairReasons {
  readonly producer: string;
  readonly consumer: string;
  readonly fused: boolean;
  readonly sentences: readonly string[];
}
