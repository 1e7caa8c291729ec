/** Groups, calls and stacks have the number that a metric declares, and nothing is counted twice. */
import { describe, expect, it } from "vitest";
import { indexOf } from "../../src/core/program/programIndex";
import { Cells, groupOf } from "../../src/ui/engine/cells";
import { drawnGroups, repeatsAt, valuesOf } from "../../src/core/metrics/values";
import { unknownOf } from "../../src/core/metrics/unknown";
import { totals } from "../../src/ui/engine/facts";
import { overview } from "../../src/ui/engine/overview";
import { metricsOf } from "../../src/core/metrics/counted";
import { calleesFirst } from "../../src/core/program/callees";
import { BoxKind, type ProgramData, type ViewSpec } from "../../src/core/program/types";
import { buildView } from "../../src/core/view";
import { type GraphSketch, makeProgram } from "../view/program";

const metric = (program: ProgramData, name: string) => metricsOf(program).find((each) => each.name === name)!;
const nodeNamed = (program: ProgramData, id: string) => Array.from(program.nodeId, (text) => program.strings.at(text)).indexOf(id);

/** By title, what the boxes of a view have. */
function boxes(program: ProgramData, name: string, spec: ViewSpec): Record<string, number> {
  const visible = buildView(program, spec);
  const values = valuesOf(program, metric(program, name)).boxes(visible);
  return Object.fromEntries(visible.title.map((title, box) => [title, values[box]]));
}

const layer = (i: number, flops: number): GraphSketch["nodes"] => [
  {
    id: `dot.${i}`,
    op: "dot",
    inputs: [i ? `exp.${i - 1}` : "x"],
    scope: `layer_${i}/mlp`,
    metrics: { flops, bytes: 8, peak: flops, step: i },
  },
  { id: `exp.${i}`, op: "exp", inputs: [`dot.${i}`], scope: `layer_${i}`, metrics: { flops: 1, bytes: 2, peak: 5, step: 10 - i } },
];
const layers = makeProgram([
  {
    name: "main",
    nodes: [
      { id: "x", role: "parameter" },
      ...layer(0, 100),
      ...layer(1, 200),
      ...layer(2, 300),
      { id: "free", op: "neg", inputs: ["exp.2"] },
    ],
  },
]);

it("knows all repeats of a stack, and their cells in a panel", () => {
  const visible = buildView(layers, { depth: 0 });
  const stack = visible.kind.indexOf(BoxKind.Stack);
  const grouping = layers.groupings[visible.grouping];
  const names = repeatsAt(layers, visible, stack).map(({ group }) => layers.strings.at(grouping.groupName[group]));
  expect(names).toEqual(["layer_0", "layer_1", "layer_2"]);
  const cells = new Cells(indexOf(layers), grouping);
  expect(cells.ofBox(visible, stack, grouping).map(([innermost]) => cells.cell(groupOf(innermost), -1, grouping).name)).toEqual(names);
  expect(cells.ofBox(visible, visible.boxOfNode[0], grouping)).toHaveLength(1);
});

describe("a group", () => {
  it.each([
    ["flops", { layer_0: 101, layer_1: 201, layer_2: 301 }],
    ["peak", { layer_0: 100, layer_1: 200, layer_2: 300 }],
    ["step", { layer_0: 10, layer_1: 9, layer_2: 8 }],
    ["intensity", { layer_0: 10.1, layer_1: 20.1, layer_2: 30.1 }],
  ])("combines %s of its nodes as the metric says", (name, expected) => {
    expect(boxes(layers, name, { depth: 0, fold: false })).toMatchObject(expected);
    expect(boxes(layers, name, { depth: 2, fold: false })).toMatchObject(expected);
  });

  it.each([
    ["flops", 603],
    ["peak", 300],
    ["step", 8],
    ["intensity", 603 / 30],
  ])("of repeats has the %s of all of them", (name, expected) => {
    expect(boxes(layers, name, { depth: 0 })["layer_0 … layer_2"]).toBe(expected);
  });

  it("takes the last number of the groups in it, wherever that is", () => {
    const nodes = [
      { id: "a", scope: "g/inner", metrics: { step: 1 } },
      { id: "b", inputs: ["a"], scope: "g", metrics: { step: 2 } },
      { id: "c", inputs: ["b"], scope: "g/inner", metrics: { step: 3 } },
      { id: "d", inputs: ["c"], scope: "g" },
    ];
    const program = makeProgram([{ name: "main", nodes: [...nodes, { id: "e", inputs: ["d"] }] }]);
    expect(boxes(program, "step", { depth: 0 })).toMatchObject({ g: 3 });
  });

  it("has none where none of its nodes has one", () => {
    expect(boxes(layers, "flops", { depth: 9 })).toMatchObject({ neg: Number.NaN, x: Number.NaN });
  });
});

