/** Boxes wider than a screen, as open groups are: they stay below each other instead of drifting to one side. */
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { layoutFlat } from "../../src/core/layout";
import { distances } from "../../src/core/layout/coordinates/coordinates";
import { findSeparations } from "../../src/core/layout/coordinates/separation";
import { packings, WIDEST } from "../../src/core/layout/coordinates/squeeze";
import { buildElements } from "../../src/core/layout/elements";
import { sideLanes } from "../../src/core/layout/order/sideLanes";
import { anyEdges, boxesOf, type EdgeList, flatGraph, linesThroughBoxes, overlaps } from "./graphs";

vi.setConfig({ testTimeout: 600_000 });

const WIDE = 2000;
const STEPS = 20;

/** `wide` boxes in a chain, each of which enters the next one at the far end; then what is around them. */
function chain(around: EdgeList["edges"], nodeCount: number) {
  const steps = Array.from({ length: STEPS - 1 }, (_, i) => [i, i + 1] as const);
  const edges = [...steps, ...around];
  const ends = (sign: number) => Float64Array.from(edges, ([u, v]) => (u < STEPS && v < STEPS ? sign * (WIDE / 2 - 10) : 0));
  return flatGraph(
    { nodeCount, edges },
    {
      width: Float64Array.from({ length: nodeCount }, (_, v) => (v < STEPS ? WIDE : 1)),
      sourcePort: ends(-1),
      targetPort: ends(1),
    },
  );
}

describe("wide boxes", () => {
  it("keep apart, and lines keep off them, whatever the graph", () => {
    const pins = fc.array(fc.constantFrom(0, 0, 1, 2), { minLength: 40, maxLength: 40 });
    fc.assert(
      fc.property(anyEdges, pins, ({ nodeCount, edges }, pinned) => {
        const pin = Uint8Array.from({ length: nodeCount }, (_, v) => pinned[v]);
        const list = { nodeCount, edges: edges.filter(([u, v]) => pin[u] !== 2 && pin[v] !== 1) };
        const plain = flatGraph(list);
        const graph = { ...plain, pin, width: plain.width.map((each, v) => (pin[v] ? 1 : 30 * each)) };
        const layout = layoutFlat(graph);
        const [boxes, free] = [boxesOf(graph, layout), Array.from(pin.keys()).filter((v) => !pin[v])];
        expect(overlaps(boxes, free)).toEqual([]);
        expect(linesThroughBoxes(graph, layout, boxes, free)).toEqual([]);
      }),
      { numRuns: 50 },
    );
  });

  it("that enter each other at the far end are not a staircase", () => {
    expect(layoutFlat(chain([], STEPS)).width).toBeLessThanOrEqual(Math.max(WIDE, WIDEST));
  });

  it("go to the middle although a line passes beside them", () => {
    // A wide frame, a narrower one below it, which enters it at the left end, and a line from above both to below both.
    const edges = [
      [0, 1],
      [1, 2],
      [2, 3],
      [0, 3],
    ] as const;
    const graph = flatGraph(
      { nodeCount: 4, edges: [...edges] },
      {
        width: Float64Array.of(100, 4000, 1400, 100),
        sourcePort: Float64Array.of(0, -1900, 0, 0),
        targetPort: Float64Array.of(0, 0, 0, 0),
      },
    );
    const layout = layoutFlat(graph);
    expect(Math.abs(layout.x[2] - layout.x[1])).toBeLessThan(100);
    const boxes = boxesOf(graph, layout);
    expect(overlaps(boxes, [0, 1, 2, 3])).toEqual([]);
    expect(linesThroughBoxes(graph, layout, boxes, [0, 1, 2, 3])).toEqual([]);
  });

  it("let lines from the frame pass beside all of them", () => {
    // The line to box k + 2 passes box k on its left and box k + 1 on its right.
    const ports = Array.from({ length: STEPS - 2 }, (_, i) => STEPS + i);
    const nodeCount = STEPS + ports.length;
    const graph = {
      ...chain(
        ports.map((port, i) => [port, i + 2] as const),
        nodeCount,
      ),
      pin: Uint8Array.from({ length: nodeCount }, (_, v) => (v < STEPS ? 0 : 1)),
    };
    const rank = Int32Array.from({ length: nodeCount }, (_, v) => (v < STEPS ? v + 1 : 0));
    const elements = buildElements(graph, new Uint8Array(graph.edgeSource.length), rank);
    const lanes = elements.segmentOfEdge.filter((segment) => segment >= 0);
    const sequence = [...ports, ...Array.from({ length: STEPS }, (_, box) => (box < lanes.length ? [box, lanes[box]] : [box])).flat()];
    const position = new Int32Array(elements.count);
    for (const [at, element] of sequence.entries()) position[element] = at;
    const gaps = { betweenBoxes: 24, besideSegment: 12, betweenSegments: 8 };
    const widthOf = (order: Int32Array) => {
      const separations = findSeparations(elements, order);
      return packings(elements, separations, distances(elements, separations, graph.width, gaps, graph.pin), order, graph.width).width;
    };
    const order = sideLanes(elements, position, graph, gaps);
    expect(widthOf(position)).toBeGreaterThan((STEPS - 2) * WIDE);
    expect(widthOf(order)).toBeLessThan(widthOf(position) / 4);
    for (let box = 1; box < STEPS; box++) expect(order[box]).toBeGreaterThan(order[box - 1]);
  });
});

describe("wide rows", () => {
  const COUNT = 40;
  const APART = 100;
  /** Many boxes, one that all of them feed, and as many that it feeds. */
  const fan = flatGraph(
    {
      nodeCount: 2 * COUNT + 1,
      edges: Array.from({ length: COUNT }, (_, i) => [[i, COUNT] as const, [COUNT, COUNT + 1 + i] as const]).flat(),
    },
    { width: new Float64Array(2 * COUNT + 1).fill(APART), height: new Float64Array(2 * COUNT + 1).fill(30) },
  );

  it("of inputs and of results are several rows, and lines pass between their boxes", () => {
    const layout = layoutFlat(fan);
    expect(layout.width).toBeLessThan((COUNT * APART) / 2);
    const boxes = boxesOf(fan, layout);
    const all = Array.from(fan.width.keys());
    expect(overlaps(boxes, all)).toEqual([]);
    expect(linesThroughBoxes(fan, layout, boxes, all)).toEqual([]);
    for (const [e, u] of fan.edgeSource.entries()) expect(layout.y[u]).toBeLessThan(layout.y[fan.edgeTarget[e]]);
  });

  it("of high boxes stay: below each other they would be longer than wide", () => {
    const high = layoutFlat({ ...fan, height: fan.height.map(() => 400) });
    expect(high.width).toBeGreaterThan(COUNT * APART);
  });
});
