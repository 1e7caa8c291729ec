import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { type CompoundGraph, type CompoundLayout, LayoutCache, layoutCompound } from "../../src/core/layout";
import { anyCompound, linesThroughBoxes, overlaps, type Rectangles } from "./graphs";

vi.setConfig({ testTimeout: 600_000 });

const rectangles = (l: CompoundLayout): Rectangles => ({ left: l.x, top: l.y, width: l.w, height: l.h });
const directions = fc.constantFrom("TB" as const, "LR" as const);

function contains(graph: CompoundGraph, ancestor: number, box: number): boolean {
  for (let b = graph.parent[box]; b >= 0; b = graph.parent[b]) if (b === ancestor) return true;
  return false;
}

describe("layoutCompound on any boxes in boxes", () => {
  it("keeps siblings apart and children inside their frame, below its title", () => {
    fc.assert(
      fc.property(anyCompound, directions, (graph, direction) => {
        const l = layoutCompound(graph, { direction });
        for (let b = 0; b < graph.boxCount; b++) {
          const p = graph.parent[b];
          expect(l.x[b]).toBeGreaterThanOrEqual((p < 0 ? 0 : l.x[p]) - 1e-6);
          expect(l.y[b]).toBeGreaterThanOrEqual((p < 0 ? 0 : l.y[p] + graph.height[p]) - 1e-6);
          expect(l.x[b] + l.w[b]).toBeLessThanOrEqual((p < 0 ? l.width : l.x[p] + l.w[p]) + 1e-6);
          expect(l.y[b] + l.h[b]).toBeLessThanOrEqual((p < 0 ? l.height : l.y[p] + l.h[p]) + 1e-6);
          if (graph.container[b]) expect(l.w[b]).toBeGreaterThanOrEqual(graph.width[b]);
          else expect([l.w[b], l.h[b]]).toEqual([graph.width[b], graph.height[b]]);
        }
        for (let p = -1; p < graph.boxCount; p++) {
          const children = Array.from(graph.parent.keys()).filter((b) => graph.parent[b] === p);
          expect(overlaps(rectangles(l), children)).toEqual([]);
        }
      }),
    );
  });

  it("joins each edge's ends with one finite line that begins and ends on their borders", () => {
    fc.assert(
      fc.property(anyCompound, directions, (graph, direction) => {
        const l = layoutCompound(graph, { direction });
        expect(l.points.every(Number.isFinite)).toBe(true);
        const start = direction === "TB" ? l.y : l.x;
        const size = direction === "TB" ? l.h : l.w;
        const axis = direction === "TB" ? 1 : 0;
        for (let e = 0; e < graph.edgeSource.length; e++) {
          const u = graph.edgeSource[e];
          const v = graph.edgeTarget[e];
          expect(l.pointStart[e + 1] - l.pointStart[e]).toBeGreaterThanOrEqual(2);
          const first = l.points[2 * l.pointStart[e] + axis];
          const last = l.points[2 * l.pointStart[e + 1] - 2 + axis];
          // An edge from a group to its own content begins at the inside of the group's first border.
          expect(first).toBeCloseTo(contains(graph, u, v) ? start[u] : start[u] + size[u], 5);
          expect(last).toBeCloseTo(contains(graph, v, u) ? start[v] + size[v] : start[v], 5);
        }
      }),
    );
  });

  it("points every edge forward unless it says that it was turned round", () => {
    fc.assert(
      fc.property(anyCompound, (graph) => {
        const l = layoutCompound(graph);
        for (let e = 0; e < graph.edgeSource.length; e++) {
          const u = graph.edgeSource[e];
          const v = graph.edgeTarget[e];
          if (l.reversed[e] || contains(graph, u, v) || contains(graph, v, u)) continue;
          expect(l.y[v]).toBeGreaterThan(l.y[u] + l.h[u] - 1e-6);
        }
      }),
    );
  });

  it("never draws a line through a foreign leaf", () => {
    fc.assert(
      fc.property(anyCompound, directions, (graph, direction) => {
        const l = layoutCompound(graph, { direction });
        const leaves = Array.from(graph.container.keys()).filter((b) => !graph.container[b]);
        expect(linesThroughBoxes(graph, l, rectangles(l), leaves)).toEqual([]);
      }),
    );
  });

  it("gives the same bits for the same input, with and without a warm cache", () => {
    fc.assert(
      fc.property(anyCompound, (graph) => {
        const cache = new LayoutCache();
        const cold = layoutCompound(graph, {}, cache);
        const warm = layoutCompound(graph, {}, cache);
        expect(layoutCompound(graph)).toEqual(cold);
        expect({ ...warm, laidOut: 0, reused: 0 }).toEqual({ ...cold, laidOut: 0, reused: 0 });
        expect(warm.laidOut).toBe(0);
      }),
      { numRuns: 40 },
    );
  });
});

