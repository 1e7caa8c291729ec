import { describe, expect, it } from "vitest";
import { BoxKind, type DrawingRules, type ViewSpec } from "../../src/core/program/types";
import { buildView } from "../../src/core/view";
import { boxesOfKind, boxLines, boxNamed, edgeLines } from "./asText";
import { makeProgram, type NodeSketch } from "./program";

const only = (rule: keyof DrawingRules | "none"): ViewSpec => ({
  fold: false,
  overlays: false,
  rules: {
    inlineSmall: rule === "inlineSmall",
    inlineReducers: rule === "inlineReducers",
    stubs: rule === "stubs",
    plumbing: rule === "plumbing",
    liftSingles: false,
  },
});

describe("small values", () => {
  const program = makeProgram([
    {
      name: "main",
      nodes: [
        { id: "x", role: "parameter", op: "parameter", types: ["f32[8, 512]"] },
        { id: "h", op: "tanh", inputs: ["x"], types: ["f32[8, 512]"] },
        { id: "scale", role: "constant", op: "constant", types: ["f32[]"], text: "0.125" },
        { id: "spread", op: "broadcast", inputs: ["scale"], types: ["f32[8, 512]"] },
        { id: "scaled", op: "multiply", inputs: ["h", "spread"], types: ["f32[8, 512]"] },
        { id: "minus", op: "subtract", inputs: ["scale", "scaled"], types: ["f32[8, 512]"] },
        { id: "gamma", role: "parameter", op: "parameter", types: ["f32[512]"], text: "γ" },
        { id: "normed", op: "multiply", inputs: ["minus", "gamma"], types: ["f32[8, 512]"] },
        { id: "table", role: "constant", op: "constant", types: ["f32[8, 512]"], text: "{...}" },
        { id: "out", op: "add", inputs: ["normed", "table"], types: ["f32[8, 512]"] },
      ],
    },
  ]);

  it("sit inside their users as text, with the sign of the operation", () => {
    const view = buildView(program, { ...only("inlineSmall") });
    expect(boxLines(view)).toEqual([
      "node n:x",
      "node n:h",
      "node n:scaled",
      "node n:minus",
      "node n:normed",
      "node n:table",
      "node n:out",
    ]);
    expect(view.notes[boxNamed(view, "n:scaled")]).toEqual(["× 0.125"]);
    expect(view.notes[boxNamed(view, "n:minus")]).toEqual(["0.125 −"]);
    expect(view.notes[boxNamed(view, "n:normed")]).toEqual(["× γ f32[512]"]);
    expect(view.key[view.boxOfNode[2]]).toBe("n:scaled");
  });

  it("are boxes like others when the rule is off, or when somebody asks for one by name", () => {
    expect(buildView(program, { ...only("none") }).boxCount).toBe(10);
    const asked = buildView(program, { ...only("inlineSmall"), around: ["spread"], hops: 1 });
    expect(boxLines(asked)).toContain("node n:spread");
  });
});

describe("reducers", () => {
  const program = makeProgram([
    {
      name: "main",
      nodes: [
        { id: "x", role: "parameter", op: "parameter" },
        { id: "r", op: "reduce", inputs: ["x"], calls: ["region"] },
      ],
    },
    {
      name: "region",
      nodes: [
        { id: "a", role: "parameter", op: "parameter" },
        { id: "b", role: "parameter", op: "parameter" },
        { id: "s", op: "add", inputs: ["a", "b"] },
      ],
    },
  ]);

  it("that apply one op become text", () => {
    const view = buildView(program, { depth: 9, ...only("inlineReducers") });
    expect(boxLines(view)).toEqual(["node n:x", "node n:r"]);
    expect(view.title[boxNamed(view, "n:r")]).toBe("reduce: add");
    expect(view.expandable[boxNamed(view, "n:r")]).toBe(0);
  });

  it("take no value into themselves, so that it would have no box", () => {
    const types = ["f32[8, 512]"];
    const parameter = { role: "parameter" as const, op: "parameter", types };
    const net = makeProgram([
      {
        name: "main",
        nodes: [
          { id: "w", ...parameter },
          { id: "start", op: "exp", inputs: ["w"], types },
          { id: "x", ...parameter },
          { id: "r", op: "reduce", inputs: ["x", "start"], calls: ["region"], types },
          { id: "y", op: "dot", inputs: ["x", "r"], types },
        ],
      },
      {
        name: "region",
        nodes: [
          { id: "a", ...parameter },
          { id: "b", ...parameter },
          { id: "s", op: "add", inputs: ["a", "b"], types },
        ],
      },
    ]);
    const view = buildView(net, { depth: 9 });
    expect(boxLines(view)).toContain("node n:x");
    expect(edgeLines(view)).toEqual(expect.arrayContaining(["n:x -> n:r", "n:x -> n:y"]));
  });

  it("are named on a box that is not expanded, also when every node is a box", () => {
    const view = buildView(program, { depth: 0, allNodes: true });
    expect(view.title[boxNamed(view, "n:r")]).toBe("reduce: add");
    expect(view.expandable[boxNamed(view, "n:r")]).toBe(1);
    const expanded = buildView(program, { depth: 9, allNodes: true });
    expect(expanded.title[boxNamed(expanded, "n:r")]).toBe("reduce");
  });

  it("open like any call when the rule is off", () => {
    expect(boxLines(buildView(program, { depth: 9, ...only("none") }))).toContain("  node n:r>n:s");
  });
});

