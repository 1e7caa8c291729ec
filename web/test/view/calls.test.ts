import { describe, expect, it } from "vitest";
import { buildView } from "../../src/core/view";
import { boxLines, boxNamed, edgeLines } from "./asText";
import { makeProgram, type NodeSketch } from "./program";

const parameter = (id: string, types = ["f32[4]"]): NodeSketch => ({ id, op: "parameter", role: "parameter", types });
const fold = false;

describe("called graphs", () => {
  const program = makeProgram([
    {
      name: "main",
      nodes: [
        { id: "x", op: "sin" },
        { id: "y", op: "cos" },
        { id: "fusion.2", op: "fusion", inputs: ["x", "y"], calls: ["body"] },
        { id: "after", op: "tanh", inputs: ["fusion.2"] },
      ],
    },
    {
      name: "body",
      nodes: [
        parameter("p0"),
        parameter("p1"),
        { id: "m", op: "multiply", inputs: ["p0", "p1"] },
        { id: "add.1", op: "add", inputs: ["m", "p1"] },
      ],
    },
  ]);

  it("are a box while closed", () => {
    const view = buildView(program, { depth: 0, fold });
    expect(boxLines(view)).toEqual(["node n:x", "node n:y", "call n:fusion.2", "node n:after"]);
    expect(view.expandable[boxNamed(view, "n:fusion.2")]).toBe(1);
    expect(view.key[view.boxOfNode[6]]).toBe("n:fusion.2");
  });

  it("open by themselves in a graph of few boxes, unless nobody wants that", () => {
    expect(boxLines(buildView(program, { fold }))).toContain("call n:fusion.2 open");
    expect(boxLines(buildView(program, { fold, calls: false }))).toContain("call n:fusion.2");
    expect(boxLines(buildView(program, { fold, calls: false, depth: 9 }))).toContain("call n:fusion.2");
  });

  it("open in place: operands run to the users of the parameters, the result to the users of the call", () => {
    const view = buildView(program, { depth: 0, open: ["n:fusion.2"], fold });
    expect(boxLines(view)).toEqual([
      "node n:x",
      "node n:y",
      "call n:fusion.2 open",
      "node n:after",
      "  node n:fusion.2>n:m",
      "  node n:fusion.2>n:add.1",
    ]);
    expect(edgeLines(view).sort()).toEqual(
      [
        "n:x -> n:fusion.2>n:m",
        "n:y -> n:fusion.2>n:m",
        "n:fusion.2>n:m -> n:fusion.2>n:add.1",
        "n:y -> n:fusion.2>n:add.1",
        "n:fusion.2>n:add.1 -> n:after",
      ].sort(),
    );
  });

  it("show their parameters when plumbing is drawn", () => {
    const view = buildView(program, { depth: 1, fold, rules: { plumbing: false } });
    expect(edgeLines(view)).toContain("n:x -> n:fusion.2>n:p0");
    expect(edgeLines(view)).toContain("n:fusion.2>n:p1 -> n:fusion.2>n:add.1");
  });

  it("do not count as levels where asked", () => {
    expect(boxLines(buildView(program, { depth: 9, calls: false, fold }))).toContain("call n:fusion.2");
  });

  it("may be open in several places, and never end up inside themselves", () => {
    const shared = makeProgram([
      {
        name: "main",
        nodes: [
          { id: "x", op: "sin" },
          { id: "a", op: "call", inputs: ["x"], calls: ["f"] },
          { id: "b", op: "call", inputs: ["a"], calls: ["f"] },
        ],
      },
      {
        name: "f",
        nodes: [parameter("p"), { id: "again", op: "call", inputs: ["p"], calls: ["f"] }, { id: "t", op: "tanh", inputs: ["again"] }],
      },
    ]);
    const view = buildView(shared, { depth: 99, fold });
    expect(boxLines(view)).toEqual([
      "node n:x",
      "call n:a open",
      "call n:b open",
      "  call n:a>n:again",
      "  node n:a>n:t",
      "  call n:b>n:again",
      "  node n:b>n:t",
    ]);
    expect(view.expandable[boxNamed(view, "n:a>n:again")]).toBe(0);
    expect(edgeLines(view)).toContain("n:a>n:t -> n:b>n:again");
  });
});