/** A chain of equal groups, each a small diamond whose top reads the group before. */
function layers(count: number, open: (layer: number) => boolean): CompoundGraph {
  const parent: number[] = [];
  const container: number[] = [];
  const ends: Array<[number, number]> = [];
  let before = -1;
  for (let i = 0; i < count; i++) {
    const group = parent.length;
    parent.push(-1);
    container.push(open(i) ? 1 : 0);
    let first = group;
    let last = group;
    if (open(i)) {
      first = parent.length;
      last = first + 3;
      for (let k = 0; k < 4; k++) {
        parent.push(group);
        container.push(0);
      }
      ends.push([first, first + 1], [first, first + 2], [first + 1, last], [first + 2, last]);
    }
    if (before >= 0) ends.push([before, first]);
    before = last;
  }
  const n = parent.length;
  return {
    boxCount: n,
    parent: Int32Array.from(parent),
    container: Uint8Array.from(container),
    width: Float64Array.from(container, (c) => (c ? 40 : 80)),
    height: Float64Array.from(container, (c) => (c ? 20 : 30)),
    edgeSource: Int32Array.from(ends, (e) => e[0]),
    edgeTarget: Int32Array.from(ends, (e) => e[1]),
    sourcePort: new Float32Array(ends.length).fill(Number.NaN),
    targetPort: new Float32Array(ends.length).fill(Number.NaN),
    edgeValue: Int32Array.from(ends, (e) => e[0]),
  };
}

describe("the cache", () => {
  it("lays equal groups out once", () => {
    const { laidOut, reused } = layoutCompound(layers(30, () => true));
    expect(laidOut).toBe(4); // the first, the last, all between, the whole
    expect(reused).toBe(27);
  });

  it("re-lays only the opened group and its ancestors", () => {
    const cache = new LayoutCache();
    layoutCompound(
      layers(30, (i) => i % 2 === 0),
      {},
      cache,
    );
    const opened = layoutCompound(
      layers(30, (i) => i % 2 === 0 || i === 7),
      {},
      cache,
    );
    expect(opened.laidOut).toBe(1); // the whole; the opened group looks like one that was open
  });

  it("forgets the oldest when full", () => {
    const cache = new LayoutCache(10);
    layoutCompound(
      layers(3, () => true),
      {},
      cache,
    );
    expect(
      layoutCompound(
        layers(3, () => true),
        {},
        cache,
      ).reused,
    ).toBe(0);
  });
});

/** Two groups of `n` steps each, joined crosswise; steps of one group are tied together so that they are one part. */
function twoGroups(n: number, partner: (i: number) => number, secondOpen = true): CompoundGraph {
  const parent = [-1, -1, ...Array.from({ length: n }, () => 0), 0, ...Array.from({ length: secondOpen ? n + 1 : 0 }, () => 1)];
  const ends: Array<[number, number]> = [];
  for (let i = 0; i < n; i++) {
    const from = 2 + i;
    const to = secondOpen ? 3 + n + partner(i) : 1;
    ends.push([2 + n, from], [from, to]);
    if (secondOpen) ends.push([to, 3 + 2 * n]);
  }
  const boxes = parent.length;
  return {
    boxCount: boxes,
    parent: Int32Array.from(parent),
    container: Uint8Array.from(parent, (_, b) => (b === 0 || (b === 1 && secondOpen) ? 1 : 0)),
    width: new Float64Array(boxes).fill(60),
    height: new Float64Array(boxes).fill(20),
    edgeSource: Int32Array.from(ends, (e) => e[0]),
    edgeTarget: Int32Array.from(ends, (e) => e[1]),
    sourcePort: new Float32Array(ends.length).fill(Number.NaN),
    targetPort: new Float32Array(ends.length).fill(Number.NaN),
    edgeValue: Int32Array.from(ends, (e) => e[0]),
  };
}

/** Frames one below the other; in each, what comes in meets the end of a long chain that begins there, and goes out. */
function stages(count: number, sideSteps: number): CompoundGraph {
  const parent: number[] = [];
  const ends: Array<[number, number]> = [];
  let stream = parent.push(-1) - 1;
  for (let i = 0; i < count; i++) {
    const frame = parent.push(-1) - 1;
    let side = parent.push(frame) - 1;
    for (let step = 1; step < sideSteps; step++) {
      const next = parent.push(frame) - 1;
      ends.push([side, next]);
      side = next;
    }
    const joins = parent.push(frame) - 1;
    ends.push([stream, joins], [side, joins]);
    stream = joins;
  }
  const boxes = parent.length;
  return {
    boxCount: boxes,
    parent: Int32Array.from(parent),
    container: Uint8Array.from(parent, (_, b) => (parent.includes(b) ? 1 : 0)),
    width: new Float64Array(boxes).fill(60),
    height: new Float64Array(boxes).fill(20),
    edgeSource: Int32Array.from(ends, (e) => e[0]),
    edgeTarget: Int32Array.from(ends, (e) => e[1]),
    sourcePort: new Float32Array(ends.length).fill(0.5),
    targetPort: new Float32Array(ends.length).fill(0.5),
    edgeValue: Int32Array.from(ends, (e) => e[0]),
  };
}

