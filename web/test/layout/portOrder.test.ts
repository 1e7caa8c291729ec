/** Numbered operands may enter a box in another order than theirs, if fewer lines cross then. */
import { describe, expect, it } from "vitest";
import { layoutFlat } from "../../src/core/layout";
import type { FlatGraph } from "../../src/core/layout/types";
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
});
