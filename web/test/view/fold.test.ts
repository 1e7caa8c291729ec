import { describe, expect, it } from "vitest";
import { BoxKind } from "../../src/core/program/types";
import { buildView } from "../../src/core/view";
import { boxesOfKind, boxLines, boxNamed, edgeLines } from "./asText";
import { makeProgram, type NodeSketch } from "./program";
import { rangeTitle } from "../../src/core/view/boxes/texts";

/** A layer with a residual: dot of the input and its own weight, then the sum. */
function layer(i: number, from: string, op = "tanh", scope = `layer_${i}`): NodeSketch[] {
  return [
    { id: `w${i}`, role: "parameter", op: "parameter", types: ["f32[4, 4]"], scope },
    { id: `dot${i}`, op: "dot", inputs: [from, `w${i}`], scope: `${scope}/attention` },
    { id: `act${i}`, op, inputs: [`dot${i}`], scope: `${scope}/attention` },
    { id: `sum${i}`, op: "add", inputs: [`act${i}`, from], scope },
  ];
}
const chain = (count: number, op?: (i: number) => string): NodeSketch[] => [
  { id: "embed", op: "gather", scope: "embed" },
  ...Array.from({ length: count }, (_, i) => layer(i, i === 0 ? "embed" : `sum${i - 1}`, op?.(i))).flat(),
  { id: "head", op: "dot", inputs: [`sum${count - 1}`], scope: "head" },
];
const stacks = (nodes: NodeSketch[], spec = {}) => {
  const view = buildView(makeProgram([{ name: "main", nodes }]), { depth: 0, ...spec });
  return boxesOfKind(view, BoxKind.Stack).map((box) => `${view.key[box]} ${view.title[box]} ×${view.repeat[box]}`);
};

describe("repeats side by side", () => {
  const updates = (output: (i: number) => number): NodeSketch[] => [
    { id: "scan", op: "scan", types: ["f32[4]", "f32[4]", "f32[4]", "f32[8]"] },
    ...[0, 1, 2].map(
      (i): NodeSketch => ({ id: `square${i}`, op: "mul", inputs: [`scan#${output(i)}`, `scan#${output(i)}`], scope: `update_${i}` }),
    ),
  ];

  it("may take different results of one operation, of one type", () => {
    expect(stacks(updates((i) => i))).toEqual(["x:update_0 update_0 … update_2 ×3"]);
    expect(stacks(updates((i) => 3 - i))).toEqual(["x:update_1 update_1 … update_2 ×2"]);
  });
});

