/** From a view and the places of its boxes to a scene: styles by number, curves, arrow heads, labels, legend. */
import { bytesText } from "../text/quantities";
import { textWidth } from "../text/measure";
import { EdgeKind, type ProgramData, type Visible } from "../program/types";
import { isGroup, SMALL } from "./boxText";
import { smooth } from "./curves";
import { edgeLabels } from "./labels";
import { categoryRows, LEGEND_HEIGHT, placeLegend, TEXT_AT } from "./legend";
import { shapeOf } from "./measure";
import { mixOf, noMix } from "./categoryShares";
import { overlayRows, overlayTexts } from "./fileOverlays";
import { categoryPaints } from "./categoryFill";
import { depths, type Placed } from "./placed";
import { type Regions, regionsOf } from "./regions";
import { type Scene, type SceneOptions, Shape } from "./types";

const MEGABYTE = 1 << 20;

export function buildScene(program: ProgramData, visible: Visible, placed: Placed, options: SceneOptions = {}): Scene {
  const margin = options.margin ?? 24;
  const direction = options.direction ?? "TB";
  const count = placed.box.length;
  const paints = options.paints ?? categoryPaints(program, visible);
  const shape = new Uint8Array(count);
  const paint = new Uint8Array(count);
  for (let item = 0; item < count; item++) {
    const box = placed.box[item];
    shape[item] = shapeOf(visible, box);
    paint[item] = paints[box];
  }
  // Where other colours have the say, those of categories would mean something else.
  const mix = options.paints ? noMix(visible) : mixOf(program, visible);
  const depth = Uint8Array.from(depths(placed.parent), (level) => Math.min(level, 255));
  const { highlights } = options;
  const custom = perItem(placed.box, highlights?.box);
  const rows = [
    ...(options.legendRows ?? categoryRows(paint, shape, custom, highlights?.paints, mix.shares)),
    ...overlayRows(program, visible),
  ];
  const legend = options.legend ? placeLegend(rows, placed.width, visible.remarks) : { entries: [], rows: 0 };
  const graphHeight = placed.height + 2 * margin;
  const withHead = (e: number) => placed.edgeTarget[e] >= 0 && visible.edgeKind[placed.edge[e]] !== EdgeKind.Link;
  const curves = smooth(shifted(placed.points, margin), placed.pointStart, direction === "LR", withHead);
  const overlay = overlayTexts(program, visible);
  const edges = edgeColumns(program, visible, placed, overlay.tooltips);
  const numbers = placed.labels.after([], margin);
  const unlabelled: Scene = {
    width: Math.max(placed.width, ...legend.entries.map((entry) => entry.x + TEXT_AT + textWidth(entry.text, SMALL))) + 2 * margin,
    height: graphHeight + legend.rows * LEGEND_HEIGHT,
    direction,
    boxCount: count,
    box: placed.box,
    x: shifted(placed.x, margin),
    y: shifted(placed.y, margin),
    w: placed.w,
    h: placed.h,
    shape,
    paint,
    depth,
    parent: placed.parent,
    emphasis: emphasised(visible, placed, options),
    custom,
    customs: highlights?.paints ?? [],
    kind: visible.kind,
    group: visible.kind.map((_, box) => (isGroup(visible, box) ? 1 : 0)),
    expandable: visible.expandable,
    repeat: visible.repeat,
    key: visible.key,
    title: visible.title,
    subtitle: visible.subtitle,
    notes: visible.notes,
    rows: visible.rows,
    growth: visible.growth,
    corners: options.corners,
    mixRow: mix.row,
    mixShares: mix.shares,
    measures: options.measures ?? [],
    ...paintOrder(shape, depth),
    edgeCount: placed.edge.length,
    edge: placed.edge,
    edgeSource: placed.edgeSource,
    edgeTarget: placed.edgeTarget,
    ...edges,
    edgeShade: perItem(placed.edge, highlights?.edge),
    edgeShades: highlights?.shades ?? [],
    ...curves,
    labels: numbers,
    regions: options.regions ? moved(regionsOf(program, visible, placed), margin) : undefined,
    legendRows: rows,
    legend: legend.entries.map((entry) => ({ ...entry, x: entry.x + margin, y: entry.y + graphHeight - 4 })),
    remarks: visible.remarks,
  };
  const labels = edgeLabels(unlabelled, {
    words: (e) => overlay.labels.get(placed.edge[e]) ?? visible.edgeText?.[placed.edge[e]],
    operand: visible.edgeOperand,
    showOperands: options.operands,
  });
  return { ...unlabelled, labels: numbers.after(labels, 0) };
}