describe("plumbing", () => {
  const program = makeProgram([
    {
      name: "main",
      nodes: [
        { id: "a", op: "tanh" },
        { id: "b", op: "sin" },
        { id: "t", op: "tuple", inputs: ["a", "b"], types: ["f32[4]", "f32[4]"] },
        { id: "second", op: "get-tuple-element", inputs: ["t#1"] },
        { id: "cast", op: "bitcast", inputs: ["second"] },
        { id: "use", op: "exp", inputs: ["cast"] },
        { id: "whole", op: "custom", inputs: ["t#*"] },
        { id: "result", op: "tuple", inputs: ["use", "whole"], types: ["f32[4]", "f32[4]"] },
      ],
      outputs: ["result#*"],
    },
  ]);

  it("disappears into edges, element by element; the result stays", () => {
    const view = buildView(program, { ...only("plumbing") });
    expect(edgeLines(view)).toEqual(["n:b -> n:use", "n:a -> n:whole", "n:b -> n:whole", "n:use -> n:result", "n:whole -> n:result"]);
    expect(view.title[boxNamed(view, "n:result")]).toBe("output");
    expect(view.key[view.boxOfNode[4]]).toBe("n:b");
  });

  it("is drawn when the rule is off or when it is asked for", () => {
    expect(edgeLines(buildView(program, { ...only("none") }))).toContain("n:second -> n:cast");
    expect(boxLines(buildView(program, { ...only("plumbing"), around: ["cast"], hops: 1 }))).toContain("node n:cast");
  });

  it("that forms a cycle is drawn as it is", () => {
    const circle = makeProgram([
      {
        name: "main",
        nodes: [
          { id: "a", op: "bitcast", inputs: ["b"] },
          { id: "b", op: "bitcast", inputs: ["a"] },
          { id: "c", op: "tanh", inputs: ["a"] },
        ],
      },
    ]);
    expect(edgeLines(buildView(circle, { ...only("plumbing") }))).toEqual(["n:b -> n:a", "n:a -> n:b", "n:a -> n:c"]);
  });
});

describe("stubs", () => {
  const users = (count: number, scope: (i: number) => string): NodeSketch[] =>
    Array.from({ length: count }, (_, i) => ({
      id: `u${i}`,
      op: "add",
      inputs: i === 0 ? ["mask", "x"] : ["mask", `u${i - 1}`],
      scope: scope(i),
    }));
  const head: NodeSketch[] = [
    { id: "x", op: "sin" },
    { id: "mask", role: "parameter", op: "parameter", types: ["pred[8, 8]"] },
  ];

  it("replace a source with many users, one for each user that is not near", () => {
    const view = buildView(makeProgram([{ name: "main", nodes: [...head, ...users(8, () => "")] }]), { ...only("stubs") });
    const stubs = boxesOfKind(view, BoxKind.Stub);
    expect(stubs.map((box) => view.key[box])).toEqual([1, 2, 3, 4, 5, 6, 7].map((i) => `s:n:mask@n:u${i}`));
    expect(stubs.every((box) => view.title[box] === "mask" && view.node[box] === 1)).toBe(true);
    expect(edgeLines(view)).toContain("n:mask -> n:u0");
  });

  it("are shared within a group", () => {
    const program = makeProgram([{ name: "main", nodes: [...head, ...users(8, (i) => `g${i >> 1}`)] }]);
    const view = buildView(program, { depth: 1, ...only("stubs") });
    expect(boxesOfKind(view, BoxKind.Stub).map((box) => view.key[view.parent[box]])).toEqual(["g:g1", "g:g2", "g:g3"]);
  });

  it("are not made for few users or computed values within reach", () => {
    expect(
      boxesOfKind(buildView(makeProgram([{ name: "main", nodes: [...head, ...users(4, () => "")] }]), { ...only("stubs") }), BoxKind.Stub),
    ).toEqual([]);
    const computed = [{ ...head[1], role: undefined, op: "tanh", inputs: ["x"] }, ...users(8, () => "")];
    expect(
      boxesOfKind(buildView(makeProgram([{ name: "main", nodes: [head[0], ...computed] }]), { ...only("stubs") }), BoxKind.Stub),
    ).toEqual([]);
  });

  it("become one where many would crowd around one box", () => {
    const sources: NodeSketch[] = Array.from({ length: 6 }, (_, i) => ({ id: `p${i}`, role: "parameter", op: "parameter" }));
    const all = sources.map((source) => source.id);
    const takers: NodeSketch[] = Array.from({ length: 7 }, (_, i) => ({ id: `t${i}`, op: "concat", inputs: all }));
    const view = buildView(makeProgram([{ name: "main", nodes: [...sources, ...takers] }]), { ...only("stubs") });
    const stub = boxNamed(view, "s:*@n:t3");
    expect(view.title[stub]).toBe("6 values");
    expect(view.edgeCountMerged[Array.from(view.edgeSource).indexOf(stub)]).toBe(6);
  });
});