describe("repeats in a chain", () => {
  it("show once, with the chain wired through", () => {
    const view = buildView(makeProgram([{ name: "main", nodes: chain(24) }]), { depth: 0 });
    expect(boxLines(view)).toEqual(["group g:embed", "stack x:layer_0", "group g:head"]);
    expect(view.title[1]).toBe("layer_0 … layer_23");
    expect([view.repeat[1], view.nodesInside[1]]).toEqual([24, 96]);
    expect(rangeTitle("attention + mlp 1", "attention + mlp 24")).toBe("attention + mlp 1 … 24");
    expect(edgeLines(view)).toEqual(["g:embed -> x:layer_0 x2", "x:layer_0 -> g:head"]);
  });

  it("open to one of them, with what leaves the last leaving that one", () => {
    const view = buildView(makeProgram([{ name: "main", nodes: chain(24) }]), { depth: 0, open: ["x:layer_0", "g:layer_0/attention"] });
    expect(boxLines(view)).toEqual([
      "group g:embed",
      "stack x:layer_0 open",
      "  group g:layer_0/attention open",
      "group g:head",
      "  node n:w0",
      "    node n:dot0",
      "    node n:act0",
      "  node n:sum0",
    ]);
    expect(edgeLines(view)).toEqual([
      "g:embed -> n:dot0",
      "n:w0 -> n:dot0",
      "n:dot0 -> n:act0",
      "n:act0 -> n:sum0",
      "g:embed -> n:sum0",
      "n:sum0 -> g:head",
    ]);
    expect(view.repeat[boxNamed(view, "x:layer_0")]).toBe(24);
    const dot17 = 1 + 17 * 4 + 1;
    expect(view.key[view.boxOfNode[dot17]]).toBe("n:dot0");
  });

  it("unfold when asked, all at once or one stack", () => {
    expect(stacks(chain(3), { fold: false })).toEqual([]);
    expect(stacks(chain(3), { unfolded: ["x:layer_0"] })).toEqual([]);
    expect(boxLines(buildView(makeProgram([{ name: "main", nodes: chain(3) }]), { depth: 0, unfolded: ["x:layer_0"] }))).toContain(
      "group g:layer_2",
    );
  });

  it("leave out what differs: another op, another type, other wiring", () => {
    expect(stacks(chain(6, (i) => (i === 0 ? "relu" : "tanh")))).toEqual(["x:layer_1 layer_1 … layer_5 ×5"]);
    const typed = chain(4).map((node) => (node.id === "act3" ? { ...node, types: ["f32[5]"] } : node));
    expect(stacks(typed)).toEqual(["x:layer_0 layer_0 … layer_2 ×3"]);
    const wired = chain(4).map((node) => (node.id === "sum0" ? { ...node, inputs: ["act0", "dot0"] } : node));
    expect(stacks(wired)).toEqual(["x:layer_1 layer_1 … layer_3 ×3"]);
  });

  it("tell one outside value used twice from two outside values", () => {
    const nodes: NodeSketch[] = [
      { id: "a", op: "sin" },
      { id: "b", op: "cos" },
    ];
    for (let i = 0; i < 3; i++)
      nodes.push(
        { id: `p${i}`, op: "tanh", inputs: ["a"], scope: `l_${i}` },
        { id: `q${i}`, op: "add", inputs: [`p${i}`, i === 2 ? "b" : "a"], scope: `l_${i}` },
      );
    nodes.push({ id: "end", op: "stack", inputs: ["q0", "q1", "q2"] });
    expect(stacks(nodes)).toEqual(["x:l_0 l_0 … l_1 ×2"]);
  });

  it("do not depend on the order in which the source lists the nodes", () => {
    const swapped = chain(4);
    const at = swapped.findIndex((node) => node.id === "w2");
    const [w] = swapped.splice(at, 1);
    swapped.splice(0, 0, w);
    expect(stacks(swapped)).toEqual(["x:layer_0 layer_0 … layer_3 ×4"]);
  });
});

describe("folding never bends the flow", () => {
  it("keeps two alternating kinds apart", () => {
    const nodes: NodeSketch[] = [{ id: "x", op: "sin" }];
    let from = "x";
    for (let i = 0; i < 3; i++) {
      nodes.push(
        { id: `c${i}`, op: "conv", inputs: [from], scope: `conv${i}` },
        { id: `b${i}`, op: "norm", inputs: [`c${i}`], scope: `bn${i}` },
      );
      from = `b${i}`;
    }
    expect(stacks(nodes)).toEqual([]);
  });

  it("splits a chain at what is in between", () => {
    const nodes: NodeSketch[] = [{ id: "embed", op: "gather" }];
    let from = "embed";
    for (let i = 0; i < 6; i++) {
      nodes.push(...layer(i, from));
      from = `sum${i}`;
      if (i === 2) {
        nodes.push({ id: "pool", op: "pool", inputs: [from] });
        from = "pool";
      }
    }
    expect(stacks(nodes)).toEqual(["x:layer_0 layer_0 … layer_2 ×3", "x:layer_3 layer_3 … layer_5 ×3"]);
  });

  it("folds groups that are already in a cycle, as forward and backward of one module are", () => {
    const nodes: NodeSketch[] = [{ id: "x", op: "sin" }];
    let from = "x";
    for (let i = 0; i < 3; i++) {
      nodes.push({ id: `f${i}`, op: "tanh", inputs: [from], scope: `layer_${i}` });
      from = `f${i}`;
    }
    for (let i = 2; i >= 0; i--) {
      nodes.push({ id: `b${i}`, op: "dtanh", inputs: [from, `f${i}`], scope: `layer_${i}` });
      from = `b${i}`;
    }
    expect(stacks([...nodes, { id: "end", op: "sin", inputs: [from] }])).toEqual(["x:layer_0 layer_0 … layer_1 ×2"]);
  });
});

