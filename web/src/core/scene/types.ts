/**
 * The scene: what any painter draws. Plain data (typed arrays and string lists), so that it can be transferred from a worker to the
 * page, and indexed by item, so that 100,000 boxes are megabytes and not objects.
 *
 * The *text* of a box is computed only when it is painted (`boxTexts` of boxText.ts), because most boxes are off screen.
 * Its *colour* is a row of the theme's table (theme.ts), so that changing the theme does not change the scene.
 */
import type { LabelColumns } from "./labelColumns";
import type { Regions } from "./regions";
import type { Shade } from "../base/colour";
import { CATEGORIES, type LabelRow } from "../program/types";

/** How an item is drawn. Card: rounded box. Pill: fully round (parameters, constants, stubs). Frame: an open group. Stack: cards on cards. */
export const enum Shape {
  Card = 0,
  Pill = 1,
  Frame = 2,
  Stack = 3,
}

/** Rows of `Theme.paints` after the categories of types.ts (which are rows 0 … CATEGORIES.length-1). */
export const PAINT_GROUP = CATEGORIES.length;
export const PAINT_STUB = PAINT_GROUP + 1;
export const PAINT_VALUE = PAINT_GROUP + 2;
export const PAINT_ADDED = PAINT_GROUP + 3;
export const PAINT_REMOVED = PAINT_GROUP + 4;
export const PAINT_CHANGED = PAINT_GROUP + 5;
export const PAINT_SAME = PAINT_GROUP + 6;

export interface Scene {
  readonly width: number;
  readonly height: number;
  readonly direction: "TB" | "LR";

  /** Items 0 … visible.boxCount-1 are the view's boxes by number; items after them continue a frame that was wrapped. */
  readonly boxCount: number;
  /** The view's box that an item shows. */
  readonly box: Int32Array;
  readonly x: Float64Array;
  readonly y: Float64Array;
  readonly w: Float64Array;
  readonly h: Float64Array;
  readonly shape: Uint8Array;
  /** Row of `Theme.paints`. */
  readonly paint: Uint8Array;
  /** How many frames an item is in. */
  readonly depth: Uint8Array;
  readonly parent: Int32Array;
  /** Strong borders. 1: the subject of the picture (the node that was asked for). 2: the hottest of a metric. */
  readonly emphasis: Uint8Array;
  /** Colours that a person chose (rules, data): a row of `customs`, or -1. */
  readonly custom: Int16Array;
  readonly customs: readonly CustomPaint[];

  /** From here to `mixRow`: indexed by the view's box number. */
  readonly kind: Uint8Array;
  /** 1: a group or a stack of groups, not an operation. */
  readonly group: Uint8Array;
  readonly expandable: Uint8Array;
  readonly repeat: Int32Array;
  readonly key: readonly string[];
  readonly title: readonly string[];
  readonly subtitle: readonly string[];
  readonly notes: readonly (readonly string[] | undefined)[];
  /** What the option `label` writes on boxes. */
  readonly rows?: readonly (readonly LabelRow[] | undefined)[] | undefined;
  /** How much larger than usual boxes are. */
  readonly growth?: Float64Array | undefined;
  /** What is written on the corner of each box; empty: nothing. */
  readonly corners?: readonly string[] | undefined;
  /** Row of `mixShares` (shares by category, one row per collapsed group), or -1. */
  readonly mixRow: Int32Array;
  readonly mixShares: Float32Array;
  /** The numbers behind the colours. */
  readonly measures: readonly BoxMeasure[];
  /** Order to paint in: first `frameCount` frames from the outside in, then (after the edges) everything else. */
  readonly order: Int32Array;
  readonly frameCount: number;

  readonly edgeCount: number;
  /** The view's edge that this one shows (wrapping cuts an edge into two). */
  readonly edge: Int32Array;
  /** Box items at the ends; -1: it ends at a cut label. */
  readonly edgeSource: Int32Array;
  readonly edgeTarget: Int32Array;
  /** EdgeKind of types.ts: data solid, control dotted, link dashed. */
  readonly edgeKind: Uint8Array;
  /** Line width in pixels: big tensors are thicker. */
  readonly edgeWidth: Float32Array;
  /** What flows: an index into `typeTexts`, or -1. */
  readonly edgeType: Int32Array;
  readonly typeTexts: readonly string[];
  /** How many different values it carries. */
  readonly edgeMerged: Int32Array;
  /** A colour that a person chose: a row of `edgeShades`, or -1. */
  readonly edgeShade: Int16Array;
  readonly edgeShades: readonly Shade[];
  /**
   * Cubic curve of edge e: points curveStart[e] … curveStart[e+1]-1 (x = curve[2p], y = curve[2p+1]): a start point, then two
   * control points and an end point per segment.
   */
  readonly curve: Float64Array;
  readonly curveStart: Int32Array;
  /** Tip of the arrow head, whose base is the curve's end: (tip[2e], tip[2e+1]). NaN: no head. */
  readonly tip: Float64Array;

