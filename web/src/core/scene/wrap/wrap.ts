/**
 * A very long layout as columns, read like a newspaper. Edges within a column are drawn unchanged; an edge between
 * columns becomes two short stubs with the same number, one below its source and one above its target. A frame that continues in
 * the next column has another item there.
 *
 * Coordinates are along the flow (v) and across it (u), so that left-to-right pictures wrap into rows with the same code.
 */
import { sortByKey, upTo } from "../../base/arrays";
import { bucketBy } from "../../base/csr";
import type { CompoundLayout } from "../../layout/types";
import type { Visible } from "../../program/types";
import { depths, type Placed } from "../placed";
import { below, evenCuts, type Flow, Frontier, goodColumns, offAspect } from "./cuts";
import { EdgeItems, STUB_ROOM } from "./edges";
import { COLUMN_GAP, type Columns, columnsBeside, pagesOf } from "./pages";

const PADDING = 14;
const TITLE_LINE = 26;
/** The space for "name (continued)" above what continues. */
const CONTINUED_TITLE = 38;

/** In so many columns, or in as many as bring the picture near a good aspect. */
export function wrap(visible: Visible, layout: CompoundLayout, direction: "TB" | "LR", columnCount?: number): Placed {
  const { x, y, w, h, width, height } = layout;
  const down = direction === "TB";
  const flow: Flow = down
    ? { u: x, v: y, uSize: w, vSize: h, along: height, across: width }
    : { u: y, v: x, uSize: h, vSize: w, along: width, across: height };
  const frontier = new Frontier(visible, flow.v, flow.vSize, layout.far);
  const columns =
    columnCount === undefined
      ? (pagesOf(visible, flow, frontier, direction) ?? columnsBeside(cutsOfOneBreadth(visible, flow, frontier, direction)))
      : columnsBeside(evenCuts(frontier, flow.along, columnCount));
  return new Wrapping(visible, layout, flow, down, columns).run();
}

/** As many columns as bring the picture near a good aspect. */
function cutsOfOneBreadth(visible: Visible, flow: Flow, frontier: Frontier, direction: "TB" | "LR"): readonly number[] {
  const few = goodColumns(flow.along, flow.across, direction);
  let cuts = evenCuts(frontier, flow.along, few);
  let shape = shapeOf(visible, flow, cuts);
  // Columns are narrower than the whole was, so more of them may fit: try as many as that suggests, and half way there.
  const many = goodColumns(...shape, direction, few);
  for (const columns of new Set([many, Math.round((few + many) / 2)])) {
    if (columns <= few) continue;
    const other = evenCuts(frontier, flow.along, columns);
    const otherShape = shapeOf(visible, flow, other);
    if (offAspect(...otherShape, direction) < offAspect(...shape, direction)) [cuts, shape] = [other, otherShape];
  }
  return cuts;
}

/** How long and broad the picture becomes with these cuts, by its boxes alone. */
function shapeOf({ boxCount, open }: Visible, { u, v, uSize, vSize }: Flow, cuts: readonly number[]): [along: number, across: number] {
  const columns = Array.from({ length: cuts.length + 1 }, (): Extent => ({ u0: Infinity, u1: -Infinity, v0: Infinity, v1: -Infinity }));
  for (let b = 0; b < boxCount; b++) {
    if (open[b]) continue;
    const column = columns[below(cuts, v[b] + vSize[b] / 2)];
    column.u0 = Math.min(column.u0, u[b]);
    column.u1 = Math.max(column.u1, u[b] + uSize[b]);
    column.v0 = Math.min(column.v0, v[b]);
    column.v1 = Math.max(column.v1, v[b] + vSize[b]);
  }
  const filled = columns.filter(({ u0, u1 }) => u1 > u0);
  const across = filled.reduce((sum, { u0, u1 }) => sum + u1 - u0 + COLUMN_GAP, -COLUMN_GAP);
  return [filled.reduce((most, { v0, v1 }) => Math.max(most, v1 - v0), 0), across];
}

class Wrapping {
  /** Places along (v) and across (u) the flow, of items: the boxes, then further items of frames that continue in another column. */
  private u: Float64Array = new Float64Array(0);
  private v: Float64Array = new Float64Array(0);
  private uSize: Float64Array = new Float64Array(0);
  private vSize: Float64Array = new Float64Array(0);
  private box: Int32Array = new Int32Array(0);
  private itemCount: number;
  /** First and last column of every box, and the column of every further item; leaves have one. */
  private column: Int32Array;
  private readonly lastColumn: Int32Array;
  private readonly columns: number;
  private readonly cuts: Columns["cuts"];
  private readonly pages: Columns["pages"];
  /** The innermost frame in several columns that contains each box, or is it; -1: none. */
  private readonly spanning: Int32Array;
  /** Item of frame f in column c, if f is in several: itemOf.get(f * columns + c). */
  private readonly itemOf = new Map<number, number>();
  private readonly depth: Int32Array;
  /** Boxes with children before their parents. */
  private readonly order: Int32Array;

