/** Numbered operands may enter a box in another order than theirs, if fewer lines cross then. */
import { describe, expect, it } from "vitest";
import { layoutCompound, layoutFlat } from "../../src/core/layout";
import type { CompoundGraph, FlatGraph } from "../../src/core/layout/types";
import { flatGraph } from "./graphs";

/**
 * AITemplate's tutorial: X, weight and bias → gemm → h; h, weight, bias and X → gemm → s; s, weight and bias → layernorm. X is the first
 * operand of one product and the last of the other.
 */
const [X, W1, B1, GEMM1, H, W2, B2, GEMM2, S, GAIN, BIAS, NORM] = Array.from({ length: 12 }, (_, i) => i);
const OPERANDS = [
  [GEMM1, X, W1, B1],
  [GEMM2, H, W2, B2, X],
  [NORM, S, GAIN, BIAS],
];

function tutorial(loose: boolean): FlatGraph {
  const edges: [number, number][] = [];
  const fractions: number[] = [];
  for (const [box, ...operands] of OPERANDS)
    operands.forEach((operand, i) => {
      edges.push([operand, box]);
      const main = operand === H || operand === S;
      fractions.push(box === GEMM1 ? (i + 1) / 4 : main ? 0.5 : 0.5 + i / (2 * operands.length));
    });
  const numbered = edges.map(() => 1);
  edges.push([GEMM1, H], [GEMM2, S]);
  const graph = flatGraph({ nodeCount: 12, edges });
  return {
    ...graph,
    targetPort: Float64Array.from(edges, ([, box], e) => ((fractions[e] ?? 0.5) - 0.5) * graph.width[box]),
    ...(loose ? { loosePorts: Uint8Array.from(edges, (_, e) => numbered[e] ?? 0) } : {}),
  };
}

describe("numbered operands", () => {
  it("cross in the order of the operands, and not in the order in which they arrive", () => {
    expect(layoutFlat(tutorial(false)).crossings).toBeGreaterThan(0);
    expect(layoutFlat(tutorial(true)).crossings).toBe(0);
  });

  it("enter from left to right as they arrive, the main one in the middle", () => {
    const graph = tutorial(true);
    const layout = layoutFlat(graph);
    const heads = (box: number) =>
      Array.from(graph.edgeTarget.keys())
        .filter((e) => graph.edgeTarget[e] === box)
        .map((e) => ({
          source: graph.edgeSource[e],
          from: layout.points[2 * layout.pointStart[e + 1] - 4],
          to: layout.points[2 * layout.pointStart[e + 1] - 2],
        }))
        .sort((a, b) => a.to - b.to);
    for (const [box, ...operands] of OPERANDS) {
      const entering = heads(box);
      expect(entering.map(({ source }) => source).sort()).toEqual([...operands].sort());
      const distinct = new Set(entering.map(({ to }) => Math.round(to)));
      expect(distinct.size).toBe(operands.length);
    }
    for (const [box, main] of [
      [GEMM2, H],
      [NORM, S],
    ])
      expect(heads(box).find(({ source }) => source === main)?.to).toBeCloseTo(layout.x[box]);
  });

  it("keep their order where another one crosses nothing less, whichever value a frame lets out first", () => {
    const layout = layoutCompound(attention());
    const { edgeSource, edgeTarget } = attention();
    const heads = (box: number) =>
      Array.from(edgeTarget.keys())
        .filter((e) => edgeTarget[e] === box)
        .sort((a, b) => layout.points[2 * layout.pointStart[a + 1] - 2] - layout.points[2 * layout.pointStart[b + 1] - 2])
        .map((e) => edgeSource[e]);
    expect(heads(SCORES)).toEqual([PROJECTED, PERMUTED]);
    expect(heads(DIFFERENCE)).toEqual([MASKED, MAXIMUM]);
    expect(heads(QUOTIENT)).toEqual([EXP, SUM]);
    expect(heads(MIXED)).toEqual([QUOTIENT, PROJECTED]);
  });

  it("keep their order where whole branches must change sides for it", () => {
    expect(layoutFlat(branches())).toMatchObject({ crossings: 0, outOfOrder: 0 });
  });
});

/** hidet's attention: three equal projections, drawn once in a frame. Two make the scores, of which a softmax is taken; the third is mixed. */
const [FRAME, PROJECTED, PERMUTED, SCORES, MASKED, MAXIMUM, DIFFERENCE, EXP, SUM, QUOTIENT, MIXED] = Array.from(
  { length: 11 },
  (_, i) => i,
);

function attention(): CompoundGraph {
  const operands: ReadonlyArray<readonly number[]> = [
    [PERMUTED, PROJECTED],
    [SCORES, PROJECTED, PERMUTED],
    [MASKED, SCORES],
    [MAXIMUM, MASKED],
    [DIFFERENCE, MASKED, MAXIMUM],
    [EXP, DIFFERENCE],
    [SUM, EXP],
    [QUOTIENT, EXP, SUM],
    [MIXED, QUOTIENT, PROJECTED],
  ];
  const edges = operands.flatMap(([box, ...sources]) =>
    sources.map((source, i) => ({ source, box, port: (i + 1) / (sources.length + 1) })),
  );
  const count = 11;
  return {
    boxCount: count,
    parent: Int32Array.from({ length: count }, (_, box) => (box === PROJECTED ? FRAME : -1)),
    container: Uint8Array.from({ length: count }, (_, box) => (box === FRAME ? 1 : 0)),
    width: new Float64Array(count).fill(120),
    height: new Float64Array(count).fill(40),
    edgeSource: Int32Array.from(edges, ({ source }) => source),
    edgeTarget: Int32Array.from(edges, ({ box }) => box),
    sourcePort: new Float32Array(edges.length).fill(0.5),
    targetPort: Float32Array.from(edges, ({ port }) => port),
    edgeLoose: new Uint8Array(edges.length).fill(1),
    edgeValue: new Int32Array(edges.length).fill(-1),
  };
}

/** Boxes of one or two operands. No single box that moves gives all of them their order. */
function branches(): FlatGraph {
  const operands = [[], [0], [0], [2], [0], [2], [4], [0, 6], [2, 5], [1], [9], [7], [7, 3]];
  const edges = operands.flatMap((sources, box) => sources.map((source): [number, number] => [source, box]));
  const graph = flatGraph({ nodeCount: operands.length, edges });
  const place = ([source, box]: [number, number]): number => (operands[box].indexOf(source) + 1) / (operands[box].length + 1) - 0.5;
  return {
    ...graph,
    targetPort: Float64Array.from(edges, (edge) => place(edge) * graph.width[edge[1]]),
    loosePorts: Uint8Array.from(edges, ([, box]) => (operands[box].length > 1 ? 1 : 0)),
  };
}
