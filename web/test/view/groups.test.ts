import { describe, expect, it } from "vitest";
import { buildView } from "../../src/core/view";
import { boxLines, boxNamed, edgeLines } from "./asText";
import { makeProgram } from "./program";

const program = makeProgram([
  {
    name: "main",
    nodes: [
      { id: "x", op: "parameter", role: "parameter", types: ["f32[2,3]"] },
      { id: "norm", op: "mul", inputs: ["x"], scope: "layer_0/norm" },
      { id: "q", op: "dot", inputs: ["norm"], scope: "layer_0/attention" },
      { id: "k", op: "dot", inputs: ["norm"], scope: "layer_0/attention" },
      { id: "scores", op: "dot", inputs: ["q", "k"], scope: "layer_0/attention" },
      { id: "sum", op: "add", inputs: ["scores", "x"], scope: "layer_0" },
      { id: "head", op: "dot", inputs: ["sum"], scope: "head" },
      { id: "loss", op: "reduce", inputs: ["head", "sum"] },
    ],
  },
]);
const unfolded = { fold: false, rules: { stubs: false } };

describe("groups", () => {
  it("closes everything at depth 0 and merges edges that run the same way", () => {
    const view = buildView(program, { depth: 0, ...unfolded });
    expect(boxLines(view)).toEqual(["group g:layer_0", "group g:head", "node n:x", "node n:loss"]);
    expect(edgeLines(view)).toEqual(["n:x -> g:layer_0 x2", "g:layer_0 -> g:head", "g:head -> n:loss", "g:layer_0 -> n:loss"]);
    expect(view.nodesInside[boxNamed(view, "g:layer_0")]).toBe(5);
    expect(view.subtitle[boxNamed(view, "g:layer_0")]).toBe("5 ops\nf32[2,3] → f32[4]");
  });

  it("counts the model's parameters, not its other inputs", () => {
    const backward = makeProgram([
      {
        name: "main",
        nodes: [
          ...(["parameter", "input", "buffer"] as const).map((role) => ({ id: role, role, types: ["f32[2,3]"], scope: "layer" })),
          { id: "y", op: "dot", inputs: ["parameter", "input", "buffer"], scope: "layer" },
          { id: "again", op: "dot", inputs: ["y"], scope: "layer" },
          { id: "z", op: "dot", inputs: ["y"] },
        ],
      },
    ]);
    const view = buildView(backward, { depth: 0, ...unfolded });
    expect(view.subtitle[boxNamed(view, "g:layer")]).toBe("2 ops · 6 parameters\n→ f32[4]");
  });

  it("draws the few inputs of a model outside the only group that uses them, and many inside", () => {
    const types = ["f32[2,3]"];
    const taking = (count: number) => {
      const inputs = Array.from({ length: count }, (_, i) => ({ id: `cache${i}`, op: "input", role: "input" as const, types }));
      const weight = { id: "w", op: "parameter", role: "parameter" as const, types };
      const aside = [...inputs, weight].map(({ id }) => id);
      const nodes = [
        { id: "x", op: "parameter", role: "parameter" as const, types },
        { id: "q", op: "exp", inputs: ["x"], types, scope: "layer" },
        ...inputs,
        weight,
        { id: "y", op: "concatenate", inputs: ["q", ...aside], types, scope: "layer" },
        { id: "z", op: "exp", inputs: ["y"], types, scope: "head" },
      ];
      const view = buildView(makeProgram([{ name: "main", nodes }]), { depth: 9, allNodes: true, ...unfolded });
      return aside.map((id) => view.parent[boxNamed(view, `n:${id}`)] >= 0);
    };
    expect(taking(2)).toEqual([false, false, true]);
    expect(taking(9)).toEqual(new Array(10).fill(true));
  });

  it("opens level by level, and a box that is named goes before the depth", () => {
    const one = buildView(program, { depth: 1, ...unfolded });
    expect(boxLines(one)).toContain("  group g:layer_0/attention");
    const open = buildView(program, { depth: 0, open: ["g:layer_0"], ...unfolded });
    expect(boxLines(open)).toContain("  group g:layer_0/norm");
    expect(boxLines(open)).toContain("group g:head");
    const closed = buildView(program, { depth: 9, closed: ["g:layer_0/attention"], ...unfolded });
    expect(edgeLines(closed)).toContain("n:norm -> g:layer_0/attention x2");
  });

  it("flattens to nodes alone", () => {
    const view = buildView(program, { flatten: true, ...unfolded });
    expect(view.boxCount).toBe(8);
    expect(edgeLines(view)).toContain("n:q -> n:scores");
  });

  it("puts operands along the top of a node and leaves groups without places", () => {
    const view = buildView(program, { depth: 9, ...unfolded });
    const into = Array.from(view.edgeTarget.keys()).filter((e) => view.edgeTarget[e] === boxNamed(view, "n:scores"));
    expect(into.map((e) => view.targetPort[e])).toEqual([Math.fround(1 / 3), Math.fround(2 / 3)]);
    const closed = buildView(program, { depth: 0, ...unfolded });
    expect(closed.targetPort[0]).toBeNaN();
  });

  it("finds every node in the box that shows it", () => {
    const view = buildView(program, { depth: 0, ...unfolded });
    expect(Array.from(view.boxOfNode, (box) => view.key[box])).toEqual([
      "n:x",
      "g:layer_0",
      "g:layer_0",
      "g:layer_0",
      "g:layer_0",
      "g:layer_0",
      "g:head",
      "n:loss",
    ]);
  });

  it("draws a group of one operation as that operation, unless somebody opens it", () => {
    const norm = makeProgram([
      {
        name: "main",
        nodes: [
          { id: "x", op: "parameter", role: "parameter", types: ["f32[2,3]"] },
          { id: "w", op: "parameter", role: "parameter", types: ["f32[3,3]"], scope: "block: Block/proj: Linear" },
          { id: "t", op: "tanh", inputs: ["x"], scope: "block: Block" },
          { id: "linear", op: "aten.linear.default", inputs: ["t", "w"], scope: "block: Block/proj: Linear" },
          { id: "relu", op: "aten.relu.default", inputs: ["linear"], scope: "block: Block/1: ReLU" },
          { id: "out", op: "sin", inputs: ["relu"] },
        ],
      },
    ]);
    const view = buildView(norm, { depth: 9 });
    expect(boxLines(view)).toEqual([
      "group g:block: Block open",
      "node n:x",
      "  node n:w",
      "  node n:t",
      "  node n:linear",
      "  node n:relu",
      "node n:out",
    ]);
    expect([view.title[boxNamed(view, "n:linear")], view.subtitle[boxNamed(view, "n:linear")]]).toEqual(["proj", "linear · f32[4]"]);
    expect([view.title[boxNamed(view, "n:relu")], view.subtitle[boxNamed(view, "n:relu")]]).toEqual(["relu", "block.1 · f32[4]"]);
    expect(boxLines(buildView(norm, { depth: 1 }))).toContain("  group g:block: Block/proj: Linear");
    expect(boxLines(buildView(norm, { depth: 1, open: ["g:block: Block/proj: Linear"] }))).toContain("    node n:linear");
    expect(boxLines(buildView(norm, { depth: 9, rules: { liftSingles: false } }))).toContain("    node n:relu");
  });

  it("names numbered groups in numbered groups after the first with a name", () => {
    const nodes = ["a", "b"].map((id, i) => ({
      id,
      op: "sin",
      inputs: i ? ["a"] : [],
      scope: "features: Sequential/0: Sequential/3: Conv",
    }));
    const view = buildView(makeProgram([{ name: "main", nodes: [...nodes, { id: "c", op: "sin", inputs: ["b"] }] }]), {
      depth: 2,
      ...unfolded,
    });
    expect(view.title).toContain("features.0.3");
  });

  it("says the class of a module whose only operation is a call, not the name of that call", () => {
    const call = { id: "wrap", op: "wrap_with_set_grad_enabled", inputs: ["x"], calls: ["inner"], scope: "rotary: Rotary" };
    const nodes = [{ id: "x", op: "placeholder", role: "input" as const }, call, { id: "y", op: "sin", inputs: ["wrap"] }];
    const inner = {
      name: "inner",
      nodes: [
        { id: "p", op: "parameter", role: "parameter" as const },
        { id: "s", op: "sin", inputs: ["p"] },
      ],
    };
    const view = buildView(makeProgram([{ name: "main", nodes }, inner]), { depth: 1, calls: false });
    const box = boxNamed(view, "n:wrap");
    expect([view.title[box], view.subtitle[box].split(" · ")[0]]).toEqual(["rotary", "Rotary"]);
  });

  it("opens modules of one class together or not at all", () => {
    const norm = (name: string, scope: string, from: string) =>
      Array.from({ length: 6 }, (_, i) => ({ id: `${name}${i}`, op: "sin", inputs: [i ? `${name}${i - 1}` : from], scope }));
    const layer = norm("inner", "model: Model/layer: Layer/norm: Norm", "mul");
    const rest = Array.from({ length: 120 }, (_, i) => ({
      id: `r${i}`,
      op: ["cos", "exp", "tanh"][(i * i) % 3],
      inputs: [i ? `r${i - 1}` : "inner5"],
      scope: "model: Model/layer: Layer/part: Part",
    }));
    const nodes = [
      { id: "x", op: "placeholder", role: "input" as const },
      { id: "mul", op: "mul", inputs: ["x", "x"], scope: "model: Model" },
      ...layer,
      ...rest,
      ...norm("last", "model: Model/norm: Norm", "r119"),
      { id: "y", op: "output", role: "output" as const, inputs: ["last5"] },
    ];
    const view = buildView(makeProgram([{ name: "main", nodes }]), {});
    const norms = view.subtitle.map((text, box) => (text.startsWith("Norm") ? view.open[box] : -1)).filter((open) => open >= 0);
    expect(norms).toEqual([0, 0]);
  });
});