describe("other repeats", () => {
  it("side by side fold too", () => {
    const nodes: NodeSketch[] = [
      { id: "lr", op: "sin" },
      ...Array.from({ length: 5 }, (_, i) => layer(i, "lr", "tanh", `update_${i}`)).flat(),
    ];
    nodes.push({ id: "all", op: "stack", inputs: [0, 1, 2, 3, 4].map((i) => `sum${i}`) });
    expect(stacks(nodes)).toEqual(["x:update_0 update_0 … update_4 ×5"]);
  });

  it("whose names differ in more than numbers stay apart", () => {
    const nodes = ["query", "key", "value"].map((name): NodeSketch => ({ id: name, op: "dot", scope: name }));
    expect(stacks(nodes)).toEqual([]);
  });

  it("inside repeats fold again, and every node is found in the one that is drawn", () => {
    const nodes: NodeSketch[] = [{ id: "x", op: "sin" }];
    let from = "x";
    for (let i = 0; i < 3; i++) {
      for (let k = 0; k < 4; k++) {
        nodes.push({ id: `n${i}_${k}`, op: "tanh", inputs: [from], scope: `stage_${i}/block_${k}` });
        from = `n${i}_${k}`;
      }
    }
    const view = buildView(makeProgram([{ name: "main", nodes }]), { depth: 9 });
    expect(boxLines(view)).toEqual(["stack x:stage_0 open", "  stack x:stage_0/block_0 open", "node n:x", "    node n:n0_0"]);
    expect(new Set(view.boxOfNode.subarray(1))).toEqual(new Set([boxNamed(view, "n:n0_0")]));
    expect(edgeLines(view)).toEqual(["n:x -> n:n0_0"]);
  });

  it("are calls of graphs with the same content", () => {
    const body = (name: string) => ({
      name,
      nodes: [
        { id: "p", role: "parameter", op: "parameter" } as NodeSketch,
        ...["sin", "cos", "tanh", "exp"].map(
          (op, i): NodeSketch => ({ id: `${op}.${name}`, op, inputs: [i === 0 ? "p" : `${["sin", "cos", "tanh"][i - 1]}.${name}`] }),
        ),
      ],
    });
    const program = makeProgram([
      {
        name: "main",
        nodes: [
          { id: "x", op: "sin" },
          { id: "call.1", op: "call", inputs: ["x"], calls: ["f.1"] },
          { id: "call.2", op: "call", inputs: ["call.1"], calls: ["f.2"] },
          { id: "y", op: "cos", inputs: ["call.2"] },
        ],
      },
      body("f.1"),
      body("f.2"),
    ]);
    const view = buildView(program, { depth: 0 });
    expect(boxLines(view)).toEqual(["node n:x", "stack x:n:call.1", "node n:y"]);
    expect(view.repeat[1]).toBe(2);
    expect(edgeLines(view)).toEqual(["n:x -> x:n:call.1", "x:n:call.1 -> n:y"]);
    expect(boxLines(buildView(program, { depth: 0, open: ["x:n:call.1"] }))).toContain("  node x:n:call.1>n:cos.f.1");
    expect(boxLines(buildView(program, { depth: 0, unfolded: ["x:n:call.1"] }))).toContain("call n:call.2");
  });

  it("are many equal chains of nodes side by side, place by place", () => {
    const nodes: NodeSketch[] = [{ id: "rate", op: "sin" }];
    for (let i = 0; i < 10; i++) {
      nodes.push(
        { id: `m${i}`, op: "parameter", role: "parameter", types: ["f32[4, 4]"], scope: "adam", text: `state['m'][${i}]` },
        { id: `decay${i}`, op: "mul", inputs: [`m${i}`, "rate"], types: ["f32[4, 4]"], scope: "adam" },
        { id: `again${i}`, op: "mul", inputs: [`decay${i}`, "rate"], types: ["f32[4, 4]"], scope: "adam" },
      );
    }
    nodes.push({ id: "odd", op: "mul", inputs: ["again3", "rate"], types: ["f32[4, 4]"], scope: "adam" });
    const view = buildView(makeProgram([{ name: "main", nodes }]), { depth: 1 });
    expect(boxLines(view)).toEqual([
      "group g:adam open",
      "node n:rate",
      "  stack x:n:m0",
      "  stack x:n:decay0",
      "  stack x:n:again0",
      "  node n:m3",
      "  node n:decay3",
      "  node n:again3",
      "  node n:odd",
    ]);
    expect(view.repeat[boxNamed(view, "x:n:again0")]).toBe(9);
    expect(edgeLines(view)).toContain("x:n:decay0 -> x:n:again0 x9");
    expect(view.key[view.boxOfNode[1 + 3 * 7]]).toBe("x:n:m0");
    expect(boxLines(buildView(makeProgram([{ name: "main", nodes }]), { depth: 1, unfolded: ["x:n:decay0"] }))).toContain(
      "  node n:decay7",
    );
  });

  it("are equal chains from the gradients of many outputs, whatever these are called", () => {
    const nodes: NodeSketch[] = [];
    for (let i = 0; i < 8; i++) {
      nodes.push({ id: `g${i}`, op: "gradient", role: "gradient", text: `gradient of output ${i}` });
      nodes.push({ id: `s${i}`, op: "slice", inputs: [`g${i}`] });
    }
    expect(stacks(nodes)).toEqual(["x:n:g0 gradient of output 0 … ×8", "x:n:s0 slice ×8"]);
  });

  it("are not a few equal nodes, and not nodes in a row", () => {
    const few = Array.from({ length: 5 }, (_, i): NodeSketch => ({ id: `a${i}`, op: "sin" }));
    expect(stacks(few)).toEqual([]);
    const row = Array.from({ length: 20 }, (_, i): NodeSketch => ({ id: `r${i}`, op: "sin", inputs: i ? [`r${i - 1}`] : [] }));
    expect(stacks(row)).toEqual([]);
  });
});

