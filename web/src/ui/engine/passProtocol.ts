/** What the page and the engine exchange about passes. */
import type { Change, Evidence } from "../../core/program/recording/types";
import type { NodeName } from "./protocol";

/** Which program of a recording is shown, and whether what the pass did is coloured. */
export interface PassRequest {
  readonly index: number;
  readonly mode: "before" | "after" | "overlay";
  readonly colours: boolean;
}

/** What a pass did to a node, by names: as many of the nodes before and after as a person reads. */
export interface HistoryRow {
  readonly pass: number;
  readonly name: string;
  readonly kind: "added" | "removed" | "changed" | "fused" | "became";
  readonly old: readonly NodeName[];
  readonly oldCount: number;
  readonly new: readonly NodeName[];
  readonly newCount: number;
  readonly evidence?: Evidence;
  readonly rule?: string;
  readonly place?: string;
  readonly changes: readonly Change[];
}

export interface PassFacts {
  readonly pass: number;
  readonly added: readonly NodeName[];
  readonly addedCount: number;
  readonly removed: readonly NodeName[];
  readonly removedCount: number;
  readonly changed: readonly (NodeName & { readonly fields: readonly string[] })[];
  readonly changedCount: number;
  /** What the compiler reported: these nodes became those, by a rule. */
  readonly rewrites: readonly {
    readonly old: readonly NodeName[];
    readonly oldCount: number;
    readonly new: readonly NodeName[];
    readonly newCount: number;
    readonly rule: string;
  }[];
  readonly rewriteCount: number;
  readonly fusions: readonly { readonly node: NodeName; readonly count: number; readonly parts: readonly NodeName[] }[];
  readonly fusionCount: number;
}
