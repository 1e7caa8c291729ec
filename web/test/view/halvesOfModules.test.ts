/** Forward beside backward where modules are called so, and where there are many layers. */
import { describe, expect, it } from "vitest";
import type { ProgramData, Visible } from "../../src/core/program/types";
import { draw, SCREEN } from "../../src/core/picture";
import { buildView } from "../../src/core/view";
import { opensInHalves } from "../../src/core/view/twoHalves/columns";
import { halvesGrouping, TOO_DEEP } from "../../src/core/view/twoHalves/halves";
import { makeProgram, type NodeSketch } from "./program";

function step(layers: number, reads = true, opsPerLayer = 2): ProgramData {
  const nodes: NodeSketch[] = [{ id: "x", op: "parameter", role: "parameter", types: ["f32[4]"] }];
  let last = "x";
  const add = (id: string, op: string, inputs: string[], scope: string): void => {
    nodes.push({ id, op, inputs, scope, types: ["f32[4]"] });
    last = id;
  };
  for (let layer = 0; layer < layers; layer++)
    for (let i = 0; i < opsPerLayer; i++) add(`f${layer}.${i}`, i ? "tanh" : "exp", [last], `forward/layer_${layer}`);
  if (!reads) last = "x";
  for (let layer = layers - 1; layer >= 0; layer--)
    for (let i = 0; i < opsPerLayer; i++) {
      const saved = reads ? `f${layer}.${i}` : last;
      add(`b${layer}.${i}`, i ? "multiply" : "add", [last, saved], `backward/layer_${layer}`);
    }
  return makeProgram([{ name: "main", nodes, outputs: [last] }]);
}

const repeats = (view: Visible): number[] => Array.from(view.repeat).filter((repeat) => repeat > 1);

describe("forward beside backward", () => {
  it("takes modules called forward and backward as halves, if backward reads forward", () => {
    expect(halvesGrouping(step(3))?.name).toBe("module");
    expect(opensInHalves(step(3))).toBe(true);
    expect(halvesGrouping(step(3, false))).toBeUndefined();
  });

  it("shows layers one by one unless they are many", () => {
    expect(repeats(buildView(step(8), { forwardBackward: true }))).toEqual([]);
    expect(repeats(buildView(step(9), { forwardBackward: true }))).toEqual([9, 8]); // the first backward layer reads one value twice
  });

  it("is the first sight of large programs too", () => {
    const program = step(2600);
    expect(program.nodeCount).toBeGreaterThan(10_000);
    expect(opensInHalves(program)).toBe(true);
  });

  it("keeps layers folded if all of them expanded are too many boxes", () => {
    expect(repeats(buildView(step(4), { forwardBackward: true, depth: 99 }))).toEqual([]);
    expect(repeats(buildView(step(4, true, 600), { forwardBackward: true, depth: 99 }))).toEqual([4, 3]);
  });

  it("is left where all nodes are too many for two columns, and says so", () => {
    const expanded = (layers: number) => draw(step(layers), { ...SCREEN, spec: { forwardBackward: true, depth: 99, fold: false } });
    const few = expanded(20);
    expect([few.halves !== undefined, few.visible.remarks.includes(TOO_DEEP)]).toEqual([true, false]);
    const many = expanded(600);
    expect([many.halves, many.visible.remarks.includes(TOO_DEEP)]).toEqual([undefined, true]);
    expect(many.scene.height).toBeLessThan(10 * many.scene.width);
  });

  it("is the same picture after another one of the same program", () => {
    const program = step(4, true, 20);
    const first = buildView(program, { forwardBackward: true });
    const opened = buildView(program, { forwardBackward: true, open: first.key.filter((_, box) => first.expandable[box] === 1) });
    expect(opened.boxCount).toBeGreaterThan(first.boxCount);
    expect(buildView(program, { forwardBackward: true, fold: false }).boxCount).toBeGreaterThan(0);
    expect(buildView(program, { forwardBackward: true, open: [], closed: [] }).key).toEqual(first.key);
  });
});
