import { describe, expect, it, vi } from "vitest";
import { type CompoundGraph, LayoutCache, layoutCompound, layoutFlat } from "../../src/core/layout";
import { buildElements, isHurried, LEAST_EFFORT } from "../../src/core/layout/elements";
import type { PreviousPlaces } from "../../src/core/layout/types";
import { boxesOf, flatGraph, overlaps } from "./graphs";

// A busy machine must not fail these: what they protect is the result, not the time.
vi.setConfig({ testTimeout: 600_000 });

/** A program of many ops: a trunk, side chains, values used again far below, and constants that everything reads. */
function program(nodeCount: number): Array<[number, number]> {
  const edges: Array<[number, number]> = [];
  for (let v = 8; v < nodeCount; v++) {
    edges.push([v - 1 - (v % 3 === 0 ? 2 : 0), v]);
    if (v % 5 === 0) edges.push([8 + ((v * 7919) % (v - 7)), v]);
    if (v % 9 === 0) edges.push([v % 8, v]);
  }
  return edges.filter(([u, v]) => u < v);
}

describe("layout of 100,000 lines in a drawing of a million boxes", () => {
  it("keeps boxes apart and edges downwards, without a search for the best order", () => {
    const [nodeCount, users] = [600, 250];
    const edges = Array.from({ length: nodeCount * users }, (_, i): [number, number] => [
      Math.floor(i / users),
      Math.floor(i / users) + 1 + (i % users),
    ]).filter(([, v]) => v < nodeCount);
    const graph = flatGraph({ nodeCount, edges });
    const layout = layoutFlat(graph, {}, LEAST_EFFORT);
    expect(overlaps(boxesOf(graph, layout), [...graph.width.keys()])).toEqual([]);
    expect(edges.every(([u, v]) => layout.rank[v] > layout.rank[u])).toBe(true);
    expect(layout.points.every(Number.isFinite)).toBe(true);
    const elements = buildElements(graph, new Uint8Array(edges.length), layout.rank);
    expect([LEAST_EFFORT, 1].map((effort) => isHurried(elements, effort))).toEqual([true, false]);
  });
});

describe("layout of 20,000 boxes", () => {
  it("keeps boxes apart and edges downwards", () => {
    const edges = program(20_000);
    const graph = flatGraph({ nodeCount: 20_000, edges });
    const layout = layoutFlat(graph);
    expect(overlaps(boxesOf(graph, layout), [...graph.width.keys()])).toEqual([]);
    expect(edges.filter(([u, v]) => layout.rank[v] <= layout.rank[u])).toEqual([]);
    expect(layout.points.every(Number.isFinite)).toBe(true);
  });

  it("nests arbitrarily deep, without recursion", () => {
    const depth = 20_000;
    const layout = layoutCompound({
      boxCount: depth,
      parent: Int32Array.from({ length: depth }, (_, i) => i - 1),
      container: Uint8Array.from({ length: depth }, (_, i) => (i + 1 < depth ? 1 : 0)),
      width: new Float64Array(depth).fill(40),
      height: new Float64Array(depth).fill(20),
      edgeSource: Int32Array.of(0),
      edgeTarget: Int32Array.of(depth - 1),
      sourcePort: new Float32Array(1).fill(Number.NaN),
      targetPort: new Float32Array(1).fill(Number.NaN),
      edgeValue: Int32Array.of(0),
    });
    expect(layout.w[0]).toBeGreaterThan(layout.w[depth - 2]);
    expect(Number.isFinite(layout.height)).toBe(true);
  });

  it("keeps a large drawing as it is where one group in it is opened", () => {
    const roots = 4000;
    const inner = 12;
    const edges = program(roots);
    const graph = (isOpen: boolean, previous?: PreviousPlaces): CompoundGraph => {
      const boxCount = roots + (isOpen ? inner : 0);
      const chain = isOpen ? Array.from({ length: inner - 1 }, (_, i): [number, number] => [roots + i, roots + i + 1]) : [];
      const ends = [
        ...edges.map(([u, v]): [number, number] => [isOpen && u === OPENED ? roots + inner - 1 : u, isOpen && v === OPENED ? roots : v]),
        ...chain,
      ];
      return {
        boxCount,
        parent: Int32Array.from({ length: boxCount }, (_, b) => (b < roots ? -1 : OPENED)),
        container: Uint8Array.from({ length: boxCount }, (_, b) => (isOpen && b === OPENED ? 1 : 0)),
        width: new Float64Array(boxCount).fill(60),
        height: new Float64Array(boxCount).fill(24),
        edgeSource: Int32Array.from(ends, ([u]) => u),
        edgeTarget: Int32Array.from(ends, ([, v]) => v),
        sourcePort: new Float32Array(ends.length).fill(Number.NaN),
        targetPort: new Float32Array(ends.length).fill(Number.NaN),
        edgeValue: Int32Array.from(ends, ([u]) => u),
        previous,
      };
    };
    const OPENED = 2025;
    const cache = new LayoutCache();
    const closed = layoutCompound(graph(false), {}, cache);
    const earlier = (values: Float64Array) => Float64Array.from({ length: roots + inner }, (_, b) => values[b] ?? Number.NaN);
    const opened = layoutCompound(graph(true, { x: earlier(closed.x), width: earlier(closed.w) }), {}, cache);
    expect(overlaps({ left: opened.x, top: opened.y, width: opened.w, height: opened.h }, [...Array(roots).keys()])).toEqual([]);
    const moved = [...Array(roots).keys()].filter((b) => b !== OPENED && Math.abs(opened.x[b] - closed.x[b]) > 100);
    expect(moved).toEqual([]);
    expect(opened.points.every(Number.isFinite)).toBe(true);
  });

  it("turns one long cycle round at one edge", () => {
    const nodeCount = 20_000;
    const edges = Array.from({ length: nodeCount }, (_, v) => [v, (v + 1) % nodeCount] as const);
    const { reversed } = layoutFlat(flatGraph({ nodeCount, edges }));
    expect(reversed.reduce((a, b) => a + b, 0)).toBe(1);
  });
});
