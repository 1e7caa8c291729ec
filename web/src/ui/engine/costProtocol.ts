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

/** A group or a node that a panel shows. Its place leads to it on the graph. */
export interface CellPlace extends ModulePlace {
  readonly key: string;
  readonly name: string;
  readonly isGroup: boolean;
}

export interface CostCell extends CellPlace {
  readonly depth: number;
  /** Where it begins and how wide it is, as a part of the whole width. */
  readonly from: number;
  readonly width: number;
  readonly text: string;
  /** Of the whole graph; of a change, of the graph before it. */
  readonly share: number;
  /** Of everything, or of everything that changed; with the sign of a change. */
  readonly part: number;
}

export interface CostView {
  /** What was chosen, and what there is to choose from. */
  readonly metric: string;
  readonly origin: string;
  readonly metrics: readonly string[];
  readonly grouping: string;
  readonly total: string;
  /** What got more, and what got less, of a change; empty otherwise. */
  readonly more: string;
  readonly less: string;
  readonly cells: readonly CostCell[];
  /** Operations whose amount is unknown. */
  readonly unknown: number;
}

export interface RooflineRequest {
  /** Undefined: measured time if there is any. */
  readonly metric: string | undefined;
  /** Undefined: a point for each node. */
  readonly grouping: string | undefined;
  readonly graph: string;
}

export interface RooflineCell extends CellPlace {
  /** The modules around it. */
  readonly where: string;
  /** FLOPs per byte and per second; NaN: it computes nothing, and is only in the list. */
  readonly intensity: number;
  readonly rate: number;
  readonly text: string;
  readonly share: number;
  /** The time at the limits of the device, and the part of the graph's time that it would save; empty and NaN if unknown. */
  readonly best: string;
  readonly gain: number;
}

/** What to look at first: cells that are alike in every repeated layer count together. */
export interface Gain {
  /** The slowest of them, and how many they are. */
  readonly cell: RooflineCell;
  readonly count: number;
  readonly name: string;
  readonly where: string;
  /** Of all of them: the time, that at the limits of the device (empty if unknown), and the part of the whole step. */
  readonly text: string;
  readonly best: string;
  readonly part: number;
}

export interface RooflineView {
  readonly metric: string;
  readonly origin: string;
  readonly metrics: readonly string[];
  readonly total: string;
  /** Those that would save most on the device; without an estimate, those that take most (`hasGains` is false). */
  readonly gains: readonly Gain[];
  readonly hasGains: boolean;
  /** What the shares of the list are of: "12.3 ms with idle time". */
  readonly whole: string;
  /** How long the device had nothing to do, if that was measured and is worth a look: "8.02 ms", and its part of the whole. */
  readonly idle: { readonly text: string; readonly part: number } | undefined;
  /** How much time has no estimate; empty if all has, or none. */
  readonly unjudged: string;
  /** The slowest first; and how many more there are. */
  readonly cells: readonly RooflineCell[];
  readonly more: number;
  readonly device: { readonly title: string; readonly bandwidth: number; readonly roofs: readonly Roof[] } | undefined;
}

export interface Roof {
  readonly name: string;
  readonly rate: number;
}

export interface CostMethods {
  /** Undefined: there is nothing that sums up. */
  cost(params: CostRequest): CostView | undefined;
  /** Undefined: nothing has a time. */
  roofline(params: RooflineRequest): RooflineView | undefined;
  /**
   * The cells that contain a node, or else the box with this key, the innermost first: one list, or one for each repeat of a stack. Of
   * what a panel was answered last.
   */
  cellsAt(params: {
    readonly of: "cost" | "roofline";
    readonly key: string;
    readonly node: number | undefined;
  }): readonly (readonly string[])[];
}
