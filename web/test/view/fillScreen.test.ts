import { describe, expect, it } from "vitest";
import { draw } from "../../src/core/picture";
import { makeProgram, type NodeSketch } from "./program";

/** A chain of six layers that differ, so that none is folded, each with two blocks of eleven operations. */
const LAYERS = 6;
const BLOCK = 11;
const OPS = ["tanh", "exp", "log", "sqrt", "negate", "sine"];
const nodes: NodeSketch[] = [{ id: "x", op: "parameter", role: "parameter" }];
for (let layer = 0; layer < LAYERS; layer++)
  for (const block of ["attention", "mlp"])
    for (let i = 0; i < BLOCK; i++)
      nodes.push({ id: `${layer}.${block}.${i}`, op: OPS[(i + layer) % 6], inputs: [nodes.at(-1)!.id], scope: `layer_${layer}/${block}` });
const program = makeProgram([{ name: "main", nodes, outputs: [nodes.at(-1)!.id] }]);
const shown = (fill?: { width: number; height: number }) => draw(program, { spec: {}, ...(fill ? { fill } : {}) });

describe("a first picture with room to spare", () => {
  it("is the usual one in a usual window", () => {
    expect(shown({ width: 1000, height: 800 }).visible.key).toEqual(shown().visible.key);
  });

  it("has more groups expanded on a large screen, can be read there, and treats equal groups alike", () => {
    const room = { width: 3300, height: 8000 };
    const { visible, layout, opened } = shown(room);
    expect(opened.length).toBeGreaterThan(0);
    expect(visible.boxCount).toBeGreaterThan(shown().visible.boxCount);
    expect(Math.min(room.width / layout.width, room.height / layout.height)).toBeGreaterThanOrEqual(1);
    for (const name of ["attention", "mlp"]) {
      const expanded = visible.key.filter((key, box) => key.endsWith(name) && visible.open[box]);
      expect([0, LAYERS]).toContain(expanded.length);
    }
  });

  it("is the same when it is asked for with what was expanded", () => {
    const { visible, opened } = shown({ width: 3300, height: 8000 });
    expect(draw(program, { spec: { open: opened } }).visible.key).toEqual(visible.key);
  });
});

describe("a first picture of two closed halves", () => {
  const half = (name: string, count: number): NodeSketch[] =>
    Array.from({ length: count }, (_, i) => ({
      id: `${name}.${i}`,
      op: OPS[i % 6],
      inputs: [i > 0 ? `${name}.${i - 1}` : name === "forward" ? "x" : `forward.${count - 1}`],
      scope: name,
    }));
  const step = (count: number) => {
    const all = [nodes[0], ...half("forward", count), ...half("backward", count)];
    return makeProgram([{ name: "main", nodes: all, outputs: [all.at(-1)!.id] }]);
  };
  const fill = { width: 1000, height: 800 };

  it("shows the operations of the first one, although they do not fit on a page", () => {
    const { visible, opened } = draw(step(100), { spec: {}, fill });
    expect(opened).toEqual(["g:forward"]);
    expect(visible.boxCount).toBeGreaterThan(100);
    expect(draw(step(100), { spec: {} }).visible.boxCount).toBeLessThan(10);
  });

  it("stays closed if there are too many", () => {
    expect(draw(step(1000), { spec: {}, fill }).opened).toEqual([]);
  });
});