describe("adoption", () => {
  const program = makeProgram([
    {
      name: "main",
      nodes: [
        { id: "x", role: "parameter", op: "parameter", types: ["f32[8, 8]"] },
        { id: "w0", role: "parameter", op: "parameter", types: ["f32[8, 8]"] },
        { id: "shared", role: "parameter", op: "parameter", types: ["f32[8, 8]"] },
        { id: "h", op: "tanh", inputs: ["x"], scope: "layer_0" },
        { id: "dot0", op: "dot", inputs: ["h", "w0"], scope: "layer_0/attention" },
        { id: "copy", op: "copy", inputs: ["dot0"] },
        { id: "mix0", op: "add", inputs: ["copy", "shared"], scope: "layer_0" },
        { id: "mix1", op: "add", inputs: ["mix0", "shared"], scope: "layer_1" },
        { id: "grad", op: "dot", inputs: ["mix1", "w0"], scope: "backward" },
      ],
    },
  ]);

  it("puts weights next to their first user, nodes without a place where they are used, and leaves the model's input outside", () => {
    const view = buildView(program, { depth: 9, ...only("none") });
    const around = (key: string): string => (view.parent[boxNamed(view, key)] < 0 ? "" : view.key[view.parent[boxNamed(view, key)]]);
    expect(around("n:w0")).toBe("g:layer_0/attention");
    expect(around("n:copy")).toBe("g:layer_0");
    expect(around("n:x")).toBe("");
    expect(around("n:shared")).toBe("");
  });

  it("leaves what was written between modules outside them, so that repeated ones stay equal", () => {
    const layer = (i: number, input: string): NodeSketch[] => [
      { id: `dot${i}`, op: "dot", inputs: [input], scope: `layer_${i}`, groups: { "source line": "model.py/forward:7" } },
      { id: `tanh${i}`, op: "tanh", inputs: [`dot${i}`], scope: `layer_${i}`, groups: { "source line": "model.py/forward:8" } },
    ];
    const flatten = (groups: Record<string, string>): NodeSketch => ({ id: "flatten", op: "reshape", inputs: ["stem"], groups });
    const lines = (groups: Record<string, string>): string[] => {
      const nodes = [
        { id: "stem", op: "dot", scope: "stem" },
        flatten(groups),
        ...layer(0, "flatten"),
        ...layer(1, "tanh0"),
        ...layer(2, "tanh1"),
      ];
      return boxLines(buildView(makeProgram([{ name: "main", nodes }]), { depth: 0 }));
    };
    expect(lines({ "source line": "model.py/forward:12" })).toEqual(["group g:stem", "stack x:layer_0", "node n:flatten"]);
    expect(lines({})).not.toContain("node n:flatten");
  });

  it("drops a group that holds everything", () => {
    const wrapped = makeProgram([
      {
        name: "main",
        nodes: [
          { id: "a", scope: "step/model/l" },
          { id: "b", inputs: ["a"], scope: "step/model/r" },
        ],
      },
    ]);
    expect(boxLines(buildView(wrapped, { depth: 0 }))).toEqual(["group g:l", "group g:r"]);
  });
});