  constructor(
    private readonly visible: Visible,
    private readonly layout: CompoundLayout,
    private readonly flow: Flow,
    private readonly down: boolean,
    { cuts, pages }: Columns,
  ) {
    this.cuts = cuts;
    this.pages = pages;
    const { boxCount } = visible;
    const { v, vSize } = flow;
    this.columns = cuts.length + 1;
    this.column = new Int32Array(boxCount);
    this.lastColumn = new Int32Array(boxCount);
    for (let b = 0; b < boxCount; b++) this.column[b] = this.lastColumn[b] = below(cuts, v[b] + vSize[b] / 2);
    this.itemCount = boxCount;
    this.spanning = new Int32Array(boxCount).fill(-1);
    this.depth = depths(visible.parent);
    const deepest = this.depth.reduce((most, depth) => Math.max(most, depth), 0);
    this.order = bucketBy(
      this.depth.map((depth) => deepest - depth),
      deepest + 1,
    ).value;
  }

  run(): Placed {
    this.spreadFrames();
    const edges = this.sortEdges();
    this.cutFrames(edges);
    return this.arrange(edges);
  }

  /** A frame is in every column from its first content to its last. */
  private spreadFrames(): void {
    const { visible, column, flow, lastColumn, order, spanning } = this;
    const { boxCount, open, parent } = visible;
    const hasContent = new Uint8Array(boxCount);
    for (const b of order) {
      const p = parent[b];
      if (p < 0) continue;
      column[p] = hasContent[p] ? Math.min(column[p], column[b]) : column[b];
      lastColumn[p] = hasContent[p] ? Math.max(lastColumn[p], lastColumn[b]) : lastColumn[b];
      hasContent[p] = 1;
    }
    let further = 0;
    for (let i = boxCount - 1; i >= 0; i--) {
      const b = order[i];
      const spans = open[b] === 1 && column[b] < lastColumn[b];
      spanning[b] = spans ? b : parent[b] < 0 ? -1 : spanning[parent[b]];
      if (spans) further += lastColumn[b] - column[b];
    }
    const longer = <T extends Float64Array | Int32Array>(from: T, to: T): T => {
      to.set(from);
      return to;
    };
    const room = boxCount + further;
    this.u = longer(flow.u, new Float64Array(room));
    this.v = longer(flow.v, new Float64Array(room));
    this.uSize = longer(flow.uSize, new Float64Array(room));
    this.vSize = longer(flow.vSize, new Float64Array(room));
    this.column = longer(column, new Int32Array(room));
    this.box = longer(upTo(boxCount), new Int32Array(room));
  }

  /** Is all of a line in one column? A line against the flow can lead around everything. */
  private isWithin(e: number, column: number): boolean {
    const { cuts, down, layout } = this;
    for (let p = layout.pointStart[e]; p < layout.pointStart[e + 1]; p++) {
      const v = layout.points[2 * p + (down ? 1 : 0)];
      if (v < cuts[column - 1] - STUB_ROOM || v > cuts[column] + STUB_ROOM) return false;
    }
    return true;
  }

  /** Edges within a column stay; the others become stubs. */
  private sortEdges(): EdgeItems {
    const { visible, column, lastColumn } = this;
    const { edgeCount, edgeSource, edgeTarget, edgeValue } = visible;
    const { far } = this.layout;
    const isCut = new Uint8Array(edgeCount);
    let cutCount = 0;
    for (let e = 0; e < edgeCount; e++) {
      const from = lastColumn[edgeSource[e]];
      if (from === column[edgeTarget[e]] && !far?.[e] && this.isWithin(e, from)) continue;
      isCut[e] = 1;
      cutCount++;
    }
    const edges = new EdgeItems(visible, this.layout, this.down, cutCount);
    const cut = new Int32Array(cutCount);
    let [at, values] = [0, 0];
    for (let e = 0; e < edgeCount; e++) {
      if (!isCut[e]) edges.keep(e, lastColumn[edgeSource[e]]);
      else {
        cut[at++] = e;
        values = Math.max(values, edgeValue[e] + 1);
      }
    }
    // One number for each value; an edge without one has a number of its own.
    const numbers = new Int32Array(values);
    let count = 0;
    for (const e of this.inFlowOrder(cut)) {
      const value = edgeValue[e];
      if (value < 0) count++;
      else if (numbers[value] === 0) numbers[value] = ++count;
      const to = column[edgeTarget[e]];
      const entered = this.down && !far?.[e] && !edges.leadsUp(e, false) ? this.enteredFrame(edgeSource[e], edgeTarget[e], to) : -1;
      edges.cut(e, value < 0 ? count : numbers[value], lastColumn[edgeSource[e]], to, entered, this.v[entered]);
    }
    edges.finishStubs();
    return edges;
  }

