/**
 * A very long layout as columns, read like a newspaper. Edges within a column are drawn unchanged; an edge between
 * columns becomes two short stubs with the same number, one below its source and one above its target. A frame that continues in
 * the next column has another item there.
 *
 * Coordinates are along the flow (v) and across it (u), so that left-to-right pictures wrap into rows with the same code.
 */
import type { CompoundLayout } from "../../layout/types";
import type { Visible } from "../../program/types";
import { below, cutLines, goodColumns, offAspect } from "./cuts";
import { EdgeItems, STUB_ROOM } from "./edges";
import { depths, type Placed, upTo } from "../placed";

const COLUMN_GAP = 56;
const PADDING = 14;
const TITLE_LINE = 26;
/** The space for "name (continued)" above what continues. */
const CONTINUED_TITLE = 38;

export function wrap(visible: Visible, layout: CompoundLayout, direction: "TB" | "LR"): Placed {
  const down = direction === "TB";
  const shape = ({ width, height }: { width: number; height: number }): [number, number] => (down ? [height, width] : [width, height]);
  const few = goodColumns(...shape(layout), direction);
  let best = new Wrapping(visible, layout, direction, few).run();
  // Columns are narrower than the whole was, so more of them may fit: try as many as that suggests, and half way there.
  const many = goodColumns(...shape(best), direction, few);
  for (const columns of new Set([many, Math.round((few + many) / 2)])) {
    if (columns <= few) continue;
    const other = new Wrapping(visible, layout, direction, columns).run();
    if (offAspect(...shape(other), direction) < offAspect(...shape(best), direction)) best = other;
  }
  return best;
}

class Wrapping {
  private readonly down: boolean;
  /** Places along (v) and across (u) the flow, of items. */
  private readonly u: number[];
  private readonly v: number[];
  private readonly uSize: number[];
  private readonly vSize: number[];
  private readonly box: number[];
  private readonly parent: number[];
  private readonly column: Int32Array;
  /** First and last column of every box; leaves have one. */
  private readonly lastColumn: Int32Array;
  private readonly columns: number;
  /** Item of frame f in column c: itemOf.get(f * columns + c). */
  private readonly itemOf = new Map<number, number>();
  /** Column of the items beyond the view's boxes. */
  private readonly itemColumn = new Map<number, number>();
  private readonly depth: Int32Array;
  /** Boxes with children before their parents. */
  private readonly order: Int32Array;
  private readonly left: Float64Array;
  private readonly right: Float64Array;
  private readonly top: Float64Array;

  constructor(
    private readonly visible: Visible,
    private readonly layout: CompoundLayout,
    direction: "TB" | "LR",
    columns: number,
  ) {
    this.down = direction === "TB";
    const [u, v, uSize, vSize] = this.down ? [layout.x, layout.y, layout.w, layout.h] : [layout.y, layout.x, layout.h, layout.w];
    const along = this.down ? layout.height : layout.width;
    const cuts = cutLines(visible, v, vSize, along, columns);
    this.u = Array.from(u);
    this.v = Array.from(v);
    this.uSize = Array.from(uSize);
    this.vSize = Array.from(vSize);
    this.box = Array.from(upTo(visible.boxCount));
    this.parent = Array.from(visible.parent);
    this.columns = cuts.length + 1;
    this.column = new Int32Array(visible.boxCount);
    this.lastColumn = new Int32Array(visible.boxCount);
    for (let b = 0; b < visible.boxCount; b++) this.column[b] = this.lastColumn[b] = below(cuts, v[b] + vSize[b] / 2);
    this.depth = depths(visible.parent);
    this.order = upTo(visible.boxCount).sort((a, b) => this.depth[b] - this.depth[a] || a - b);
    this.left = new Float64Array(this.columns).fill(Number.POSITIVE_INFINITY);
    this.right = new Float64Array(this.columns).fill(Number.NEGATIVE_INFINITY);
    this.top = new Float64Array(this.columns).fill(Number.POSITIVE_INFINITY);
  }

  run(): Placed {
    this.spreadFrames();
    const edges = new EdgeItems(this.visible, this.layout, this.down);
    this.sortEdges(edges);
    this.cutFrames(edges);
    return this.arrange(edges);
  }

  /** A frame is in every column from its first content to its last. */
  private spreadFrames(): void {
    const { visible, column, lastColumn } = this;
    const hasContent = new Uint8Array(visible.boxCount);
    for (const b of this.order) {
      const p = visible.parent[b];
      if (p < 0) continue;
      column[p] = hasContent[p] ? Math.min(column[p], column[b]) : column[b];
      lastColumn[p] = hasContent[p] ? Math.max(lastColumn[p], lastColumn[b]) : lastColumn[b];
      hasContent[p] = 1;
    }
  }

