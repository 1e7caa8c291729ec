/**
 * Which of 100,000 rectangles touch this one? A loose grid in levels: an item lives in exactly one cell, of the level whose
 * cells are at least as large as it is, so building is one counting sort and a page-long edge costs as much as a small box.
 * Plain arrays, so that a worker can build it and hand it over.
 */
import { bucketBy } from "../../core/base/csr";

export interface SpatialData {
  readonly minX: Float32Array;
  readonly minY: Float32Array;
  readonly maxX: Float32Array;
  readonly maxY: Float32Array;
  readonly originX: number;
  readonly originY: number;
  /** Per level: cell size, columns, rows, first cell. */
  readonly levels: Float64Array;
  readonly cellStart: Int32Array;
  readonly items: Int32Array;
}

const CELL = 64;
const FIELDS = 4;

export function buildSpatial(minX: Float32Array, minY: Float32Array, maxX: Float32Array, maxY: Float32Array): SpatialData {
  const n = minX.length;
  let x0 = Infinity,
    y0 = Infinity,
    x1 = -Infinity,
    y1 = -Infinity;
  for (let i = 0; i < n; i++) {
    x0 = Math.min(x0, minX[i]);
    y0 = Math.min(y0, minY[i]);
    x1 = Math.max(x1, maxX[i]);
    y1 = Math.max(y1, maxY[i]);
  }
  if (n === 0) x0 = y0 = x1 = y1 = 0;
  const width = Math.max(1, x1 - x0),
    height = Math.max(1, y1 - y0);
  const smallest = Math.max(CELL, Math.sqrt((width * height) / (4 * n + 16)), width / 4096, height / 4096);
  const count = 1 + Math.max(0, Math.ceil(Math.log2(Math.max(width, height) / smallest)));
  const levels = new Float64Array(count * FIELDS);
  let cells = 0;
  for (let k = 0, size = smallest; k < count; k++, size *= 2) {
    const columns = Math.floor(width / size) + 1,
      rows = Math.floor(height / size) + 1;
    levels.set([size, columns, rows, cells], k * FIELDS);
    cells += columns * rows;
  }
  const cellOf = new Int32Array(n);
  for (let i = 0; i < n; i++) {
    const extent = Math.max(maxX[i] - minX[i], maxY[i] - minY[i]);
    const level = Math.min(count - 1, extent <= smallest ? 0 : Math.ceil(Math.log2(extent / smallest)));
    const at = level * FIELDS,
      size = levels[at],
      columns = levels[at + 1];
    const cx = Math.floor(((minX[i] + maxX[i]) / 2 - x0) / size),
      cy = Math.floor(((minY[i] + maxY[i]) / 2 - y0) / size);
    cellOf[i] = levels[at + 3] + cy * columns + cx;
  }
  const { start: cellStart, value: items } = bucketBy(cellOf, cells);
  return { minX, minY, maxX, maxY, originX: x0, originY: y0, levels, cellStart, items };
}

/** Writes the items that touch the rectangle into `out` and returns how many; stops when `out` is full. */
export function querySpatial(data: SpatialData, x0: number, y0: number, x1: number, y1: number, out: Int32Array): number {
  const { minX, minY, maxX, maxY, levels, cellStart, items } = data;
  let count = 0;
  for (let at = 0; at < levels.length; at += FIELDS) {
    const size = levels[at],
      columns = levels[at + 1],
      rows = levels[at + 2],
      first = levels[at + 3];
    const c0 = Math.max(0, Math.floor((x0 - size / 2 - data.originX) / size));
    const c1 = Math.min(columns - 1, Math.floor((x1 + size / 2 - data.originX) / size));
    const r0 = Math.max(0, Math.floor((y0 - size / 2 - data.originY) / size));
    const r1 = Math.min(rows - 1, Math.floor((y1 + size / 2 - data.originY) / size));
    if (c1 < c0) continue;
    for (let r = r0; r <= r1; r++) {
      const end = cellStart[first + r * columns + c1 + 1];
      for (let p = cellStart[first + r * columns + c0]; p < end; p++) {
        const i = items[p];
        if (minX[i] > x1 || maxX[i] < x0 || minY[i] > y1 || maxY[i] < y0) continue;
        if (count === out.length) return count;
        out[count++] = i;
      }
    }
  }
  return count;
}
