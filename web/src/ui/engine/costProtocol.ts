/** What the page and the engine exchange about costs. */
import type { ModulePlace } from "./protocol";

export interface CostRequest {
  /** Undefined: the first of measured time, estimated time, FLOPs and bytes that the program has. */
  readonly metric: string | undefined;
  readonly grouping: string | undefined;
  readonly graph: string;
  /** The key of the cell that fills the width; empty: the graph. */
  readonly root: string;
}

/** A group or a node of the icicle. Its place leads to it on the graph. */
export interface CostCell extends ModulePlace {
  readonly key: string;
  readonly name: string;
  readonly depth: number;
  /** Where it begins and how wide it is, as a part of the whole width. */
  readonly from: number;
  readonly width: number;
  readonly text: string;
  /** Of the whole graph. */
  readonly share: number;
  readonly isGroup: boolean;
}

export interface CostView {
  /** What was chosen, and what there is to choose from. */
  readonly metric: string;
  readonly origin: string;
  readonly metrics: readonly string[];
  readonly grouping: string;
  readonly total: string;
  readonly cells: readonly CostCell[];
  /** Operations whose amount is unknown. */
  readonly unknown: number;
}

export interface CostMethods {
  /** Undefined: there is nothing that sums up. */
  cost(params: CostRequest): CostView | undefined;
  /** The cells that contain a node, or else the box with this key, the innermost first; of what `cost` answered last. */
  costCells(params: { readonly key: string; readonly node: number | undefined }): readonly string[];
}
