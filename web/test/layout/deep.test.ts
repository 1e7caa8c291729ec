/** Very deep drawings: what leads far takes no room. */
import { describe, expect, it } from "vitest";
import { type CompoundGraph, layoutCompound, layoutDeep } from "../../src/core/layout";
import { farEdges } from "../../src/core/layout/compound/farEdges";

const STEPS = 6;
const INPUTS = 40;

/** A chain of layers, one of layers that run back and read what the first ones saved, and inputs that one last box reads. */
function trainStep(layers: number): CompoundGraph & { readonly named: Readonly<Record<string, number>> } {
  const parent: number[] = [];
  const container: number[] = [];
  const edges: [number, number][] = [];
  const box = (around: number, open = 0) => {
    parent.push(around);
    container.push(open);
    return parent.length - 1;
  };
  const [forward, backward] = [box(-1, 1), box(-1, 1)];
  const chain = (around: number, before: number) => {
    const layer = box(around, 1);
    const steps = Array.from({ length: STEPS }, () => box(layer));
    for (const [i, step] of steps.entries()) edges.push([i ? steps[i - 1] : before, step]);
    return steps;
  };
  const ids = box(-1);
  const saved: number[][] = [];
  for (let i = 0; i < layers; i++) saved.push(chain(forward, saved.at(-1)?.at(-1) ?? ids));
  let last = saved.at(-1)!.at(-1)!;
  for (const values of [...saved].reverse()) {
    const steps = chain(backward, last);
    for (const [i, value] of values.entries()) edges.push([value, steps[STEPS - 1 - i]]);
    last = steps.at(-1)!;
  }
  const output = box(-1);
  edges.push([last, output]);
  for (let i = 0; i < INPUTS; i++) edges.push([box(-1), output]);
  const count = parent.length;
  const free = new Float32Array(edges.length).fill(Number.NaN);
  return {
    boxCount: count,
    parent: Int32Array.from(parent),
    container: Uint8Array.from(container),
    width: new Float64Array(count).fill(100),
    height: new Float64Array(count).fill(40),
    edgeSource: Int32Array.from(edges, ([from]) => from),
    edgeTarget: Int32Array.from(edges, ([, to]) => to),
    sourcePort: free,
    targetPort: free,
    edgeValue: new Int32Array(edges.length).fill(-1),
    named: { forward, backward, ids, output },
  };
}

const [small, deep] = [trainStep(8), trainStep(80)];

describe("a very deep drawing", () => {
  it("gives far edges no room, and the others their lines", () => {
    const layout = layoutDeep(deep);
    expect(layoutCompound(deep).width).toBeGreaterThan(3 * layout.width);
    const { far, pointStart } = layout;
    expect(far).toHaveLength(deep.edgeSource.length);

    expect(Array.from(deep.edgeSource.keys()).every((e) => !far?.[e] || pointStart[e + 1] - pointStart[e] === 2)).toBe(true);
  });

  it("keeps the order of what only far edges join", () => {
    const { y, h } = layoutDeep(deep);
    const { forward, backward, ids, output } = deep.named;
    const [a, b, c, d] = [ids, forward, backward, output].map((box) => y[box]);
    expect([a, b, c, d]).toEqual([a, b, c, d].sort((p, q) => p - q));
    expect(c).toBeGreaterThan(b + h[forward]);
  });

  it("has a number for most of very many inputs of one box", () => {
    const { far } = layoutDeep(deep);
    const isInput = (e: number) => deep.edgeTarget[e] === deep.named.output && deep.parent[deep.edgeSource[e]] < 0;
    const inputs = Array.from(deep.edgeSource.keys()).filter(isInput);
    expect(inputs.filter((e) => !far?.[e]).length).toBeLessThan(INPUTS / 2);
  });

  it("has ends where the boxes are, in both directions", () => {
    for (const direction of ["TB", "LR"] as const) {
      const { far, points, pointStart, x, y, w, h } = layoutDeep(deep, { direction });
      const down = direction === "TB";
      const e = far!.indexOf(1);
      const [from, to] = [deep.edgeSource[e], deep.edgeTarget[e]];
      const ends = Array.from(points.subarray(2 * pointStart[e], 2 * pointStart[e + 1]));
      const middle = (box: number) => (down ? x[box] + w[box] / 2 : y[box] + h[box] / 2);
      const [start, end] = down ? [y[from] + h[from], y[to]] : [x[from] + w[from], x[to]];
      expect(ends).toEqual(down ? [middle(from), start, middle(to), end] : [start, middle(from), end, middle(to)]);
    }
  });

  it("packs what only one box with very many arrows joins, deep or not", () => {
    const chains = 400;
    const output = 2 * chains;
    const ends = Array.from({ length: chains }, (_, i) => [
      [2 * i, 2 * i + 1],
      [2 * i + 1, output],
    ]).flat();
    const free = new Float32Array(ends.length).fill(Number.NaN);
    const updates: CompoundGraph = {
      boxCount: output + 1,
      parent: new Int32Array(output + 1).fill(-1),
      container: new Uint8Array(output + 1),
      width: new Float64Array(output + 1).fill(100),
      height: new Float64Array(output + 1).fill(40),
      edgeSource: Int32Array.from(ends, ([from]) => from),
      edgeTarget: Int32Array.from(ends, ([, to]) => to),
      sourcePort: free,
      targetPort: free,
      edgeValue: new Int32Array(ends.length).fill(-1),
    };
    const { width, far } = layoutDeep(updates);
    expect(layoutCompound(updates).width).toBeGreaterThan(32_000);
    expect(width).toBeLessThan(3300);
    expect(far?.reduce((sum, each) => sum + each, 0)).toBe(chains - 1);
    expect(ends.every(([, to], e) => to === output || !far?.[e])).toBe(true);
  });

  it("is unlike any other: up to about 400 boxes below each other, every edge is a line", () => {
    expect(farEdges(small, "TB")).toBeUndefined();
    expect(layoutDeep(small)).toEqual(layoutCompound(small));
  });
});
