import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { layoutFlat } from "../../src/core/layout";
import { anyEdges, boxesOf, flatGraph, linesThroughBoxes, overlaps } from "./graphs";

vi.setConfig({ testTimeout: 600_000 });

const all = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

describe("layoutFlat on any graph", () => {
  it("keeps boxes apart and inside the drawing", () => {
    fc.assert(
      fc.property(anyEdges, (list) => {
        const graph = flatGraph(list);
        const layout = layoutFlat(graph);
        const boxes = boxesOf(graph, layout);
        expect(overlaps(boxes, all(list.nodeCount))).toEqual([]);
        for (let v = 0; v < list.nodeCount; v++) {
          expect(boxes.left[v]).toBeGreaterThanOrEqual(-1e-6);
          expect(boxes.top[v]).toBeGreaterThanOrEqual(-1e-6);
          expect(boxes.left[v] + boxes.width[v]).toBeLessThanOrEqual(layout.width + 1e-6);
          expect(boxes.top[v] + boxes.height[v]).toBeLessThanOrEqual(layout.height + 1e-6);
        }
      }),
    );
  });

  it("points every edge forward unless it says that it was turned round", () => {
    fc.assert(
      fc.property(anyEdges, (list) => {
        const graph = flatGraph(list);
        const layout = layoutFlat(graph);
        list.edges.forEach(([u, v], e) => {
          if (layout.reversed[e]) return;
          expect(layout.rank[v]).toBeGreaterThan(layout.rank[u]);
          expect(layout.y[v] - graph.height[v] / 2).toBeGreaterThan(layout.y[u] + graph.height[u] / 2);
        });
      }),
    );
  });

  it("turns nothing round in a graph without cycles", () => {
    fc.assert(
      fc.property(anyEdges, (list) => {
        const edges = list.edges.filter(([u, v]) => u < v);
        expect(layoutFlat(flatGraph({ ...list, edges })).reversed).toEqual(new Uint8Array(edges.length));
      }),
    );
  });

  it("draws lines from port to port, finite, and never through a foreign box", () => {
    fc.assert(
      fc.property(anyEdges, (list) => {
        const ports = (k: number) => Float64Array.from(list.edges, (_, e) => ((e * k) % 20) - 10);
        const graph = flatGraph(list, { sourcePort: ports(7), targetPort: ports(11) });
        const layout = layoutFlat(graph);
        expect(layout.points.every(Number.isFinite)).toBe(true);
        expect(layout.pointStart[list.edges.length] * 2).toBe(layout.points.length);
        list.edges.forEach(([u, v], e) => {
          const first = layout.points.subarray(2 * layout.pointStart[e]);
          const last = layout.points.subarray(2 * layout.pointStart[e + 1] - 2);
          expect(layout.pointStart[e + 1] - layout.pointStart[e]).toBeGreaterThanOrEqual(2);
          expect(first[0]).toBeCloseTo(layout.x[u] + graph.sourcePort![e], 6);
          expect(first[1]).toBeCloseTo(layout.y[u] + graph.height[u] / 2, 6);
          expect(last[0]).toBeCloseTo(layout.x[v] + graph.targetPort![e], 6);
          expect(last[1]).toBeCloseTo(layout.y[v] - graph.height[v] / 2, 6);
        });
        expect(linesThroughBoxes(graph, layout, boxesOf(graph, layout), all(list.nodeCount))).toEqual([]);
      }),
    );
  });

  it("gives the same bits for the same input", () => {
    fc.assert(
      fc.property(anyEdges, (list) => {
        expect(layoutFlat(flatGraph(list))).toEqual(layoutFlat(flatGraph(list)));
      }),
      { numRuns: 30 },
    );
  });

  it("puts pinned boxes on the first and last rank, alone there", () => {
    fc.assert(
      fc.property(anyEdges, fc.array(fc.nat({ max: 2 }), { minLength: 41, maxLength: 41 }), (list, pins) => {
        const pin = Uint8Array.from({ length: list.nodeCount }, (_, v) => pins[v]);
        const graph = flatGraph(list, { pin, height: new Float64Array(list.nodeCount).fill(20) });
        const layout = layoutFlat(graph);
        for (let v = 0; v < list.nodeCount; v++) {
          if (pin[v] === 1) expect(layout.rank[v]).toBe(0);
          if (pin[v] === 2) expect(layout.y[v]).toBeGreaterThanOrEqual(Math.max(...layout.y) - 1e-6);
        }
        expect(overlaps(boxesOf(graph, layout), all(list.nodeCount))).toEqual([]);
      }),
    );
  });
});