  readonly labels: LabelColumns;
  /** Names of groups for a map, where boxes are without frames; screens only. */
  readonly regions?: Regions | undefined;
  /** What the colours mean. */
  readonly legendRows: readonly LegendRow[];
  /** The same at their places below the graph, with the remarks; empty unless requested. */
  readonly legend: readonly LegendEntry[];
  readonly remarks: readonly string[];
}

/** A small text at a place: the count of a merged edge, or the number that joins the two ends of an edge cut by wrapping. */
export interface SceneLabel {
  readonly edge: number;
  readonly x: number;
  readonly y: number;
  readonly text: string;
  /** "count": text with a halo on the line. "cut": a number in a small circle at a cut end. "operand": plain, at a head. */
  readonly kind: "count" | "cut" | "operand";
  /** The frame that it lies on (its colour is the halo), or -1. */
  readonly ground?: number;
}

/** Colours of a box instead of those of its category; what is absent stays as it is. */
export interface CustomPaint {
  readonly fill?: Shade;
  readonly stroke?: Shade;
  readonly text?: Shade;
}

/** Colours that a person chose for a view: rows of `paints` by box and of `shades` by edge, -1 for none. */
export interface Highlights {
  readonly paints: readonly CustomPaint[];
  readonly box: Int16Array;
  readonly shades: readonly Shade[];
  readonly edge: Int16Array;
}

/** One line of a legend: a row of `Theme.paints`, another colour, or only text. */
export interface LegendRow {
  readonly text: string;
  readonly paint?: number;
  readonly shade?: Shade;
  /** Part of a scale: next to its neighbours without a gap. */
  readonly scale?: boolean;
}

export interface LegendEntry {
  /** Row of `Theme.paints`, or -1: a remark without a swatch. */
  readonly paint: number;
  readonly shade?: Shade;
  readonly text: string;
  readonly x: number;
  readonly y: number;
}

/** One line of text at its place. `y` is the baseline. */
export interface TextRun {
  readonly x: number;
  readonly y: number;
  readonly text: string;
  readonly size: number;
  readonly bold: boolean;
  readonly colour: "text" | "secondary" | "accent";
  readonly anchor: "start" | "middle" | "end";
  /** Measured width, so that painters can place plates and underlines without measuring again. */
  readonly width: number;
  /** The whole text where `text` was elided. */
  readonly full?: string;
  /** A small pill is drawn behind it (an inlined operand). */
  readonly pill?: boolean;
}

/** The values of a metric for the boxes of a view; NaN for none. */
export interface BoxMeasure {
  readonly name: string;
  readonly unit: string;
  readonly origin: string;
  readonly values: Float64Array;
  /** How the repeats of stacks differ, by box. */
  readonly spreads?: ReadonlyMap<number, string>;
}

/** How boxes and edges are coloured instead of by category, and what the colours mean. */
export interface Colours {
  /** Row of `Theme.paints` for each box of the view. */
  readonly paints?: Uint8Array;
  readonly highlights?: Highlights | undefined;
  /** The legend instead of the categories. */
  readonly legendRows?: readonly LegendRow[] | undefined;
  /** The numbers behind the colours, for tooltips. */
  readonly measures?: readonly BoxMeasure[] | undefined;
  /** 1: a box of the view that has a strong border. */
  readonly strong?: Uint8Array | undefined;
  /** What is written on the corner of each box of the view: its share of the whole, or how much changed in it. It needs no room in the layout. */
  readonly corners?: readonly string[] | undefined;
}

export interface SceneOptions extends Colours {
  readonly direction?: "TB" | "LR";
  /** The margin around the graph. */
  readonly margin?: number;
  /** Put a legend below the picture (for files; the page has its own). */
  readonly legend?: boolean;
  /** Name groups for a map. */
  readonly regions?: boolean;
  /** Numbers at the heads of edges whose order matters; undefined: where there are few. */
  readonly operands?: boolean | undefined;
  /** Keys of the boxes that are the subject of the picture. */
  readonly emphasis?: ReadonlySet<string>;
}