describe("frames and their outside", () => {
  it("keeps the main path through many frames straight, however long the side chains in them are", () => {
    const graph = stages(12, 6);
    const l = layoutCompound(graph);
    const trunk = Array.from(graph.parent.keys()).filter((b) => graph.edgeTarget.filter((t) => t === b).length === 2);
    expect(trunk.length).toBe(12);
    for (const b of trunk) expect(l.x[b]).toBeCloseTo(l.x[0], 5);
  });

  it("orders what is inside so that lines between two groups do not cross", () => {
    fc.assert(
      fc.property(fc.shuffledSubarray([0, 1, 2, 3, 4, 5, 6], { minLength: 7 }), (partners) => {
        const l = layoutCompound(twoGroups(7, (i) => partners[i]));
        const upper = Array.from(partners.keys()).sort((a, b) => l.x[2 + a] - l.x[2 + b]);
        const lower = upper.map((i) => l.x[3 + 7 + partners[i]]);
        expect(lower).toEqual([...lower].sort((a, b) => a - b));
      }),
      { numRuns: 40 },
    );
  });

  it("leaves a group as it stood when another one opens", () => {
    fc.assert(
      fc.property(fc.shuffledSubarray([0, 1, 2, 3, 4], { minLength: 5 }), (partners) => {
        const cache = new LayoutCache();
        const open = layoutCompound(
          twoGroups(5, (i) => partners[i]),
          {},
          cache,
        );
        const closed = twoGroups(5, (i) => partners[i], false);
        const previous = { x: open.x.slice(0, closed.boxCount), width: open.w.slice(0, closed.boxCount) };
        const after = layoutCompound({ ...closed, previous }, {}, cache);
        for (let b = 2; b < 8; b++) expect(after.x[b] - after.x[2]).toBeCloseTo(open.x[b] - open.x[2], 6);
      }),
      { numRuns: 40 },
    );
  });
});

describe("groups that people know", () => {
  it("wastes no room at a frame's head and foot: straight lines pass it within a gap as wide as its sides", () => {
    const graph = layers(3, (i) => i === 1);
    const l = layoutCompound(graph, { padding: 16 });
    const group = graph.container.indexOf(1);
    const inside = Array.from(graph.parent.keys()).filter((b) => graph.parent[b] === group);
    const left = Math.min(...inside.map((b) => l.x[b])) - l.x[group];
    const head = Math.min(...inside.map((b) => l.y[b])) - l.y[group] - graph.height[group];
    const foot = l.y[group] + l.h[group] - Math.max(...inside.map((b) => l.y[b] + l.h[b]));
    expect(left).toBeCloseTo(16, 6);
    expect(head).toBeCloseTo(16, 6);
    expect(foot).toBeCloseTo(16, 6);
  });

  it("lets a value that several boxes of a group read enter it once", () => {
    const graph: CompoundGraph = {
      boxCount: 5,
      parent: Int32Array.of(-1, -1, 1, 1, 1),
      container: Uint8Array.of(0, 1, 0, 0, 0),
      width: new Float64Array(5).fill(60),
      height: new Float64Array(5).fill(20),
      edgeSource: Int32Array.of(0, 0, 0),
      edgeTarget: Int32Array.of(2, 3, 4),
      sourcePort: new Float32Array(3).fill(Number.NaN),
      targetPort: new Float32Array(3).fill(Number.NaN),
      edgeValue: Int32Array.of(9, 9, 9),
    };
    const l = layoutCompound(graph);
    const entries = new Set<number>();
    for (let e = 0; e < 3; e++) {
      for (let p = l.pointStart[e]; p + 1 < l.pointStart[e + 1]; p++) {
        const [x1, y1, x2, y2] = l.points.subarray(2 * p, 2 * p + 4);
        if (y1 <= l.y[1] && y2 >= l.y[1] && y1 !== y2) entries.add(Math.round(x1 + ((x2 - x1) * (l.y[1] - y1)) / (y2 - y1)));
      }
    }
    expect(entries.size).toBe(1);
  });
});