  /** Edges within a column stay; the others become stubs. */
  private sortEdges(edges: EdgeItems): void {
    const { visible, column, lastColumn } = this;
    const cut: number[] = [];
    for (let e = 0; e < visible.edgeCount; e++) {
      const from = lastColumn[visible.edgeSource[e]];
      const to = column[visible.edgeTarget[e]];
      if (from === to) edges.keep(e, from);
      else cut.push(e);
    }
    cut.sort((a, b) => lastColumn[visible.edgeSource[a]] - lastColumn[visible.edgeSource[b]] || this.startV(a) - this.startV(b) || a - b);
    const numbers = new Map<number, number>();
    const numberOf = (e: number) => {
      const value = visible.edgeValue[e] >= 0 ? visible.edgeValue[e] : -1 - e;
      let number = numbers.get(value);
      if (number === undefined) {
        number = numbers.size + 1;
        numbers.set(value, number);
      }
      return number;
    };
    for (const e of cut) {
      const to = column[visible.edgeTarget[e]];
      const entered = this.down ? this.enteredFrame(visible.edgeSource[e], visible.edgeTarget[e], to) : -1;
      edges.cut(e, numberOf(e), lastColumn[visible.edgeSource[e]], to, entered, this.v[entered]);
    }
    edges.finishStubs();
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
    edges.eachWhole((e, column, points) => {
      const around = this.commonFrame(visible.edgeSource[e], visible.edgeTarget[e]);
      for (const end of [visible.edgeSource[e], visible.edgeTarget[e]]) {
        for (let frame = visible.parent[end]; frame >= 0; frame = visible.parent[frame]) {
          for (let p = 0; p < points.length; p += 2) {
            const [u, v] = [points[p], points[p + 1]];
            if (v > this.v[frame] && v < this.v[frame] + this.vSize[frame]) grow(frame, column, u, u, v, v);
          }
          if (frame === around) break;
        }
      }
    });
    for (const b of this.order) {
      const parent = visible.parent[b];
      if (!visible.open[b] || this.column[b] === this.lastColumn[b]) {
        if (visible.open[b]) this.itemOf.set(b * columns + this.column[b], b);
        const [before, after] = [edges.isMarked(b, false) ? STUB_ROOM : 0, edges.isMarked(b, true) ? STUB_ROOM : 0];
        if (parent >= 0)
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
    for (let item = 0; item < this.box.length; item++) {
      const parent = visible.parent[this.box[item]];
      if (parent >= 0) this.parent[item] = this.itemOf.get(parent * columns + this.columnOfItem(item)) ?? parent;
    }
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
    this.itemColumn.set(this.box.length, column);
    this.box.push(frame);
    this.parent.push(this.visible.parent[frame]);
    this.u.push(0);
    this.v.push(0);
    this.uSize.push(0);
    return this.vSize.push(0) - 1;
  }

  private columnOfItem(item: number): number {
    return item < this.visible.boxCount ? this.column[item] : this.itemColumn.get(item)!;
  }

  /** Puts the columns side by side. */
  private arrange(edges: EdgeItems): Placed {
    const { left, right, top } = this;
    const bottom = new Float64Array(this.columns).fill(Number.NEGATIVE_INFINITY);
    const reach = (c: number, u0: number, u1: number, v0: number, v1: number) => {
      left[c] = Math.min(left[c], u0);
      right[c] = Math.max(right[c], u1);
      top[c] = Math.min(top[c], v0);
      bottom[c] = Math.max(bottom[c], v1);
    };
    for (let item = 0; item < this.box.length; item++) {
      reach(this.columnOfItem(item), this.u[item], this.u[item] + this.uSize[item], this.v[item], this.v[item] + this.vSize[item]);
    }
    edges.eachPoint((c, u, v) => reach(c, u, u, v, v));
    edges.eachLabel((c, u, v, wide, high) => reach(c, u - wide / 2, u + wide / 2, v - high / 2, v + high / 2));
    const shift = new Float64Array(this.columns);
    let at = 0;
    let longest = 0;
    for (let c = 0; c < this.columns; c++) {
      if (right[c] < left[c]) continue;
      shift[c] = at - left[c];
      at += right[c] - left[c] + COLUMN_GAP;
      longest = Math.max(longest, bottom[c] - top[c]);
    }
    const across = at - COLUMN_GAP;
    const us = Float64Array.from(this.u, (u, item) => u + shift[this.columnOfItem(item)]);
    const vs = Float64Array.from(this.v, (v, item) => v - top[this.columnOfItem(item)]);
    const [uSize, vSize] = [Float64Array.from(this.uSize), Float64Array.from(this.vSize)];
    return {
      width: this.down ? across : longest,
      height: this.down ? longest : across,
      box: Int32Array.from(this.box),
      parent: Int32Array.from(this.parent),
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
