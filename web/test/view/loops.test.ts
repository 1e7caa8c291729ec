/** A value that a loop carries is not what it started as, and must not be written as if it were. */
import { expect, it } from "vitest";
import { EdgeKind, type Visible } from "../../src/core/program/types";
import { hasWideCalls } from "../../src/core/view/initial/expansion";
import { buildView } from "../../src/core/view";
import { boxNamed } from "./asText";
import { makeProgram, type NodeSketch } from "./program";

/** "tanh → dot" for every arrow to the next iteration of a loop. */
function carried(view: Visible): string[] {
  const last = (box: number): string => view.key[box].slice(view.key[box].lastIndexOf(":") + 1);
  return [...view.edgeKind.keys()]
    .filter((e) => view.edgeKind[e] === EdgeKind.Carried)
    .map((e) => `${last(view.edgeSource[e])} → ${last(view.edgeTarget[e])}`)
    .sort();
}

it("says where a carried value starts, and what an unchanged one is", () => {
  const state = ["s32[]", "s32[]"];
  const constant = (id: string, text: string): NodeSketch => ({ id, op: "constant", role: "constant", types: ["s32[]"], text });
  const fetch = (id: string, from: string): NodeSketch => ({ id, op: "get-tuple-element", inputs: [from], types: ["s32[]"] });
  const program = makeProgram([
    {
      name: "main",
      nodes: [
        constant("zero", "0"),
        constant("limit", "100"),
        { id: "init", op: "tuple", inputs: ["zero", "limit"], types: state },
        { id: "while.1", op: "while", inputs: ["init#*"], types: state, calls: ["condition", "body"], place: 0 },
      ],
    },
    {
      name: "condition",
      nodes: [
        { id: "s", op: "parameter", role: "parameter", types: state },
        fetch("i", "s#0"),
        fetch("n", "s#1"),
        { id: "less", op: "compare", inputs: ["i", "n"], types: ["pred[]"] },
      ],
    },
    {
      name: "body",
      nodes: [
        { id: "s", op: "parameter", role: "parameter", types: state },
        fetch("i", "s#0"),
        fetch("n", "s#1"),
        constant("one", "1"),
        { id: "next", op: "add", inputs: ["i", "one"], types: ["s32[]"] },
        { id: "result", op: "tuple", inputs: ["next", "n"], types: state },
      ],
      outputs: ["result#*"],
    },
  ]);
  const view = buildView(program, { depth: 1, fold: false });
  expect(view.notes[boxNamed(view, "n:while.1>c:1>n:next")]).toEqual(["starts at 0", "+ 1"]);
  expect(view.notes[boxNamed(view, "n:while.1>c:0>n:less")]).toEqual(["starts at 0", "100"]);
  expect(carried(view)).toEqual(["next → less", "next → next"]);
  expect(view.remarks.join()).toContain("next iteration");
});

it("leads what a scan carries back to the body, and what it stacks nowhere", () => {
  const program = makeProgram([
    {
      name: "main",
      nodes: [
        { id: "w", op: "parameter", role: "parameter" },
        { id: "start", op: "parameter", role: "parameter" },
        { id: "xs", op: "parameter", role: "parameter", types: ["f32[3, 4]"] },
        { id: "scan.1", op: "scan", inputs: ["w", "start", "xs"], types: ["f32[4]", "f32[3]"], calls: ["body"], place: 1 },
      ],
      outputs: ["scan.1#0", "scan.1#1"],
    },
    {
      name: "body",
      nodes: [
        { id: "w", op: "parameter", role: "parameter" },
        { id: "h", op: "parameter", role: "parameter" },
        { id: "x", op: "parameter", role: "parameter" },
        { id: "mul", op: "multiply", inputs: ["h", "w"] },
        { id: "plus", op: "add", inputs: ["mul", "x"] },
        { id: "total", op: "reduce", inputs: ["plus"], types: ["f32[]"] },
      ],
      outputs: ["plus", "total"],
    },
  ]);
  expect(carried(buildView(program, { depth: 1, fold: false }))).toEqual(["plus → mul"]);
});

it("says what of a scan's many results is carried, and what is a stack with a part of each iteration", () => {
  const scan = (op: string, place: number) =>
    makeProgram([
      {
        name: "main",
        nodes: [
          { id: "start", op: "parameter", role: "parameter" },
          { id: "scan.1", op, inputs: ["start"], types: ["f32[4]", "f32[3, 4]", "f32[3]", "f32[3]"], calls: ["body"], place },
        ],
        outputs: ["scan.1#0", "scan.1#1"],
      },
      {
        name: "body",
        nodes: [
          { id: "h", op: "parameter", role: "parameter" },
          { id: "exp", op: "exp", inputs: ["h"] },
          { id: "total", op: "reduce", inputs: ["exp"], types: ["f32[]"] },
        ],
        outputs: ["exp", "exp", "total", "total"],
      },
    ]);
  const of = (program: ReturnType<typeof scan>, key: string, spec = {}): string => {
    const view = buildView(program, { depth: 0, ...spec });
    return view.subtitle[boxNamed(view, key)];
  };
  expect(of(scan("scan", 0), "n:scan.1")).toBe("1 carried 16 B, 3 stacked 72 B");
  expect(of(scan("scan", 0), "r:output", { graph: "body" })).toBe("1 carried 16 B, 3 stacked 24 B");
  for (const [op, place] of [
    ["scan", -1],
    ["custom", -1],
  ] as const) {
    expect(of(scan(op, place), "n:scan.1")).toBe("4 values");
    expect(of(scan(op, place), "r:output", { graph: "body" })).toBe("4 values");
  }
});

