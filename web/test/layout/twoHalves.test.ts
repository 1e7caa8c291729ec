import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type CompoundGraph, type CompoundLayout, layoutTwoHalves } from "../../src/core/layout";
import { blocksOf, type Halves } from "../../src/core/base/halves";
import { lanesFor } from "../../src/core/layout/twoHalves/lanes";
import { longestIncreasing } from "../../src/core/layout/twoHalves/stretch";
import { anyCompound, overlaps } from "./graphs";

/** Any boxes in boxes with two of the outermost as halves, and any of their boxes as pairs. */
const anyHalves: fc.Arbitrary<{ graph: CompoundGraph; halves: Halves }> = fc
  .record({ graph: anyCompound, which: fc.tuple(fc.nat(), fc.nat()), pairs: fc.array(fc.tuple(fc.nat(), fc.nat()), { maxLength: 8 }) })
  .filter(({ graph }) => graph.parent.filter((p) => p < 0).length >= 2)
  .map(({ graph, which, pairs }) => {
    const roots = [...graph.parent.keys()].filter((box) => graph.parent[box] < 0);
    const forward = roots[which[0] % roots.length];
    const others = roots.filter((box) => box !== forward);
    const backward = others[which[1] % others.length];
    const under = (half: number) => [...graph.parent.keys()].filter((box) => isWithin(graph, box, half));
    const [ahead, back] = [under(forward), under(backward)];
    return {
      graph,
      halves: {
        forward,
        backward,
        pairs: ahead.length && back.length ? pairs.map(([a, b]) => [ahead[a % ahead.length], back[b % back.length]] as const) : [],
      },
    };
  });

function isWithin(graph: CompoundGraph, box: number, ancestor: number): boolean {
  for (let b = graph.parent[box]; b >= 0; b = graph.parent[b]) if (b === ancestor) return true;
  return false;
}

function onBorder(l: CompoundLayout, box: number, x: number, y: number): boolean {
  const near = (a: number, b: number) => Math.abs(a - b) < 1e-6;
  const within = (a: number, low: number, size: number) => a >= low - 1e-6 && a <= low + size + 1e-6;
  return (
    within(x, l.x[box], l.w[box]) &&
    within(y, l.y[box], l.h[box]) &&
    (near(y, l.y[box]) || near(y, l.y[box] + l.h[box]) || near(x, l.x[box]) || near(x, l.x[box] + l.w[box]))
  );
}