describe("the first view", () => {
  const model = (layers: number): NodeSketch[] => {
    const nodes: NodeSketch[] = [{ id: "x", role: "parameter" }];
    for (let i = 0; i < layers; i++) {
      const before = nodes[nodes.length - 1].id;
      nodes.push({ id: `dot${i}`, op: "dot", inputs: [before], scope: `model/layer_${i}` });
      nodes.push({ id: `act${i}`, op: "tanh", inputs: [`dot${i}`], scope: `model/layer_${i}` });
    }
    // More than a page can hold: this level as a whole stays closed.
    for (let i = 0; i < 70; i++) nodes.push({ id: `end${i}`, op: "sin", inputs: [nodes[nodes.length - 1].id], scope: "head" });
    return nodes;
  };

  it("opens the groups around the repeated layers, and nothing else that is too large", () => {
    const view = buildView(makeProgram([{ name: "main", nodes: model(12) }]), {});
    expect(boxLines(view)).toEqual(["group g:model open", "  stack x:model/layer_0", "group g:head", "node n:x"]);
  });

  it("opens nothing for the sake of a pair", () => {
    const view = buildView(makeProgram([{ name: "main", nodes: model(2) }]), {});
    expect(boxLines(view)).toEqual(["group g:model", "group g:head", "node n:x"]);
  });

  it("closes what computes positions and masks, however small", () => {
    const nodes: NodeSketch[] = [
      { id: "iota", op: "iota", scope: "model/position and mask" },
      { id: "le", op: "compare", inputs: ["iota"], scope: "model/position and mask" },
      { id: "dot", op: "dot", inputs: ["le"], scope: "model" },
      { id: "end", op: "tanh", inputs: ["dot"], scope: "head" },
    ];
    const program = makeProgram([{ name: "main", nodes }]);
    const lines = ["group g:model open", "  group g:model/position and mask", "  node n:dot", "node n:end"];
    expect(boxLines(buildView(program, {})).sort()).toEqual(lines.sort());
    expect(boxLines(buildView(program, { open: ["g:model/position and mask"] }))).toContain("  group g:model/position and mask open");
  });
});
