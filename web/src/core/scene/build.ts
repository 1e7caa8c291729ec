/** From a view and its layout to a scene: styles by number, curves, arrow heads, labels, legend. */
import type { CompoundLayout } from "../layout/types";
import { BoxKind, EdgeKind, type ProgramData, type Visible } from "../types";
import { smooth } from "./curves";
import { legendOf, LEGEND_HEIGHT } from "./legend";
import { isGroup } from "./boxText";
import { shapeOf } from "./measure";
import { PAINT_GROUP, PAINT_STUB, type Scene, type SceneLabel, type SceneOptions, Shape } from "./types";

const MEGABYTE = 1 << 20;

export function buildScene(program: ProgramData, visible: Visible, layout: CompoundLayout, options: SceneOptions = {}): Scene {
  const margin = options.margin ?? 24;
  const direction = options.direction ?? "TB";
  const count = visible.boxCount;
  const shape = new Uint8Array(count);
  const paint = new Uint8Array(count);
  for (let box = 0; box < count; box++) {
    shape[box] = shapeOf(visible, box);
    paint[box] = options.paints?.[box] ?? paintOf(visible, box);
  }
  const depth = depths(visible);
  const order = paintOrder(shape, depth);
  const edges = edgeColumns(program, visible);
  const points = shifted(layout.points, margin, margin);
  const curves = smooth(points, layout.pointStart, direction === "LR", () => true);
  const legend = options.legend ? legendOf(paint, shape) : [];
  const graphHeight = layout.height + 2 * margin;
  return {
    width: layout.width + 2 * margin,
    height: graphHeight + (legend.length ? LEGEND_HEIGHT : 0),
    direction,
    boxCount: count,
    box: Int32Array.from({ length: count }, (_, i) => i),
    x: layout.x.map((x) => x + margin),
    y: layout.y.map((y) => y + margin),
    w: layout.w,
    h: layout.h,
    shape,
    kind: visible.kind,
    paint,
    depth,
    parent: visible.parent,
    expandable: visible.expandable,
    repeat: visible.repeat,
    key: visible.key,
    title: visible.title,
    subtitle: visible.subtitle,
    notes: visible.notes,
    ...order,
    edgeCount: visible.edgeCount,
    edge: Int32Array.from({ length: visible.edgeCount }, (_, e) => e),
    edgeSource: visible.edgeSource,
    edgeTarget: visible.edgeTarget,
    edgeKind: visible.edgeKind,
    edgeReversed: layout.reversed,
    edgeMerged: visible.edgeCountMerged,
    ...edges,
    ...curves,
    labels: countLabels(visible, curves.curve, curves.curveStart),
    legend,
    legendAt: legend.length ? { x: margin, y: graphHeight } : undefined,
    remarks: visible.remarks,
  };
}

function paintOf(visible: Visible, box: number): number {
  const kind = visible.kind[box];
  if (kind === BoxKind.Stub || kind === BoxKind.Omitted) return PAINT_STUB;
  return isGroup(kind) ? PAINT_GROUP : visible.category[box];
}

function shifted(points: Float64Array, dx: number, dy: number): Float64Array {
  const moved = new Float64Array(points.length);
  for (let i = 0; i < points.length; i += 2) {
    moved[i] = points[i] + dx;
    moved[i + 1] = points[i + 1] + dy;
  }
  return moved;
}

/** Number of frames around each box. Parents may stand before or after their children. */
function depths(visible: Visible): Uint8Array {
  const depth = new Int16Array(visible.boxCount).fill(-1);
  const trail: number[] = [];
  for (let start = 0; start < visible.boxCount; start++) {
    let box = start;
    while (box >= 0 && depth[box] < 0) {
      trail.push(box);
      box = visible.parent[box];
    }
    let level = box < 0 ? 0 : depth[box] + 1;
    while (trail.length) depth[trail.pop()!] = level++;
  }
  return Uint8Array.from(depth, (level) => Math.min(level, 255));
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

/** Width and type of every edge. */
function edgeColumns(program: ProgramData, visible: Visible): Pick<Scene, "edgeWidth" | "edgeType" | "typeTexts"> {
  const edgeWidth = new Float32Array(visible.edgeCount);
  const edgeType = new Int32Array(visible.edgeCount).fill(-1);
  const typeTexts: string[] = [];
  const seen = new Map<number, number>();
  for (let e = 0; e < visible.edgeCount; e++) {
    edgeWidth[e] = visible.edgeKind[e] === EdgeKind.Data ? 1.1 : 1;
    const node = visible.edgeNode[e];
    const output = visible.edgeOutput[e];
    if (node < 0 || visible.edgeKind[e] !== EdgeKind.Data) continue;
    const start = program.outputs.start[node];
    const outputs = program.outputs.start[node + 1] - start;
    if (output < 0 ? outputs !== 1 : output >= outputs) continue;
    const type = program.outputs.value[start + Math.max(output, 0)];
    edgeWidth[e] = lineWidth(program.types.bytes[type]);
    let at = seen.get(type);
    if (at === undefined) {
      at = typeTexts.push(program.strings.at(program.types.text[type])) - 1;
      seen.set(type, at);
    }
    edgeType[e] = at;
  }
  return { edgeWidth, edgeType, typeTexts };
}

/** Four steps are enough to see where the bytes go. */
function lineWidth(bytes: number): number {
  if (bytes >= 256 * MEGABYTE) return 2.6;
  if (bytes >= 16 * MEGABYTE) return 2;
  return bytes >= MEGABYTE ? 1.5 : 1.1;
}

/** "×3" beside the middle of lines that stand for several. */
function countLabels(visible: Visible, curve: Float64Array, curveStart: Int32Array): SceneLabel[] {
  const labels: SceneLabel[] = [];
  for (let e = 0; e < visible.edgeCount; e++) {
    const merged = visible.edgeCountMerged[e];
    const pieces = (curveStart[e + 1] - curveStart[e] - 1) / 3;
    if (merged < 2 || pieces < 1) continue;
    const p = curveStart[e] + 3 * Math.floor((pieces - 1) / 2);
    labels.push({ edge: e, x: halfway(curve, p, 0), y: halfway(curve, p, 1), text: `×${merged}`, kind: "count" });
  }
  return labels;
}

function halfway(curve: Float64Array, p: number, axis: 0 | 1): number {
  const at = (i: number) => curve[2 * (p + i) + axis];
  return (at(0) + 3 * at(1) + 3 * at(2) + at(3)) / 8;
}