describe("layoutFlat with earlier places", () => {
  it("keeps the order of the boxes that stayed, whatever is new around them", () => {
    fc.assert(
      fc.property(anyEdges, fc.array(fc.option(fc.nat({ max: 500 })), { minLength: 41, maxLength: 41 }), (list, xs) => {
        // One part only: how unconnected parts are packed is another matter.
        const edges = [...list.edges, ...Array.from({ length: list.nodeCount }, (_, v) => [list.nodeCount, v] as const)];
        const nodeCount = list.nodeCount + 1;
        const previousX = Float64Array.from({ length: nodeCount }, (_, v) => xs[v] ?? Number.NaN);
        const graph = flatGraph({ nodeCount, edges }, { previousX });
        const layout = layoutFlat(graph);
        expect(overlaps(boxesOf(graph, layout), all(nodeCount))).toEqual([]);
        for (let a = 0; a < nodeCount; a++) {
          for (let b = 0; b < nodeCount; b++) {
            if (layout.rank[a] === layout.rank[b] && previousX[a] < previousX[b]) expect(layout.x[a]).toBeLessThan(layout.x[b]);
          }
        }
      }),
    );
  });
});

describe("layoutFlat on shapes that people know", () => {
  it("keeps a long chain straight", () => {
    const edges = Array.from({ length: 499 }, (_, i) => [i, i + 1] as const);
    const { x } = layoutFlat(flatGraph({ nodeCount: 500, edges }));
    expect(Math.max(...x) - Math.min(...x)).toBeLessThan(1e-6);
  });

  it.each([1, 2, 3, 4, 5])("centres one box above and below %i equal ones", (n) => {
    const edges = Array.from(
      { length: n },
      (_, i) =>
        [
          [n, i],
          [i, n + 1],
        ] as const,
    ).flat();
    const { x } = layoutFlat(flatGraph({ nodeCount: n + 2, edges }, { width: new Float64Array(n + 2).fill(60) }));
    const middle = (Math.min(...x.subarray(0, n)) + Math.max(...x.subarray(0, n))) / 2;
    expect(Math.abs(x[n] - middle)).toBeLessThan(1);
    expect(Math.abs(x[n + 1] - middle)).toBeLessThan(1);
  });

  it("keeps a long trunk straight where another branch goes on as long", () => {
    const edges: Array<[number, number]> = [
      [0, 1],
      [1, 2],
      [1, 12],
    ];
    for (let i = 2; i < 11; i++) edges.push([i, i + 1], [i + 10, i + 11]);
    const { x } = layoutFlat(flatGraph({ nodeCount: 22, edges }));
    const branches = [2, 12].map((first) => x.subarray(first, first + 10));
    for (const b of branches) expect(Math.max(...b) - Math.min(...b)).toBeLessThan(1e-6);
    expect(branches.some((b) => Math.abs(b[0] - x[0]) < 1e-6)).toBe(true);
  });

  it("packs isolated boxes into a block, not into a row", () => {
    const layout = layoutFlat(flatGraph({ nodeCount: 1000, edges: [] }));
    expect(layout.width / layout.height).toBeLessThan(4);
    expect(layout.height / layout.width).toBeLessThan(4);
  });

  it("puts a constant right above its only user, however late that is", () => {
    const edges: Array<[number, number]> = Array.from({ length: 30 }, (_, i) => [i, i + 1]);
    edges.push([31, 25]);
    const { rank } = layoutFlat(flatGraph({ nodeCount: 32, edges }));
    expect(rank[31]).toBe(rank[25] - 1);
  });
});