it("opens the largest loop at first, with the groups around it, and leaves its condition closed", () => {
  const state = ["f32[4]"];
  const chain = (count: number): NodeSketch[] =>
    Array.from({ length: count }, (_, i) => ({ id: `op.${i}`, op: "exp", inputs: [i ? `op.${i - 1}` : "s"], types: state }));
  const parameter: NodeSketch = { id: "s", op: "parameter", role: "parameter", types: state };
  const program = makeProgram([
    {
      name: "main",
      nodes: [
        { id: "x", op: "parameter", role: "parameter", types: state },
        ...Array.from(
          { length: 12 },
          (_, i): NodeSketch => ({ id: `pre.${i}`, op: "exp", inputs: [i ? `pre.${i - 1}` : "x"], types: state }),
        ),
        { id: "while.1", op: "while", inputs: ["pre.11"], types: state, calls: ["condition", "body"], scope: "model/layers" },
        { id: "small.1", op: "while", inputs: ["while.1"], types: state, calls: ["condition", "short"], scope: "model/after" },
      ],
    },
    { name: "condition", nodes: [parameter, { id: "less", op: "compare", inputs: ["s"], types: ["pred[]"] }] },
    { name: "body", nodes: [parameter, ...chain(24)], outputs: ["op.23"] },
    { name: "short", nodes: [parameter, ...chain(2)], outputs: ["op.1"] },
  ]);
  const view = buildView(program, {});
  const loop = view.key.findIndex((key) => key.endsWith("n:while.1"));
  expect(view.open[loop]).toBe(1);
  expect(view.key.some((key) => key.endsWith("n:while.1>c:1>n:op.4"))).toBe(true);
  const condition = view.key.findIndex((key) => key.endsWith("n:while.1>c:0"));
  expect([view.open[condition], view.expandable[condition]]).toEqual([0, 1]);
  expect(view.open[view.key.findIndex((key) => key.endsWith("n:small.1"))] ?? 0).toBe(0);
});

it("opens the forward loop too where the backward one computes its layers again, and draws the weights of a scan inside it", () => {
  const [one, all] = [["f32[4]"], ["f32[3,4]"]];
  const scan = (id: string, from: string, calls: string[]): NodeSketch => ({
    id,
    op: "scan",
    inputs: [from, "w"],
    types: one,
    calls,
    place: 0,
  });
  const body = (name: string, count: number) => ({
    name,
    nodes: [
      { id: "carry", op: "parameter", role: "parameter", types: one } as NodeSketch,
      { id: "weight", op: "parameter", role: "parameter", types: one } as NodeSketch,
      ...Array.from(
        { length: count },
        (_, i): NodeSketch => ({ id: `mul.${i}`, op: "mul", inputs: [i ? `mul.${i - 1}` : "carry", "weight"], types: one }),
      ),
    ],
    outputs: [`mul.${count - 1}`],
  });
  const view = buildView(
    makeProgram([
      {
        name: "main",
        nodes: [
          { id: "x", op: "input", role: "input", types: one },
          { id: "w", op: "parameter", role: "parameter", types: all, text: "w" },
          ...Array.from(
            { length: 12 },
            (_, i): NodeSketch => ({ id: `pre.${i}`, op: "exp", inputs: [i ? `pre.${i - 1}` : "x"], types: one }),
          ),
          scan("scan.1", "pre.11", ["forward"]),
          scan("scan.2", "scan.1", ["backward"]),
        ],
        outputs: ["scan.2"],
      },
      body("forward", 4),
      body("backward", 18),
    ]),
    {},
  );
  const isOpen = (name: string): boolean => view.open[view.key.indexOf(name)] === 1;
  expect([isOpen("n:scan.1"), isOpen("n:scan.2")]).toEqual([true, true]);
  expect(view.key.includes("n:w")).toBe(false);
  const weight = view.key.indexOf("n:scan.1>n:weight");
  expect([view.title[weight], view.subtitle[weight]]).toEqual(["w", "f32[4]"]);
});

it("says of a collapsed group how often the loop in it runs, and which bodies are a row of slices", () => {
  const names = Array.from({ length: 8 }, (_, i) => `slice.${i}`);
  const body: NodeSketch[] = [
    { id: "carry", op: "parameter", role: "parameter" },
    ...names.map((id): NodeSketch => ({ id, op: "exp", inputs: ["carry"] })),
    { id: "next", op: "concatenate", inputs: names },
  ];
  const graphs = (slices: number) => [
    {
      name: "main",
      nodes: [
        { id: "x", op: "input", role: "input" },
        { id: "a", op: "exp", inputs: ["x"], scope: "model" },
        { id: "loop", op: "scan", inputs: ["a"], calls: ["body"], text: "×24", place: 0, scope: "model" },
        ...Array.from({ length: 12 }, (_, i) => ({ id: `b.${i}`, op: "exp", inputs: [i ? `b.${i - 1}` : "loop"] })),
      ] as NodeSketch[],
      outputs: ["b.11"],
    },
    { name: "body", nodes: [...body.slice(0, 1 + slices), { ...body[9], inputs: names.slice(0, slices) }], outputs: ["next"] },
  ];
  const collapsed = buildView(makeProgram(graphs(8)), { depth: 0 });
  expect(collapsed.subtitle[collapsed.key.indexOf("g:model")].split("\n")[0]).toBe("scan ×24 · 2 ops");
  const opened = (slices: number) => buildView(makeProgram(graphs(slices)), { depth: 9 });
  expect([5, 8].map((slices) => hasWideCalls(opened(slices)))).toEqual([false, true]);
});
