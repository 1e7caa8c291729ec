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
    const { visible, scene, opened } = shown(room);
    expect(opened.length).toBeGreaterThan(0);
    expect(visible.boxCount).toBeGreaterThan(shown().visible.boxCount);
    expect(Math.min(room.width / scene.width, room.height / scene.height)).toBeGreaterThanOrEqual(1);
    for (const name of ["attention", "mlp"]) {
      const expanded = visible.key.filter((key, box) => key.endsWith(name) && visible.open[box]);
      expect([0, LAYERS]).toContain(expanded.length);
    }
  });

  it("is the same when it is asked for with what was expanded", () => {
    const { visible, opened, columns, scene } = shown({ width: 3300, height: 2000 });
    const again = draw(program, { spec: { open: opened }, columns });
    expect(again.visible.key).toEqual(visible.key);
    expect(again.scene.x).toEqual(scene.x);
  });

  it("is in columns, with more expanded, where it would be a thread in the middle of a broad screen", () => {
    const room = { width: 3300, height: 2000 };
    const { visible, scene, columns, opened } = shown(room);
    expect(columns).toBeGreaterThan(1);
    expect(scene.width).toBeGreaterThan(2 * draw(program, { spec: { open: opened } }).scene.width);
    expect(scene.height).toBeLessThanOrEqual(room.height);
    expect(visible.boxCount).toBeGreaterThan(shown({ width: 1000, height: 800 }).visible.boxCount);
    expect(shown({ width: 1000, height: 800 }).columns).toBeUndefined();
  });

  it("has no columns while it is broader than long", () => {
    const closed = draw(program, { spec: { depth: 0 }, rankdir: "LR", columns: 3 }).scene;
    expect(closed.width).toBeGreaterThan(closed.height);
    const flat = (columns: number) => draw(program, { spec: { flatten: true, rankdir: "TB" } as object, columns }).scene;
    expect(flat(3).width).toBeGreaterThan(2 * flat(1).width);
    const row = makeProgram([{ name: "main", nodes: Array.from({ length: 9 }, (_, i) => ({ id: `n${i}`, op: OPS[i % 6] })) }]);
    expect(draw(row, { spec: {}, columns: 3 }).scene.x).toEqual(draw(row, { spec: {} }).scene.x);
  });

  it("does not expand one of several modules of a class", () => {
    const expanded = () => {
      const blocks = ["a: Norm", "b: Block", "c: Norm", "d: Norm", "e: Block", "f: Other", "g: More"];
      const ops = blocks.flatMap((scope, block) =>
        Array.from({ length: 12 }, (_, i) => ({ id: `${block}.${i}`, op: OPS[(i * block + block) % 6], scope })),
      );
      const chain = ops.map((node, i) => ({ ...node, inputs: i ? [ops[i - 1].id] : [] }));
      return draw(makeProgram([{ name: "main", nodes: chain }]), { spec: { depth: 0 }, fill: { width: 3300, height: 2500 } }).opened;
    };
    expect(expanded().some((key) => key.includes("Other"))).toBe(true);
    expect(expanded().some((key) => key.includes("Norm") || key.includes("Block"))).toBe(false);
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