describe("values as boxes", () => {
  const program = makeProgram([
    {
      name: "main",
      nodes: [
        { id: "x", role: "parameter", op: "parameter" },
        { id: "split", op: "split", inputs: ["x"], types: ["f32[2]", "f32[3]"] },
        { id: "l", op: "tanh", inputs: ["split#0"] },
        { id: "r", op: "add", inputs: ["split#1", "l"] },
      ],
      outputs: ["r"],
    },
  ]);

  it("are between an operation and its users, one for each output, and after the result", () => {
    const view = buildView(program, { values: "boxes", ...only("none") });
    expect(boxesOfKind(view, BoxKind.Value).map((box) => `${view.title[box]} ${view.subtitle[box]}`)).toEqual([
      "split.0 f32[2]",
      "split.1 f32[3]",
      "l f32[4]",
      "r f32[4]",
    ]);
    expect(edgeLines(view)).toContain("v:n:split.1 -> n:r");
    expect(edgeLines(view)).toContain("n:x -> n:split");
    expect(edgeLines(view)).toContain("v:n:r.0 -> r:output");
    const leaving = Array.from(view.edgeSource.keys()).filter((e) => view.edgeSource[e] === boxNamed(view, "n:split"));
    expect(leaving.map((e) => view.sourcePort[e])).toEqual([Math.fround(1 / 3), Math.fround(2 / 3)]);
  });
});

describe("the result", () => {
  const result = (nodes: NodeSketch[], outputs: string[], spec = {}): string[] => {
    const view = buildView(makeProgram([{ name: "main", nodes, outputs }]), spec);
    const box = view.key.indexOf("r:output");
    return box < 0
      ? []
      : [
          `${view.title[box]} ${view.subtitle[box]}`,
          ...(view.notes[box] ?? []),
          ...edgeLines(view).filter((line) => line.includes("r:output")),
        ];
  };
  const x: NodeSketch = { id: "x", op: "parameter", role: "parameter" };

  it("is an output box where a single value is returned, as where a tuple is", () => {
    expect(result([x, { id: "y", op: "tanh", inputs: ["x"] }], ["y"])).toEqual(["output f32[4]", "n:y -> r:output"]);
    expect(
      result([x, { id: "w", op: "sin", inputs: ["x"], scope: "a" }, { id: "y", op: "tanh", inputs: ["w"], scope: "layer" }], ["y"], {
        depth: 0,
      }),
    ).toEqual(["output f32[4]", "g:layer -> r:output"]);
  });

  it("looks through plumbing, and takes several values", () => {
    const split: NodeSketch = { id: "split", op: "split", inputs: ["x"], types: ["f32[2]", "f32[3]"] };
    const piped = [x, split, { id: "gte", op: "get-tuple-element", inputs: ["split#1"], types: ["f32[3]"] }];
    expect(result(piped, ["gte"])).toEqual(["output f32[3]", "n:split -> r:output"]);
    expect(result([x, split], ["split#0", "split#1"])).toEqual(["output 2 values", "n:split -> r:output", "n:split -> r:output"]);
  });

  it("is not a second box if the program has one, it is hidden, or it is not part of what is shown", () => {
    const y: NodeSketch = { id: "y", op: "tanh", inputs: ["x"] };
    expect(result([x, y, { id: "t", op: "tuple", inputs: ["y"] }], ["t"])).toEqual([]);
    expect(result([x, y, { id: "out", op: "output", role: "output", inputs: ["y"] }], ["y"])).toEqual([]);
    expect(result([x, y], ["y"], { hideRoles: ["output"] })).toEqual([]);
    const far: NodeSketch[] = [x, y, { id: "z", op: "sin", inputs: ["y"] }];
    expect(result(far, ["z"], { around: ["x"], hops: 1 })).toEqual([]);
    expect(result(far, ["z"], { around: ["x"], hops: 2 })).toEqual(["output f32[4]", "n:z -> r:output"]);
  });
});

describe("names", () => {
  it("are the titles when asked for; what an operation is moves to the second line unless the name says it", () => {
    const program = makeProgram([
      {
        name: "main",
        nodes: [
          { id: "Arg_0.1", op: "parameter", role: "parameter", text: "x" },
          { id: "dot.105", op: "dot", inputs: ["Arg_0.1"], scope: "a" },
          { id: "y", op: "tanh", inputs: ["dot.105"], scope: "b" },
          { id: "out", op: "tuple", inputs: ["y"] },
        ],
      },
    ]);
    const lines = (names: boolean): string[] => {
      const view = buildView(program, { names, depth: 9, rules: { inlineSmall: false } });
      return boxesOfKind(view, BoxKind.Node).map((box) => `${view.title[box]} | ${view.subtitle[box]}`);
    };
    expect(lines(true)).toEqual(["Arg_0.1 | x · f32[4]", "dot.105 | f32[4]", "y | tanh · f32[4]", "out | output · f32[4]"]);
    expect(lines(false)).toEqual(["x | f32[4]", "a | dot · f32[4]", "b | tanh · f32[4]", "output | f32[4]"]);
  });
});