describe("forward beside backward, with any boxes in boxes", () => {
  it("keeps siblings apart, children inside their frame below its title, and leaves as large as they were", () => {
    fc.assert(
      fc.property(anyHalves, ({ graph, halves }) => {
        const l = layoutTwoHalves(graph, halves);
        for (let b = 0; b < graph.boxCount; b++) {
          const p = graph.parent[b];
          expect(l.x[b]).toBeGreaterThanOrEqual((p < 0 ? 0 : l.x[p]) - 1e-6);
          expect(l.y[b]).toBeGreaterThanOrEqual((p < 0 ? 0 : l.y[p] + graph.height[p]) - 1e-6);
          expect(l.x[b] + l.w[b]).toBeLessThanOrEqual((p < 0 ? l.width : l.x[p] + l.w[p]) + 1e-6);
          expect(l.y[b] + l.h[b]).toBeLessThanOrEqual((p < 0 ? l.height : l.y[p] + l.h[p]) + 1e-6);
          if (!graph.container[b]) expect([l.w[b], l.h[b]]).toEqual([graph.width[b], graph.height[b]]);
        }
        for (let p = -1; p < graph.boxCount; p++) {
          const children = [...graph.parent.keys()].filter((b) => graph.parent[b] === p);
          expect(overlaps({ left: l.x, top: l.y, width: l.w, height: l.h }, children)).toEqual([]);
        }
      }),
    );
  });

  it("puts loose inputs next to each other where they fit, so that no line runs behind a box", () => {
    const place = (inputs: number) => {
      const boxCount = inputs + 4;
      const [forward, backward] = [inputs, inputs + 1];
      const graph: CompoundGraph = {
        boxCount,
        parent: Int32Array.from({ length: boxCount }, (_, box) => (box < inputs + 2 ? -1 : box - 2)),
        container: Uint8Array.from({ length: boxCount }, (_, box) => (box === forward || box === backward ? 1 : 0)),
        width: new Float64Array(boxCount).fill(60),
        height: new Float64Array(boxCount).fill(20),
        edgeSource: Int32Array.from([...Array(inputs).keys(), inputs + 2]),
        edgeTarget: Int32Array.from([...new Array(inputs).fill(inputs + 2), inputs + 3]),
        sourcePort: new Float32Array(inputs + 1).fill(Number.NaN),
        targetPort: new Float32Array(inputs + 1).fill(Number.NaN),
        edgeValue: Int32Array.from({ length: inputs + 1 }, (_, edge) => edge),
      };
      return new Set(layoutTwoHalves(graph, { forward, backward, pairs: [] }).y.subarray(0, inputs)).size;
    };
    expect(place(2)).toBe(1);
    expect(place(40)).toBeGreaterThan(1);
  });

  it("draws every edge as one finite line that begins and ends on a border of its boxes", () => {
    fc.assert(
      fc.property(anyHalves, ({ graph, halves }) => {
        const l = layoutTwoHalves(graph, halves);
        expect(l.points.every(Number.isFinite)).toBe(true);
        for (let e = 0; e < graph.edgeSource.length; e++) {
          const [s, t] = [graph.edgeSource[e], graph.edgeTarget[e]];
          // A view draws no line from a half to itself or to what is in it.
          if (
            [halves.forward, halves.backward].some(
              (half) => (s === half || isWithin(graph, s, half)) && (t === half || isWithin(graph, t, half)) && (s === half || t === half),
            )
          )
            continue;
          const [from, to] = [2 * l.pointStart[e], 2 * l.pointStart[e + 1] - 2];
          expect(to).toBeGreaterThan(from);
          expect(onBorder(l, s, l.points[from], l.points[from + 1])).toBe(true);
          expect(onBorder(l, t, l.points[to], l.points[to + 1])).toBe(true);
        }
      }),
    );
  });

  it("puts the forward half left of the backward half", () => {
    fc.assert(
      fc.property(anyHalves, ({ graph, halves }) => {
        const l = layoutTwoHalves(graph, halves);
        expect(l.x[halves.forward] + l.w[halves.forward]).toBeLessThan(l.x[halves.backward]);
      }),
    );
  });
});

/** Three layers forward and three backward, each backward one reading its forward one; the second forward layer is tall. */
function trainStep(): { graph: CompoundGraph; halves: Halves } {
  const ends = [
    [1, 2],
    [2, 3],
    [3, 7],
    [7, 6],
    [6, 5],
    [1, 5],
    [2, 6],
  ];
  return {
    graph: {
      boxCount: 9,
      parent: Int32Array.of(-1, 0, 0, 0, -1, 4, 4, 4, -1),
      container: Uint8Array.of(1, 0, 0, 0, 1, 0, 0, 0, 0),
      width: new Float64Array(9).fill(60),
      height: Float64Array.of(20, 30, 140, 30, 20, 30, 30, 30, 24),
      edgeSource: Int32Array.from([...ends.map(([s]) => s), 5]),
      edgeTarget: Int32Array.from([...ends.map(([, t]) => t), 8]),
      sourcePort: new Float32Array(8).fill(Number.NaN),
      targetPort: new Float32Array(8).fill(Number.NaN),
      edgeValue: Int32Array.of(0, 1, 2, 3, 4, 0, 1, 5),
    },
    halves: {
      forward: 0,
      backward: 4,
      pairs: [
        [1, 5],
        [2, 6],
        [3, 7],
      ],
    },
  };
}