describe("loops and branches", () => {
  const pair = ["f32[4]", "s32[]"];
  const loop = makeProgram([
    {
      name: "main",
      nodes: [
        { id: "x", op: "sin" },
        { id: "i", op: "iota", types: ["s32[]"] },
        { id: "init", op: "tuple", inputs: ["x", "i"], types: pair },
        { id: "while.2", op: "while", inputs: ["init#*"], types: pair, calls: ["condition", "body"] },
        { id: "out", op: "get-tuple-element", inputs: ["while.2#0"] },
        { id: "use", op: "tanh", inputs: ["out"] },
      ],
    },
    {
      name: "condition",
      nodes: [
        parameter("s", pair),
        { id: "n", op: "get-tuple-element", inputs: ["s#1"], types: ["s32[]"] },
        { id: "less", op: "compare", inputs: ["n", "n"], types: ["pred[]"] },
      ],
    },
    {
      name: "body",
      nodes: [
        parameter("s", pair),
        { id: "v", op: "get-tuple-element", inputs: ["s#0"] },
        { id: "n", op: "get-tuple-element", inputs: ["s#1"], types: ["s32[]"] },
        { id: "step", op: "exp", inputs: ["v"] },
        { id: "more", op: "add", inputs: ["n", "n"], types: ["s32[]"] },
        { id: "next", op: "tuple", inputs: ["step", "more"], types: pair },
      ],
      outputs: ["next#*"],
    },
  ]);

  it("hand a loop's state to condition and body element by element, and take its result from the body", () => {
    const view = buildView(loop, { depth: 1, fold });
    expect(boxLines(view)).toContain("  call n:while.2>c:0 open");
    expect(view.title[boxNamed(view, "n:while.2>c:1")]).toBe("body");
    expect(view.title[boxNamed(view, "n:while.2>c:0")]).toBe("condition");
    expect(edgeLines(view)).toContain("n:i -> n:while.2>c:0>n:less");
    expect(edgeLines(view)).toContain("n:x -> n:while.2>c:1>n:step");
    expect(edgeLines(view)).toContain("n:i -> n:while.2>c:1>n:more");
    expect(edgeLines(view)).toContain("n:while.2>c:1>n:step -> n:use");
  });

  it("connect a closed loop to what makes its state", () => {
    expect(edgeLines(buildView(loop, { depth: 0, fold }))).toEqual(["n:x -> n:while.2", "n:i -> n:while.2", "n:while.2 -> n:use"]);
  });

  it("give each branch its operand and join their results", () => {
    const branches = makeProgram([
      {
        name: "main",
        nodes: [
          { id: "which", op: "sin", types: ["s32[]"] },
          { id: "a", op: "sin" },
          { id: "b", op: "cos" },
          { id: "choose", op: "conditional", inputs: ["which", "a", "b"], calls: ["left", "right"] },
          { id: "use", op: "tanh", inputs: ["choose"] },
        ],
      },
      { name: "left", nodes: [parameter("p"), { id: "l", op: "exp", inputs: ["p"] }] },
      { name: "right", nodes: [parameter("p"), { id: "r", op: "log", inputs: ["p"] }] },
    ]);
    expect(edgeLines(buildView(branches, { depth: 1, fold })).sort()).toEqual(
      [
        "n:which -> n:choose",
        "n:a -> n:choose>c:0>n:l",
        "n:b -> n:choose>c:1>n:r",
        "n:choose>c:0>n:l -> n:use",
        "n:choose>c:1>n:r -> n:use",
      ].sort(),
    );
  });

  it("end at the frame where the numbers do not fit", () => {
    const odd = makeProgram([
      {
        name: "main",
        nodes: [
          { id: "a", op: "sin" },
          { id: "k", op: "kernel", inputs: ["a"], types: ["f32[4]", "f32[4]"], calls: ["f"] },
          { id: "use", op: "tanh", inputs: ["k#1"] },
        ],
      },
      {
        name: "f",
        nodes: [parameter("p"), parameter("q"), { id: "s", op: "sin", inputs: ["p"] }, { id: "t", op: "add", inputs: ["s", "q"] }],
      },
    ]);
    const view = buildView(odd, { depth: 1, fold, rules: { inlineSmall: false } });
    expect(edgeLines(view)).toEqual(["n:a -> n:k", "n:k -> n:use", "n:k>n:p -> n:k>n:s", "n:k>n:s -> n:k>n:t", "n:k>n:q -> n:k>n:t"]);
  });
});

describe("calls that compute again what the forward half did not save", () => {
  const half = (direction: string) => ({ groups: { direction } });
  const program = makeProgram([
    {
      name: "main",
      nodes: [
        { id: "x", op: "input", role: "input" },
        { id: "y", op: "tanh", inputs: ["x"], ...half("forward") },
        { id: "dy", op: "remat2", inputs: ["y"], calls: ["layer"], ...half("backward") },
        { id: "loop", op: "scan", inputs: ["dy"], calls: ["around"], ...half("backward") },
        { id: "again", op: "pjit", inputs: ["loop"], calls: ["helper"], ...half("backward/recomputed") },
        { id: "dx", op: "pjit", inputs: ["again"], calls: ["other"], ...half("backward") },
      ],
    },
    {
      name: "layer",
      nodes: [
        parameter("p"),
        { id: "e", op: "exp", inputs: ["p"], ...half("recomputed") },
        { id: "c", op: "cos", inputs: ["e"], ...half("recomputed/mlp") },
        { id: "m", op: "multiply", inputs: ["c", "p"], ...half("backward") },
      ],
    },
    {
      name: "around",
      nodes: [parameter("q"), { id: "call", op: "remat2", inputs: ["q"], calls: ["layer"], ...half("backward") }],
    },
    { name: "helper", nodes: [parameter("h"), { id: "s", op: "sin", inputs: ["h"], ...half("recomputed") }] },
    { name: "other", nodes: [parameter("o"), { id: "n", op: "neg", inputs: ["o"], ...half("backward") }] },
  ]);

  it("say so while closed, also of what they call, unless the group around them says it", () => {
    const view = buildView(program, { depth: 1, calls: false, fold });
    const of = (id: string): string => view.subtitle[boxNamed(view, `n:${id}`)];
    expect([of("dy"), of("loop"), of("again"), of("dx")]).toEqual([
      "2 ops recomputed · f32[4]",
      "2 ops recomputed · f32[4]",
      "f32[4]",
      "f32[4]",
    ]);
    const open = buildView(program, { depth: 1, calls: false, open: ["n:dy"], fold });
    expect(open.subtitle[boxNamed(open, "n:dy")]).toBe("f32[4]");
  });
});