  /** Edges by the column in which they begin, and where there. */
  private inFlowOrder(edges: Int32Array): Int32Array {
    const { edgeCount, edgeSource } = this.visible;
    const start = new Float64Array(edgeCount);
    for (const e of edges) start[e] = this.startV(e);
    sortByKey(edges, 0, edges.length, start, new Int32Array(edges.length));
    return bucketBy(
      edges.map((e) => this.lastColumn[edgeSource[e]]),
      this.columns,
      edges,
    ).value;
  }

  /** The frame before which a number must be, because just before the target it would cover the title of a frame that begins there. */
  private enteredFrame(source: number, target: number, column: number): number {
    const { parent } = this.visible;
    const around = this.commonFrame(source, target);
    let entered = -1;
    let top = this.v[target];
    for (let frame = parent[target]; frame >= 0 && frame !== around && this.column[frame] === column; frame = parent[frame]) {
      if (top - STUB_ROOM > this.v[frame] + TITLE_LINE) break;
      entered = frame;
      top = this.v[frame];
    }
    return entered;
  }

  private startV(e: number): number {
    return this.layout.points[2 * this.layout.pointStart[e] + (this.down ? 1 : 0)];
  }

  /** Gives every frame one item per column, large enough for what it contains there. */
  private cutFrames(edges: EdgeItems): void {
    const { visible, columns } = this;
    const extents = new Map<number, Extent>();
    const grow = (frame: number, c: number, u0: number, u1: number, v0: number, v1: number) => {
      const at = extents.get(frame * columns + c);
      if (!at) extents.set(frame * columns + c, { u0, u1, v0, v1 });
      else {
        at.u0 = Math.min(at.u0, u0);
        at.u1 = Math.max(at.u1, u1);
        at.v0 = Math.min(at.v0, v0);
        at.v1 = Math.max(at.v1, v1);
      }
    };
    const { points, pointStart } = this.layout;
    const [across, along] = this.down ? [0, 1] : [1, 0];
    edges.eachWhole((e, column) => {
      const [source, target] = [visible.edgeSource[e], visible.edgeTarget[e]];
      if (this.spanningAround(source) < 0 && this.spanningAround(target) < 0) return;
      const ends = [source, target];
      const around = this.commonFrame(ends[0], ends[1]);
      for (const end of ends) {
        for (let frame = this.spanningAround(end); frame >= 0; frame = visible.parent[frame]) {
          if (this.depth[frame] < (around < 0 ? 0 : this.depth[around])) break;
          for (let p = pointStart[e]; p < pointStart[e + 1]; p++) {
            const [u, v] = [points[2 * p + across], points[2 * p + along]];
            if (v > this.v[frame] && v < this.v[frame] + this.vSize[frame]) grow(frame, column, u, u, v, v);
          }
        }
      }
    });
    for (const b of this.order) {
      const parent = visible.parent[b];
      if (this.spanning[b] !== b) {
        if (parent < 0 || this.spanning[parent] !== parent) continue;
        const [before, after] = [edges.isMarked(b, false) ? STUB_ROOM : 0, edges.isMarked(b, true) ? STUB_ROOM : 0];
        grow(parent, this.column[b], this.u[b], this.u[b] + this.uSize[b], this.v[b] - before, this.v[b] + this.vSize[b] + after);
        continue;
      }
      const first = this.column[b];
      const bottom = this.v[b] + this.vSize[b];
      const [wholeU, wholeSize, title] = [this.u[b], this.uSize[b], this.down ? CONTINUED_TITLE : PADDING];
      for (let c = first; c <= this.lastColumn[b]; c++) {
        const extent = extents.get(b * columns + c);
        if (!extent) continue;
        const item = c === first ? b : this.newItem(b, c);
        this.itemOf.set(b * columns + c, item);
        const v0 = c === first ? this.v[b] : extent.v0 - title;
        const v1 = Math.max(c === this.lastColumn[b] ? bottom : 0, extent.v1 + PADDING);
        const u0 = this.down ? Math.max(wholeU, extent.u0 - PADDING) : wholeU;
        const u1 = this.down ? Math.min(wholeU + wholeSize, Math.max(extent.u1 + PADDING, u0 + 150)) : wholeU + wholeSize;
        this.u[item] = u0;
        this.uSize[item] = u1 - u0;
        this.v[item] = v0;
        this.vSize[item] = v1 - v0;
        if (parent >= 0) grow(parent, c, u0, u1, v0, v1);
      }
    }
  }

