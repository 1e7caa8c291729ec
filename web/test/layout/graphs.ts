/** Graphs and checks that the layout tests share. */
import fc from "fast-check";
import type { CompoundGraph, CompoundLayout, FlatGraph, FlatLayout } from "../../src/core/layout";

export interface EdgeList {
  readonly nodeCount: number;
  readonly edges: ReadonlyArray<readonly [number, number]>;
}

export function flatGraph({ nodeCount, edges }: EdgeList, extra: Partial<FlatGraph> = {}): FlatGraph {
  return {
    nodeCount,
    width: Float64Array.from({ length: nodeCount }, (_, i) => 30 + ((i * 37) % 90)),
    height: Float64Array.from({ length: nodeCount }, (_, i) => 20 + ((i * 13) % 30)),
    edgeSource: Int32Array.from(edges, (e) => e[0]),
    edgeTarget: Int32Array.from(edges, (e) => e[1]),
    ...extra,
  };
}

/** Any graph at all: cycles, self-loops, multi-edges, isolated nodes, nothing. */
export const anyEdges: fc.Arbitrary<EdgeList> = fc.nat({ max: 40 }).chain((nodeCount) =>
  fc.record({
    nodeCount: fc.constant(nodeCount),
    edges:
      nodeCount === 0
        ? fc.constant([])
        : fc.array(fc.tuple(fc.nat({ max: nodeCount - 1 }), fc.nat({ max: nodeCount - 1 })), { maxLength: 80 }),
  }),
);

/** Boxes in boxes with edges between any two of them, open containers and their own content included. */
export const anyCompound: fc.Arbitrary<CompoundGraph> = fc
  .record({
    parents: fc.array(fc.integer({ min: -1, max: 60 }), { maxLength: 45 }),
    ends: fc.array(fc.tuple(fc.nat({ max: 44 }), fc.nat({ max: 44 }), fc.integer({ min: -1, max: 6 })), { maxLength: 70 }),
    empty: fc.array(fc.boolean(), { minLength: 45, maxLength: 45 }),
  })
  .map(({ parents, ends, empty }) => {
    const boxCount = parents.length;
    const parent = Int32Array.from(parents, (p, i) => (i === 0 || p < 0 ? -1 : p % i));
    const container = new Uint8Array(boxCount);
    for (let i = 0; i < boxCount; i++) {
      if (parent[i] >= 0) container[parent[i]] = 1;
      else if (empty[i] && i % 7 === 3) container[i] = 1;
    }
    const used = boxCount === 0 ? [] : ends;
    return {
      boxCount,
      parent,
      container,
      width: Float64Array.from({ length: boxCount }, (_, i) => (container[i] ? 60 : 30 + ((i * 37) % 90))),
      height: Float64Array.from({ length: boxCount }, (_, i) => (container[i] ? 22 : 20 + ((i * 13) % 30))),
      edgeSource: Int32Array.from(used, (e) => e[0] % boxCount),
      edgeTarget: Int32Array.from(used, (e) => e[1] % boxCount),
      sourcePort: Float32Array.from(used, (e) => (e[0] % 3 === 0 ? 0.25 : Number.NaN)),
      targetPort: Float32Array.from(used, (e) => (e[1] % 3 === 0 ? 0.75 : Number.NaN)),
      edgeValue: Int32Array.from(used, (e) => e[2]),
    };
  });

/** Rectangles by their corners. */
export interface Rectangles {
  readonly left: ArrayLike<number>;
  readonly top: ArrayLike<number>;
  readonly width: ArrayLike<number>;
  readonly height: ArrayLike<number>;
}

export function boxesOf(graph: FlatGraph, layout: FlatLayout): Rectangles {
  return {
    left: layout.x.map((x, i) => x - graph.width[i] / 2),
    top: layout.y.map((y, i) => y - graph.height[i] / 2),
    width: graph.width,
    height: graph.height,
  };
}

const NEAR = 1e-6;

/** Pairs of boxes that overlap, by a sweep over x. */
export function overlaps(r: Rectangles, ids: number[]): Array<[number, number]> {
  const order = [...ids].sort((a, b) => r.left[a] - r.left[b]);
  const pairs: Array<[number, number]> = [];
  let active: number[] = [];
  for (const b of order) {
    active = active.filter((a) => r.left[a] + r.width[a] > r.left[b] + NEAR);
    for (const a of active) {
      if (r.top[a] + r.height[a] > r.top[b] + NEAR && r.top[b] + r.height[b] > r.top[a] + NEAR) pairs.push([a, b]);
    }
    active.push(b);
  }
  return pairs;
}

/** Does the straight line between two points pass through the inside of a rectangle? */
export function passesThrough(x1: number, y1: number, x2: number, y2: number, r: Rectangles, box: number): boolean {
  const left = r.left[box] + NEAR;
  const right = r.left[box] + r.width[box] - NEAR;
  const top = r.top[box] + NEAR;
  const bottom = r.top[box] + r.height[box] - NEAR;
  if (left >= right || top >= bottom) return false;
  let t0 = 0;
  let t1 = 1;
  for (const [from, delta, low, high] of [
    [x1, x2 - x1, left, right],
    [y1, y2 - y1, top, bottom],
  ]) {
    if (Math.abs(delta) < 1e-12) {
      if (from <= low || from >= high) return false;
      continue;
    }
    const a = (low - from) / delta;
    const b = (high - from) / delta;
    t0 = Math.max(t0, Math.min(a, b));
    t1 = Math.min(t1, Math.max(a, b));
  }
  return t0 < t1;
}

/** Edges whose line runs through a box that is neither of their ends. */
export function linesThroughBoxes(
  graph: { readonly edgeSource: Int32Array; readonly edgeTarget: Int32Array },
  layout: Pick<FlatLayout | CompoundLayout, "points" | "pointStart">,
  r: Rectangles,
  ids: number[],
): Array<[number, number]> {
  const pairs: Array<[number, number]> = [];
  for (let e = 0; e < graph.edgeSource.length; e++) {
    for (let p = layout.pointStart[e]; p + 1 < layout.pointStart[e + 1]; p++) {
      const [x1, y1, x2, y2] = layout.points.subarray(2 * p, 2 * p + 4);
      for (const box of ids) {
        if (box === graph.edgeSource[e] || box === graph.edgeTarget[e]) continue;
        if (passesThrough(x1, y1, x2, y2, r, box)) pairs.push([e, box]);
      }
    }
  }
  return pairs;
}
