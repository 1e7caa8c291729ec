/** One block of a drawing as a separate graph, and how its layout gets into the whole. */
import { crossingValue } from "./corridors";
import type { CompoundGraph, CompoundLayout } from "../types";

/** Places of all boxes and lines of all edges of the whole drawing. */
export interface Whole {
  readonly x: Float64Array;
  readonly y: Float64Array;
  readonly w: Float64Array;
  readonly h: Float64Array;
  readonly lines: (Float64Array | undefined)[];
}

/** The distance between values on the line through which edges enter. */
const ENTRY_APART = 8;

export class Part {
  readonly graph: CompoundGraph;
  /** The numbers of the part's boxes and edges in the whole; and the number in the part of a box of the whole, or -1. */
  readonly boxes: Int32Array;
  readonly edges: Int32Array;
  readonly local: Int32Array;

  /**
   * Boxes of one block with the edges between them; `upwards` reverses the edges, so that they flow up. With `entries`,
   * edges from other blocks are laid out too, each value from its place (0 … 1) on a line above everything, so that they are routed
   * between the boxes.
   */
  constructor(
    whole: CompoundGraph,
    block: Uint8Array,
    which: number,
    readonly upwards: boolean,
    entries?: ReadonlyMap<number, number>,
  ) {
    this.local = new Int32Array(whole.boxCount).fill(-1);
    const boxes: number[] = [];
    for (let box = 0; box < whole.boxCount; box++) if (block[box] === which) this.local[box] = boxes.push(box) - 1;
    const edges: number[] = [];
    for (let e = 0; e < whole.edgeSource.length; e++) {
      if (block[whole.edgeTarget[e]] !== which) continue;
      if (block[whole.edgeSource[e]] === which || entries) edges.push(e);
    }
    const entry = entries?.size ? [boxes.length] : [];
    this.boxes = Int32Array.from(boxes);
    this.edges = Int32Array.from(edges);
    const { local } = this;
    const [source, target] = upwards ? [whole.edgeTarget, whole.edgeSource] : [whole.edgeSource, whole.edgeTarget];
    const [sourcePort, targetPort] = upwards ? [whole.targetPort, whole.sourcePort] : [whole.sourcePort, whole.targetPort];
    this.graph = {
      boxCount: boxes.length + entry.length,
      parent: Int32Array.from([...boxes.map((box) => (whole.parent[box] < 0 ? -1 : local[whole.parent[box]])), ...entry.map(() => -1)]),
      container: Uint8Array.from([...boxes.map((box) => whole.container[box]), ...entry.map(() => 0)]),
      width: Float64Array.from([...boxes.map((box) => whole.width[box]), ...entry.map(() => entries!.size * ENTRY_APART)]),
      height: Float64Array.from([...boxes.map((box) => whole.height[box]), ...entry.map(() => 0)]),
      edgeSource: this.edges.map((e) => (local[source[e]] < 0 ? entry[0] : local[source[e]])),
      edgeTarget: this.edges.map((e) => local[target[e]]),
      sourcePort: Float32Array.from(edges, (e) =>
        local[source[e]] < 0 ? (entries?.get(crossingValue(whole, e)) ?? Number.NaN) : sourcePort[e],
      ),
      targetPort: Float32Array.from(edges, (e) => targetPort[e]),
      edgeValue: this.edges.map((e) => whole.edgeValue[e]),
      ...(whole.edgeCloses ? { edgeCloses: Uint8Array.from(edges, (e) => whole.edgeCloses![e]) } : {}),
      ...(whole.edgeWeight ? { edgeWeight: Int32Array.from(edges, (e) => whole.edgeWeight![e]) } : {}),
      previous: whole.previous && {
        x: Float64Array.from([...boxes.map((box) => whole.previous!.x[box]), ...entry.map(() => Number.NaN)]),
        width: Float64Array.from([...boxes.map((box) => whole.previous!.width[box]), ...entry.map(() => Number.NaN)]),
      },
    };
  }

  /** Writes the part's layout into the whole, moved by (dx, dy). */
  put(layout: CompoundLayout, dx: number, dy: number, whole: Whole): void {
    this.boxes.forEach((box, i) => {
      whole.x[box] = layout.x[i] + dx;
      whole.y[box] = layout.y[i] + dy;
      whole.w[box] = layout.w[i];
      whole.h[box] = layout.h[i];
    });
    const { points, pointStart } = layout;
    this.edges.forEach((e, i) => {
      const count = pointStart[i + 1] - pointStart[i];
      const line = new Float64Array(2 * count);
      for (let p = 0; p < count; p++) {
        const at = 2 * (pointStart[i] + (this.upwards ? count - 1 - p : p));
        line[2 * p] = points[at] + dx;
        line[2 * p + 1] = points[at + 1] + dy;
      }
      whole.lines[e] = line;
    });
  }
}