  /** The innermost frame in several columns around a box. */
  private spanningAround(box: number): number {
    const parent = this.visible.parent[box];
    return parent < 0 ? -1 : this.spanning[parent];
  }

  /** The items that contain the items. */
  private parents(): Int32Array {
    const { itemOf, columns, column, spanning } = this;
    return this.box.subarray(0, this.itemCount).map((box, item) => {
      const parent = this.visible.parent[box];
      return parent < 0 || spanning[parent] !== parent ? parent : (itemOf.get(parent * columns + column[item]) ?? parent);
    });
  }

  /** The innermost frame around both, or -1. */
  private commonFrame(a: number, b: number): number {
    const { parent } = this.visible;
    let [p, q] = [parent[a], parent[b]];
    while (p !== q) {
      const higher = p < 0 || (q >= 0 && this.depth[q] > this.depth[p]);
      if (higher) q = parent[q];
      else p = parent[p];
    }
    return p;
  }

  private newItem(frame: number, column: number): number {
    this.column[this.itemCount] = column;
    this.box[this.itemCount] = frame;
    return this.itemCount++;
  }

  /** Puts the columns on their pages, and these side by side. */
  private arrange(edges: EdgeItems): Placed {
    const { column, columns, itemCount } = this;
    const left = new Float64Array(columns).fill(Number.POSITIVE_INFINITY);
    const right = new Float64Array(columns).fill(Number.NEGATIVE_INFINITY);
    const top = new Float64Array(columns).fill(Number.POSITIVE_INFINITY);
    const bottom = new Float64Array(columns).fill(Number.NEGATIVE_INFINITY);
    const reach = (c: number, u0: number, u1: number, v0: number, v1: number) => {
      left[c] = Math.min(left[c], u0);
      right[c] = Math.max(right[c], u1);
      top[c] = Math.min(top[c], v0);
      bottom[c] = Math.max(bottom[c], v1);
    };
    for (let item = 0; item < itemCount; item++) {
      reach(column[item], this.u[item], this.u[item] + this.uSize[item], this.v[item], this.v[item] + this.vSize[item]);
    }
    edges.eachPoint((c, u, v) => reach(c, u, u, v, v));
    edges.eachLabel((c, u, v, wide, high) => reach(c, u - wide / 2, u + wide / 2, v - high / 2, v + high / 2));
    const shift = new Float64Array(columns);
    let at = 0;
    let longest = 0;
    for (const page of this.pages) {
      const rows = page.map((row) => row.filter((c) => right[c] >= left[c]));
      const breadths = rows.map((row) => row.reduce((sum, c) => sum + right[c] - left[c] + COLUMN_GAP, 0));
      const broadest = Math.max(0, ...breadths);
      let along = 0;
      for (const [i, row] of rows.entries()) {
        // What the broadest row has more is between the columns of this one, and not all at its end.
        const spare = (broadest - breadths[i]) / (row.length + 1);
        let [across, rowEnd] = [spare, along];
        for (const c of row) {
          shift[c] = at + across - left[c];
          across += right[c] - left[c] + COLUMN_GAP + spare;
          rowEnd = Math.max(rowEnd, along + bottom[c] - top[c] + COLUMN_GAP);
          top[c] -= along;
        }
        along = rowEnd;
      }
      at += broadest;
      longest = Math.max(longest, along - COLUMN_GAP);
    }
    const across = at - COLUMN_GAP;
    const items = (places: Float64Array) => places.slice(0, itemCount);
    const us = items(this.u).map((u, item) => u + shift[column[item]]);
    const vs = items(this.v).map((v, item) => v - top[column[item]]);
    const [uSize, vSize] = [items(this.uSize), items(this.vSize)];
    return {
      width: this.down ? across : longest,
      height: this.down ? longest : across,
      box: this.box.slice(0, itemCount),
      parent: this.parents(),
      x: this.down ? us : vs,
      y: this.down ? vs : us,
      w: this.down ? uSize : vSize,
      h: this.down ? vSize : uSize,
      ...edges.placed(shift, top),
    };
  }
}

interface Extent {
  u0: number;
  u1: number;
  v0: number;
  v1: number;
}
