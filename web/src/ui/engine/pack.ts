/** From a view and its scene to what the page gets: copies that are transferred whole, with the indexes that painting and picking need. */
import { sortByKey, upTo } from "../../core/base/arrays";
import { bucketBy, type Csr } from "../../core/base/csr";
import type { CompoundLayout } from "../../core/layout";
import type { Scene } from "../../core/scene/types";
import type { Visible } from "../../core/program/types";
import { packDistinct, packTexts } from "../../core/text/packedTexts";
import { buildSpatial, type SpatialData } from "../canvas/spatial";
import { NOTE_BREAK, type PackedScene } from "./protocol";

export function packScene(scene: Scene): PackedScene {
  const { key, title, subtitle, notes, labels, ...columns } = scene;
  const count = key.length;
  return {
    ...copied(columns),
    keys: packTexts(count, (i) => key[i]),
    titles: packDistinct(count, (i) => title[i]),
    subtitles: packDistinct(count, (i) => subtitle[i]),
    noteTexts: packDistinct(count, (i) => notes[i]?.join(NOTE_BREAK) ?? ""),
    labels: copied(labels.columns),
  };
}

/** The same with copies of its columns, also of those in objects in it, which can be transferred. */
export function copied<Columns extends object>(columns: Columns): Columns {
  const copies = Object.entries(columns).map(([name, column]: [string, unknown]) => {
    if (ArrayBuffer.isView(column)) return [name, (column as Float64Array).slice()];
    return [name, typeof column === "object" && column !== null && !Array.isArray(column) ? copied(column) : column];
  });
  return Object.fromEntries(copies) as Columns;
}

export function indexBoxes(scene: Scene): SpatialData {
  const { x, y, w, h, boxCount } = scene;
  const right = new Float32Array(boxCount),
    bottom = new Float32Array(boxCount);
  for (let i = 0; i < boxCount; i++) {
    right[i] = x[i] + w[i];
    bottom[i] = y[i] + h[i];
  }
  return buildSpatial(new Float32Array(x), new Float32Array(y), right, bottom);
}

export function indexEdges(scene: Scene): SpatialData {
  const { curve, curveStart, edgeCount } = scene;
  const minX = new Float32Array(edgeCount),
    minY = new Float32Array(edgeCount),
    maxX = new Float32Array(edgeCount),
    maxY = new Float32Array(edgeCount);
  for (let e = 0; e < edgeCount; e++) {
    let x0 = Infinity,
      y0 = Infinity,
      x1 = -Infinity,
      y1 = -Infinity;
    for (let p = curveStart[e]; p < curveStart[e + 1]; p++) {
      x0 = Math.min(x0, curve[2 * p]);
      x1 = Math.max(x1, curve[2 * p]);
      y0 = Math.min(y0, curve[2 * p + 1]);
      y1 = Math.max(y1, curve[2 * p + 1]);
    }
    const empty = x0 > x1;
    minX[e] = empty ? 0 : x0;
    minY[e] = empty ? 0 : y0;
    maxX[e] = empty ? 0 : x1;
    maxY[e] = empty ? 0 : y1;
  }
  return buildSpatial(minX, minY, maxX, maxY);
}

/** Edges by the items at their ends. */
export function incidence({ boxCount, edgeCount, edgeSource, edgeTarget }: Scene): Csr {
  const ends = new Int32Array(2 * edgeCount);
  const edgeOf = new Int32Array(2 * edgeCount);
  for (let e = 0; e < edgeCount; e++) {
    ends[2 * e] = edgeSource[e];
    ends[2 * e + 1] = edgeTarget[e] === edgeSource[e] ? -1 : edgeTarget[e];
    edgeOf[2 * e] = edgeOf[2 * e + 1] = e;
  }
  return bucketBy(ends, boxCount, edgeOf);
}

/** Boxes as a tree in reading order, which is the order of the layout, with their depth. */
export function outlineOf(
  visible: Visible,
  { x, y }: Pick<CompoundLayout, "x" | "y">,
  direction: "TB" | "LR",
): { order: Int32Array; depth: Uint8Array } {
  const { boxCount, parent } = visible;
  const firstChild = new Int32Array(boxCount + 1).fill(-1);
  const nextSibling = new Int32Array(boxCount).fill(-1);
  const [along, across] = direction === "TB" ? [y, x] : [x, y];
  const placed = upTo(boxCount);
  const spare = new Int32Array(boxCount);
  for (const key of [across, along]) sortByKey(placed, 0, boxCount, key, spare);
  for (let i = boxCount - 1; i >= 0; i--) {
    const box = placed[i];
    const above = parent[box] < 0 ? boxCount : parent[box];
    nextSibling[box] = firstChild[above];
    firstChild[above] = box;
  }
  const order = new Int32Array(boxCount);
  const depth = new Uint8Array(boxCount);
  let count = 0,
    level = 0,
    box = firstChild[boxCount];
  while (box >= 0) {
    order[count] = box;
    depth[count++] = Math.min(255, level);
    if (firstChild[box] >= 0) {
      box = firstChild[box];
      level++;
      continue;
    }
    while (box >= 0 && nextSibling[box] < 0) {
      box = parent[box];
      level--;
    }
    if (box >= 0) box = nextSibling[box];
  }
  return { order: order.subarray(0, count).slice(), depth: depth.subarray(0, count).slice() };
}

/** All buffers in a value, to be transferred instead of copied. */
export function buffersOf(value: unknown): ArrayBuffer[] {
  const buffers = new Set<ArrayBuffer>();
  const todo: unknown[] = [value];
  while (todo.length) {
    const item = todo.pop();
    if (ArrayBuffer.isView(item)) {
      if (item.byteLength > 0) buffers.add(item.buffer as ArrayBuffer);
    } else if (item !== null && typeof item === "object" && !Array.isArray(item)) todo.push(...Object.values(item));
  }
  return [...buffers];
}
