/** Programs of two calls with many values between them, as torch.compile partitions a training step. */

import { describe, expect, it } from "vitest";
import type { ProgramData, ViewSpec } from "../../src/core/program/types";
import { indexOf } from "../../src/core/program/programIndex";
import { draw } from "../../src/core/picture";
import { buildView } from "../../src/core/view";
import { savedTensors } from "../../src/ui/engine/savedTensors";
import { boxLines, boxNamed, edgeLines } from "./asText";
import { makeProgram, type NodeSketch } from "./program";

const MANY = 12;
const weight = (i: number): NodeSketch => ({ id: `w${i}`, op: "parameter", role: "parameter", types: [`f32[4,${i + 2}]`] });
const argument = (id: string, types = ["f32[4,2]"]): NodeSketch => ({ id, op: "parameter", role: "parameter", types });
const numbers = Array.from({ length: MANY }, (_, i) => i);
const saved = numbers.map((i) => `m${i}`);

const program = makeProgram([
  {
    name: "main",
    nodes: [
      { id: "x", op: "input", role: "parameter", types: ["s32[4]"] },
      ...numbers.map(weight),
      {
        id: "forward",
        op: "forward",
        inputs: ["x", ...numbers.map((i) => `w${i}`)],
        calls: ["forward"],
        types: saved.map(() => "f32[4,2]"),
      },
      { id: "tangent", op: "gradient", role: "gradient" },
      { id: "backward", op: "backward", inputs: [...numbers.map((i) => `forward#${i}`), "tangent"], calls: ["backward"] },
    ],
  },
  {
    name: "forward",
    nodes: [
      argument("x", ["s32[4]"]),
      ...numbers.map(weight),
      ...numbers.map(
        (i): NodeSketch => ({
          id: `m${i}`,
          op: "dot",
          inputs: [i === 0 ? "x" : `m${i - 1}`, `w${i}`],
          scope: `layer_${i % 2}`,
          types: ["f32[4,2]"],
        }),
      ),
      { id: "output", op: "output", role: "output", inputs: saved, types: [] },
    ],
    outputs: saved,
  },
  {
    name: "backward",
    nodes: [
      ...saved.map((id) => argument(id)),
      { id: "tangent", op: "gradient", role: "gradient" },
      { id: "sum", op: "custom", inputs: [...saved, "tangent"], types: ["f32[4]"] },
      { id: "output", op: "output", role: "output", inputs: ["sum"], types: [] },
    ],
    outputs: ["sum"],
  },
]);

describe("two halves of a program", () => {
  it("closed: the weights are one stack, and what is saved is one line", () => {
    const view = buildView(program, { depth: 0 });
    expect(boxLines(view)).toEqual(["node n:x", "stack x:n:w0", "call n:forward", "node n:tangent", "call n:backward"]);
    expect(view.repeat[boxNamed(view, "x:n:w0")]).toBe(MANY);
    expect(view.subtitle[boxNamed(view, "x:n:w0")]).toBe("");
    const line = edgeLines(view).filter((text) => text.startsWith("n:forward -> n:backward"));
    expect(line).toHaveLength(1);
    const edge = Array.from(view.edgeSource).findIndex(
      (source, e) => view.key[source] === "n:forward" && view.key[view.edgeTarget[e]] === "n:backward",
    );
    expect([view.edgeCountMerged[edge], view.edgeDistinct[edge]]).toEqual([MANY, MANY]);
  });

  it("unfold one by one", () => {
    const view = buildView(program, { depth: 0, unfolded: ["x:n:w0"] });
    expect(boxLines(view).filter((line) => line.startsWith("node n:w"))).toHaveLength(MANY);
  });

  it("open: each weight is in the group of its user, the data stays outside, and no half ends in a separate box", () => {
    const view = buildView(program, { depth: 9, fold: true });
    const lines = boxLines(view).map((line) => line.trim());
    expect(lines).toContain("node n:x");
    expect(lines).not.toContain("node n:w3");
    expect(view.key[view.parent[boxNamed(view, "n:forward>n:w3")]]).toBe("n:forward>g:layer_1");
    expect(view.title[boxNamed(view, "n:forward>n:w3")]).toBe("w3");
    expect(lines.filter((line) => line.endsWith("n:output"))).toEqual([]);
  });

  it("open: what is saved runs from the one that makes it to the one that takes it, the incoming gradient too", () => {
    const lines = edgeLines(buildView(program, { depth: 9 }));
    expect(lines).toContain("n:forward>n:m3 -> n:backward>n:sum");
    expect(lines.some((line) => line.startsWith("n:tangent -> n:backward>n:sum"))).toBe(true);
  });

  it("says where every node is visible", () => {
    for (const depth of [0, 9]) {
      const view = buildView(program, { depth });
      const boxOf = (node: number): string => view.key[view.boxOfNode[node]];
      expect(boxOf(1 + 3)).toBe(depth === 0 ? "x:n:w0" : "n:forward>n:w3");
    }
  });
});