describe("a train step", () => {
  it("has each layer's backward at the height of its forward, flowing upwards", () => {
    const { graph, halves } = trainStep();
    const l = layoutTwoHalves(graph, halves);
    const middle = (box: number) => l.y[box] + l.h[box] / 2;
    expect([l.y[0], l.h[0]]).toEqual([l.y[4], l.h[4]]);
    for (const [ahead, back] of halves.pairs) expect(middle(ahead)).toBeCloseTo(middle(back), 6);
    expect(middle(7)).toBeGreaterThan(middle(6));
    expect(middle(6)).toBeGreaterThan(middle(5));
  });

  it("draws what is saved for backward straight across", () => {
    const { graph, halves } = trainStep();
    const l = layoutTwoHalves(graph, halves);
    for (const e of [2, 5, 6])
      expect(new Set(Array.from(l.points.slice(2 * l.pointStart[e], 2 * l.pointStart[e + 1])).filter((_, i) => i % 2)).size).toBe(1);
  });

  it("leads what is saved around a box beside its source that reaches further down", () => {
    const { graph, halves } = trainStep();
    const beside = graph.boxCount;
    const ends = [...Array.from(graph.edgeSource, (source, e) => [source, graph.edgeTarget[e]]), [1, beside], [beside, 3]];
    // As in the demo: two chains that meet again, with a tall box in the second.
    const crowded: CompoundGraph = {
      boxCount: beside + 1,
      parent: Int32Array.of(...graph.parent, 0),
      container: Uint8Array.of(...graph.container, 0),
      width: new Float64Array(beside + 1).fill(60),
      height: Float64Array.of(20, 30, 30, 30, 20, 30, 30, 30, 24, 60),
      edgeSource: Int32Array.from(ends, ([source]) => source),
      edgeTarget: Int32Array.from(ends, ([, target]) => target),
      sourcePort: new Float32Array(ends.length).fill(Number.NaN),
      targetPort: new Float32Array(ends.length).fill(Number.NaN),
      edgeValue: Int32Array.from(ends.keys()),
    };
    const l = layoutTwoHalves(crowded, halves);
    const saved = ends.findIndex(([source, target]) => source === 2 && target === 6);
    const points = Array.from(l.points.slice(2 * l.pointStart[saved], 2 * l.pointStart[saved + 1]));
    expect(l.x[beside]).toBeGreaterThan(l.x[2]);
    for (let i = 0; i + 3 < points.length; i += 2) {
      const [x0, y0, x1, y1] = points.slice(i, i + 4);
      const isApart =
        Math.max(x0, x1) <= l.x[beside] ||
        Math.min(x0, x1) >= l.x[beside] + l.w[beside] ||
        Math.max(y0, y1) <= l.y[beside] ||
        Math.min(y0, y1) >= l.y[beside] + l.h[beside];
      expect(isApart).toBe(true);
    }
  });

  it("places what comes after the halves", () => {
    const { graph, halves } = trainStep();
    expect([...blocksOf(graph, halves)]).toEqual([1, 1, 1, 1, 2, 2, 2, 2, 3]);
  });
});

describe("the parts", () => {
  it("finds a longest increasing subsequence", () => {
    expect(longestIncreasing([5, 1, 2, 9, 3, 4])).toEqual([1, 2, 4, 5]);
    expect(longestIncreasing([])).toEqual([]);
  });

  it("gives lines of different values that meet different lanes", () => {
    const { lane, count } = lanesFor(
      [
        { from: 0, to: 10, value: 1 },
        { from: 5, to: 20, value: 2 },
        { from: 40, to: 50, value: 3 },
        { from: 2, to: 9, value: 1 },
      ],
      9,
    );
    expect([...lane]).toEqual([0, 1, 0, 0]);
    expect(count).toBe(2);
  });
});