function moved(regions: Regions | undefined, by: number): Regions | undefined {
  return regions && { ...regions, x: shifted(regions.x, by), y: shifted(regions.y, by) };
}

function emphasised(visible: Visible, placed: Placed, { emphasis: keys, strong }: SceneOptions): Uint8Array {
  if (!keys?.size && !strong) return new Uint8Array(placed.box.length);
  return Uint8Array.from(placed.box, (box) => (keys?.has(visible.key[box]) ? 1 : strong?.[box] ? 2 : 0));
}

/** Numbers of the view's boxes or edges, for the items that show them. */
function perItem(of: Int32Array, numbers: Int16Array | undefined): Int16Array {
  const items = new Int16Array(of.length).fill(-1);
  if (numbers) for (let item = 0; item < of.length; item++) items[item] = numbers[of[item]];
  return items;
}

function shifted(points: Float64Array, by: number): Float64Array {
  const moved = new Float64Array(points.length);
  for (let i = 0; i < points.length; i++) moved[i] = points[i] + by;
  return moved;
}

/** Frames from the outside in (a counting sort by depth), then the rest in the view's order. */
function paintOrder(shape: Uint8Array, depth: Uint8Array): { order: Int32Array; frameCount: number } {
  const starts = new Int32Array(257);
  let frameCount = 0;
  for (let box = 0; box < shape.length; box++) {
    if (shape[box] !== Shape.Frame) continue;
    starts[depth[box] + 1]++;
    frameCount++;
  }
  for (let level = 0; level < 256; level++) starts[level + 1] += starts[level];
  const order = new Int32Array(shape.length);
  let rest = frameCount;
  for (let box = 0; box < shape.length; box++) {
    order[shape[box] === Shape.Frame ? starts[depth[box]]++ : rest++] = box;
  }
  return { order, frameCount };
}

type EdgeColumns = Pick<Scene, "edgeKind" | "edgeWidth" | "edgeType" | "typeTexts" | "edgeMerged">;

/** What the view has about every edge item, and its line width. */
function edgeColumns(program: ProgramData, visible: Visible, placed: Placed, overlayTips: ReadonlyMap<number, string>): EdgeColumns {
  const count = placed.edge.length;
  const columns = {
    edgeKind: new Uint8Array(count),
    edgeWidth: new Float32Array(count).fill(1),
    edgeType: new Int32Array(count).fill(-1),
    edgeMerged: new Int32Array(count),
    typeTexts: [] as string[],
  };
  const textOf = new Map<number, number>();
  for (let item = 0; item < count; item++) {
    const e = placed.edge[item];
    columns.edgeKind[item] = visible.edgeKind[e];
    columns.edgeMerged[item] = visible.edgeDistinct[e];
    const tip = overlayTips.get(e);
    if (tip !== undefined) {
      columns.edgeWidth[item] = program.looks!.overlays[visible.edgeOutput[e]].width;
      columns.edgeType[item] = columns.typeTexts.push(tip) - 1;
    }
    if (visible.edgeKind[e] !== EdgeKind.Data && visible.edgeKind[e] !== EdgeKind.Carried) continue;
    const type = typeOf(program, visible.edgeNode[e], visible.edgeOutput[e]);
    columns.edgeWidth[item] = lineWidth(type < 0 ? 0 : program.types.bytes[type]);
    if (type < 0) continue;
    let at = textOf.get(type);
    if (at === undefined) {
      at = columns.typeTexts.push(typeText(program, type)) - 1;
      textOf.set(type, at);
    }
    columns.edgeType[item] = at;
  }
  return columns;
}

/** "f32[2, 3] · 24 B" */
function typeText({ strings, types }: ProgramData, type: number): string {
  const bytes = types.bytes[type];
  return bytes >= 0 ? `${strings.at(types.text[type])} · ${bytesText(bytes)}` : strings.at(types.text[type]);
}

/** Row of the type table for a value, or -1 (a whole tuple has no one type). */
function typeOf(program: ProgramData, node: number, output: number): number {
  if (node < 0) return -1;
  const start = program.outputs.start[node];
  const outputs = program.outputs.start[node + 1] - start;
  if (output < 0 ? outputs !== 1 : output >= outputs) return -1;
  return program.outputs.value[start + Math.max(output, 0)];
}

/** Four steps are enough to see where the bytes go. */
function lineWidth(bytes: number): number {
  if (bytes >= 256 * MEGABYTE) return 2.6;
  if (bytes >= 16 * MEGABYTE) return 2;
  return bytes >= MEGABYTE ? 1.5 : 1.1;
}