describe("what an estimate lacks", () => {
  const inner = {
    name: "inner",
    nodes: [
      { id: "c", op: "custom-call" },
      { id: "n", op: "neg", inputs: ["c"], metrics: { flops: 3 } },
    ],
  };
  const program = makeProgram(
    [
      inner,
      {
        name: "main",
        nodes: [
          { id: "x", role: "parameter" },
          { id: "t", op: "tuple", inputs: ["x"] },
          { id: "call", op: "call", inputs: ["t"], calls: ["inner"], scope: "g", metrics: { flops: 3 } },
          { id: "loop", op: "while", inputs: ["call"], calls: ["inner"], scope: "h" },
          { id: "odd", op: "mystery", inputs: ["loop"], scope: "h" },
          { id: "out", op: "exp", inputs: ["odd"], metrics: { flops: 9 } },
        ],
      },
    ],
    "main",
  );

  it("are operations without a number, also in what is called, and loops of unknown length", () => {
    const unknown = unknownOf(program, metric(program, "flops"))!;
    expect(Array.from(unknown.graph)).toEqual([1, 4]);
    expect(["x", "t", "call", "loop", "odd", "out"].map((id) => unknown.node[nodeNamed(program, id)])).toEqual([0, 0, 1, 2, 1, 0]);
    expect(totals(program).find(({ name }) => name === "flops")?.text).toBe("at least 15 FLOP, 4 operations unknown");
    expect(overview(indexOf(program)).isPartial).toBe(true);
  });

  it("leave their bytes out of the intensity, also in what is called", () => {
    const dot = { id: "dot", op: "dot", inputs: [], metrics: { flops: 100, bytes: 10 } };
    const odd = { id: "odd", op: "mystery", inputs: ["dot"], metrics: { bytes: 40 } };
    const called = { name: "called", nodes: [dot, odd] };
    const call = { id: "call", op: "call", inputs: [], calls: ["called"], metrics: { flops: 100, bytes: 50 } };
    const both = makeProgram([called, { name: "main", nodes: [call, { ...odd, id: "more", inputs: ["call"] }] }], "main");
    const values = valuesOf(both, metric(both, "intensity"));
    expect(Array.from(values.graph)).toEqual([10, 10]);
    expect([values.node[nodeNamed(both, "call")], values.node[nodeNamed(both, "more")]]).toEqual([10, Number.NaN]);
    expect(totals(both).find(({ name }) => name === "intensity")?.text).toBe("10 FLOP/B, 2 operations unknown");
  });

  it("is nothing for numbers that are not estimates", () => {
    expect(unknownOf(program, metric(program, "output bytes"))).toBeUndefined();
  });
});

describe("a call", () => {
  const body: GraphSketch = {
    name: "body",
    nodes: [
      { id: "p", role: "parameter" },
      { id: "t", op: "tanh", inputs: ["p"], scope: "inner", metrics: { flops: 5, peak: 4 } },
      { id: "u", op: "sin", inputs: ["t"], metrics: { flops: 2, peak: 9 } },
    ],
  };
  const program = makeProgram(
    [
      body,
      {
        name: "main",
        nodes: [
          { id: "x", role: "parameter" },
          { id: "loop", op: "while", inputs: ["x"], calls: ["body"], scope: "g", metrics: { flops: 70 } },
          { id: "call", op: "call", inputs: ["loop"], calls: ["body"], scope: "g" },
          { id: "twice", op: "call", inputs: ["call"], calls: ["body", "body"], scope: "h" },
        ],
      },
    ],
    "main",
  );

  it("counts with its own number, or with that of what it runs, and never with both", () => {
    const { node, graph } = valuesOf(program, metric(program, "flops"));
    expect([node[nodeNamed(program, "loop")], node[nodeNamed(program, "call")], node[nodeNamed(program, "twice")]]).toEqual([70, 7, 14]);
    expect(Array.from(graph)).toEqual([7, 91]);
    expect(valuesOf(program, metric(program, "peak")).node[nodeNamed(program, "loop")]).toBe(9);
    for (const depth of [0, 1, 5]) expect(boxes(program, "flops", { depth })).toMatchObject({ g: 77, h: 14 });
  });

  it("shows in its body what one run of the body has", () => {
    expect(boxes(program, "flops", { depth: 1, open: ["g:g>n:loop", "n:loop"] })).toMatchObject({ while: 70 });
    expect(boxes(program, "flops", { graph: "body", depth: 0 })).toMatchObject({ sin: 2 });
  });

  it("in a cycle ends", () => {
    const circle = makeProgram([
      {
        name: "a",
        nodes: [
          { id: "x", calls: ["b"] },
          { id: "y", metrics: { flops: 1 } },
        ],
      },
      {
        name: "b",
        nodes: [
          { id: "z", calls: ["a"] },
          { id: "w", metrics: { flops: 2 } },
        ],
      },
    ]);
    expect(Array.from(valuesOf(circle, metric(circle, "flops")).graph)).toEqual([3, 2]);
  });

  it("comes after what it calls, however deep", () => {
    const deep = makeProgram(
      Array.from({ length: 20_000 }, (_, i) => ({
        name: `g${i}`,
        nodes: [{ id: "n", calls: i < 19_999 ? [`g${i + 1}`] : [], metrics: (i < 19_999 ? {} : { flops: 3 }) as Record<string, number> }],
      })),
    );
    expect(calleesFirst(deep)[0]).toBe(19_999);
    expect(valuesOf(deep, metric(deep, "flops")).graph[0]).toBe(3);
  });
});

describe("every program", () => {
  it("has sizes and numbers of operands and users", () => {
    const program = makeProgram([
      {
        name: "main",
        nodes: [
          { id: "x", types: ["f32[2]", "f32[3]"] },
          { id: "y", inputs: ["x", "x"] },
          { id: "z", inputs: ["x#1", "y"] },
        ],
      },
    ]);
    expect(Array.from(metric(program, "output bytes").values)).toEqual([20, 16, 16]);
    expect(Array.from(metric(program, "inputs").values)).toEqual([0, 2, 2]);
    expect(Array.from(metric(program, "users").values)).toEqual([2, 1, 0]);
  });

  it("has the groups that are drawn, in a table too", () => {
    const values = valuesOf(layers, metric(layers, "flops")).groups(drawnGroups(layers, layers.groupings[0]));
    expect(Array.from(values)).toEqual([101, 100, 201, 200, 301, 300]);
  });
});