describe("halves side by side", () => {
  it("say how many values are saved, and how many bytes that is", () => {
    const step = makeProgram([
      {
        name: "main",
        nodes: [
          { id: "x", op: "parameter", role: "parameter", types: ["f32[4]"] },
          { id: "a", op: "tanh", inputs: ["x"], scope: "layer", groups: { direction: "forward/layer" } },
          { id: "b", op: "exp", inputs: ["a"], scope: "layer", groups: { direction: "forward/layer" } },
          { id: "db", op: "multiply", inputs: ["b", "b"], scope: "layer", groups: { direction: "backward/layer" } },
          { id: "da", op: "multiply", inputs: ["db", "a"], scope: "layer", groups: { direction: "backward/layer" } },
        ],
        outputs: ["da"],
      },
    ]);
    const closed = buildView(step, { forwardBackward: true, depth: 0 });
    expect(closed.edgeText?.filter(Boolean)).toEqual(["2 saved · 32 B"]);
    const open = buildView(step, { forwardBackward: true, depth: 9 });
    expect(open.edgeText?.filter(Boolean).sort()).toEqual(["same tensor", "saved · 16 B", "saved · 16 B"]);
    expect(open.remarks.join()).toContain("saved tensors");
  });

  it("count nothing that stays inside a fusion", () => {
    const half = (id: string, op: string, inputs: string[], direction: string): NodeSketch => ({
      id,
      op,
      inputs,
      groups: { direction },
      types: ["f32[4]"],
    });
    const step = makeProgram([
      {
        name: "main",
        nodes: [argument("x"), half("a", "tanh", ["x"], "forward"), { ...half("da", "fusion", ["a"], "backward"), calls: ["fused"] }],
        outputs: ["da"],
      },
      {
        name: "fused",
        nodes: [argument("p"), half("b", "exp", ["p"], "forward"), half("db", "multiply", ["b", "b"], "backward")],
        outputs: ["db"],
      },
    ]);
    expect(savedTensors(indexOf(step)).layers.flatMap(({ values }) => values.map(({ id }) => id))).toEqual(["a"]);
  });

  it("say what is saved where the edges of a box have parted", () => {
    const node = (id: string, inputs: string[], module: string): NodeSketch => ({ id, op: "tanh", inputs, groups: { direction: module } });
    const step = makeProgram([
      {
        name: "main",
        nodes: [
          { id: "x", op: "parameter", role: "parameter", types: ["f32[4]"] },
          node("a1", ["x"], "forward/a"),
          node("a2", ["a1"], "forward/a"),
          node("b1", ["a2"], "forward/b"),
          node("b2", ["b1"], "forward/b"),
          node("db2", ["b2", "b1"], "backward/b"),
          node("db1", ["db2", "a2"], "backward/b"),
          node("da2", ["db1", "a1"], "backward/a"),
          node("da1", ["da2"], "backward/a"),
        ],
        outputs: ["da1"],
      },
    ]);
    const { labels } = draw(step, { spec: { forwardBackward: true, depth: 1 } }).scene;
    const heights = [...labels].filter(({ text }) => text.includes("saved")).map(({ y }) => y);
    expect(heights).toHaveLength(3);
    for (const [i, y] of heights.entries()) for (const other of heights.slice(0, i)) expect(Math.abs(y - other)).toBeGreaterThan(13);
  });

  it("count what is saved once, however many read it, and never a parameter or a constant", () => {
    const forward = { groups: { direction: "forward/layer" } };
    const backward = { groups: { direction: "backward/layer" } };
    const step = makeProgram([
      {
        name: "main",
        nodes: [
          { id: "x", op: "parameter", role: "parameter", types: ["f32[4]"] },
          { id: "w", op: "parameter", role: "parameter", types: ["f32[4]"], ...forward },
          { id: "one", op: "constant", role: "constant", types: ["f32[]"], ...forward },
          { id: "ones", op: "broadcast", inputs: ["one"], types: ["f32[4]"], ...forward },
          { id: "a", op: "multiply", inputs: ["x", "w"], types: ["f32[4]"], ...forward },
          { id: "b", op: "tanh", inputs: ["a"], types: ["f32[4]"], ...forward },
          { id: "db", op: "multiply", inputs: ["b", "ones"], types: ["f32[4]"], ...backward },
          { id: "da", op: "multiply", inputs: ["db", "b"], types: ["f32[4]"], ...backward },
          { id: "dx", op: "multiply", inputs: ["da", "w"], types: ["f32[4]"], ...backward },
        ],
        outputs: ["dx"],
      },
    ]);
    expect(savedTensors(indexOf(step))).toMatchObject({ bytes: 16, count: 1, layers: [{ name: "", values: [{ id: "b" }] }] });
    const closed = buildView(step, { forwardBackward: true, depth: 0 });
    expect(closed.edgeText?.filter(Boolean)).toEqual(["saved · 16 B"]);
    const open = buildView(step, { forwardBackward: true, depth: 9 });
    expect(open.edgeText?.filter(Boolean)).toEqual(["saved · 16 B", "same tensor"]);
  });

  it("save the tensor behind a view, once, and no view of a weight; each layer lists its own", () => {
    const forward = (path: string): Pick<NodeSketch, "scope" | "groups"> => ({ scope: path, groups: { direction: `forward/${path}` } });
    const backward = { groups: { direction: "backward" } };
    const step = makeProgram([
      {
        name: "main",
        nodes: [
          { id: "x", op: "parameter", role: "parameter", types: ["f32[4,4]"] },
          { id: "w", op: "parameter", role: "parameter", types: ["f32[4,4]"] },
          { id: "wt", op: "aten.t.default", inputs: ["w"], types: ["f32[4,4]"], ...forward("layers.0") },
          { id: "a", op: "dot", inputs: ["x", "wt"], types: ["f32[4,4]"], ...forward("layers.0/linear") },
          { id: "seen", op: "aten.detach.default", inputs: ["a"], types: ["f32[4,4]"], ...forward("layers.0/linear") },
          { id: "b", op: "tanh", inputs: ["a"], types: ["f32[4,2]"], ...forward("layers.1") },
          { id: "da", op: "mul", inputs: ["seen", "wt"], types: ["f32[4,4]"], ...backward },
          { id: "db", op: "mul", inputs: ["a", "b", "da"], types: ["f32[4,4]"], ...backward },
        ],
        outputs: ["db"],
      },
    ]);
    const { bytes, count, layers } = savedTensors(indexOf(step));
    expect([bytes, count]).toEqual([64 + 32, 2]);
    expect(layers.map(({ name, values }) => [name, ...values.map(({ id, type }) => `${id} ${type}`)])).toEqual([
      ["layers.0", "a f32[4,4]"],
      ["layers.1", "b f32[4,2]"],
    ]);
    const texts = buildView(step, { forwardBackward: true, depth: 9 }).edgeText?.filter(Boolean);
    expect(texts).toEqual(expect.arrayContaining(["saved · 64 B", "saved · 32 B", "same tensor"]));
    expect(texts).toHaveLength(3);
  });

  it("keep an update closed that would be wider than they are, until somebody opens it", () => {
    const step = (weights: number): ProgramData => {
      const ids = Array.from({ length: weights }, (_, i) => i);
      const direction = (path: string): Pick<NodeSketch, "groups"> => ({ groups: { direction: path } });
      return makeProgram([
        {
          name: "main",
          nodes: [
            { id: "x", op: "parameter", role: "parameter" },
            { id: "a", op: "tanh", inputs: ["x"], ...direction("forward/layer") },
            { id: "da", op: "multiply", inputs: ["a", "a"], ...direction("backward/layer") },
            ...ids.map((i): NodeSketch => ({ id: `u${i}`, op: `scale${i}`, inputs: ["da"], ...direction("update/sgd") })),
          ],
          outputs: ids.map((i) => `u${i}`),
        },
      ]);
    };
    const updates = (weights: number, spec: ViewSpec = {}): number =>
      boxLines(buildView(step(weights), { forwardBackward: true, ...spec })).filter((line) => /n:u\d/.test(line)).length;
    expect(updates(3)).toBe(3);
    expect(updates(7)).toBe(0);
    expect(updates(7, { open: ["g:update", "g:update/sgd"] })).toBe(7);
    expect(updates(7, { depth: 9 })).toBe(7);
  });

  it("keep what computes positions and masks closed, until somebody opens it", () => {
    const nodes: NodeSketch[] = [
      { id: "x", op: "parameter", role: "parameter" },
      { id: "iota", op: "iota", groups: { direction: "forward/position and mask" } },
      { id: "le", op: "compare", inputs: ["iota"], groups: { direction: "forward/position and mask" } },
      { id: "y", op: "dot", inputs: ["x", "le"], groups: { direction: "forward/mlp" } },
      { id: "z", op: "tanh", inputs: ["y"], groups: { direction: "forward/mlp" } },
      { id: "dz", op: "mul", inputs: ["z"], groups: { direction: "backward/mlp" } },
      { id: "dy", op: "dot", inputs: ["dz", "x"], groups: { direction: "backward/mlp" } },
    ];
    const step = makeProgram([{ name: "main", nodes }]);
    const mask = "g:forward/position and mask";
    const isOpen = (spec: ViewSpec): boolean => {
      const view = buildView(step, { forwardBackward: true, ...spec });
      return view.open[boxNamed(view, mask)] === 1;
    };
    expect([isOpen({}), isOpen({ open: [mask] })]).toEqual([false, true]);
  });

  it("do not count what only the update reads as parameters, in no grouping", () => {
    const direction = (path: string): Pick<NodeSketch, "groups" | "scope"> => ({ groups: { direction: path }, scope: path });
    const step = makeProgram([
      {
        name: "main",
        nodes: [
          { id: "w", op: "parameter", role: "parameter", types: ["f32[3]"], ...direction("forward/layer") },
          { id: "moment", op: "parameter", role: "parameter", types: ["f32[5]"] },
          { id: "a", op: "tanh", inputs: ["w"], ...direction("forward/layer") },
          { id: "b", op: "exp", inputs: ["a"], ...direction("forward/layer") },
          { id: "da", op: "multiply", inputs: ["a", "b"], ...direction("backward/layer") },
          { id: "u", op: "scale", inputs: ["da", "moment"], ...direction("update/adam") },
          { id: "v", op: "subtract", inputs: ["w", "u"], ...direction("update/adam") },
        ],
        outputs: ["v"],
      },
    ]);
    for (const groupBy of ["direction", "module"]) {
      const view = buildView(step, { groupBy, depth: 0 });
      const texts = Object.fromEntries(view.title.map((title, box) => [title, view.subtitle[box].split("\n")[0]]));
      expect([texts.forward, texts.update]).toEqual(["2 ops · 3 parameters", "2 ops"]);
    }
  });
});
