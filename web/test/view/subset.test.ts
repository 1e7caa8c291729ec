import { describe, expect, it } from "vitest";
import { BoxKind, EdgeKind } from "../../src/core/program/types";
import { buildView } from "../../src/core/view";
import { boxesOfKind, boxLines, boxNamed, edgeLines } from "./asText";
import { makeProgram, type NodeSketch } from "./program";

/** a → b → c → d → e, with a shortcut b → d, and x, y apart. */
const nodes: NodeSketch[] = [
  { id: "a", op: "sin" },
  { id: "b", op: "sin", inputs: ["a"], scope: "g" },
  { id: "c", op: "sin", inputs: ["b"], scope: "g" },
  { id: "x", op: "sin" },
  { id: "d", op: "add", inputs: ["c", "b", "x"] },
  { id: "y", op: "sin", inputs: ["d"] },
  { id: "e", op: "sin", inputs: ["d"] },
];
const program = makeProgram([
  { name: "main", nodes: [...nodes, { id: "call", op: "call", inputs: ["e"], calls: ["f"] }], outputs: ["call"] },
  {
    name: "f",
    nodes: [
      { id: "p", op: "parameter", role: "parameter" },
      { id: "inner", op: "tanh", inputs: ["p"] },
      { id: "last", op: "exp", inputs: ["inner"] },
    ],
  },
]);
const fold = false;
const shown = (spec: object): string[] => {
  const view = buildView(program, { fold, ...spec });
  return boxesOfKind(view, BoxKind.Node).map((box) => view.key[box]);
};

describe("around", () => {
  it("shows what is within so many hops, up and down, in open groups, and counts what is not shown", () => {
    const view = buildView(program, { fold, around: ["c"], hops: 1 });
    expect(boxLines(view)).toEqual([
      "group g:g open",
      "  node n:b",
      "  node n:c",
      "node n:d",
      "  omitted o:in:n:b",
      "omitted o:in:n:d",
      "omitted o:out:n:d",
    ]);
    expect(edgeLines(view)).toEqual([
      "n:b -> n:c",
      "n:c -> n:d",
      "n:b -> n:d",
      "o:in:n:b -> n:b",
      "o:in:n:d -> n:d",
      "n:d -> o:out:n:d x2",
    ]);
    expect(view.title[boxNamed(view, "o:out:n:d")]).toBe("+2 hidden");
    expect(view.remarks).toEqual(["4 neighbours not shown."]);
  });

  it("does not continue from nodes to stop at", () => {
    expect(shown({ around: ["c"], hops: 9, stopAt: ["d"] })).toEqual(["n:a", "n:b", "n:c", "n:d"]);
  });

  it("takes keys, groups, and nodes of called graphs", () => {
    expect(shown({ around: ["n:a"], hops: 1 })).toEqual(["n:a", "n:b"]);
    expect(shown({ around: ["g:g"], hops: 0 })).toEqual(["n:b", "n:c"]);
    expect(shown({ around: ["n:call>n:inner"], hops: 1 })).toEqual(["n:p", "n:inner", "n:last", "r:output"]);
    expect(shown({ around: ["inner"], hops: 0 })).toEqual(["n:inner"]);
  });

  it("counts no hop for what only passes values on, and does not enter other elements of a tuple", () => {
    const bundled = makeProgram([
      {
        name: "main",
        nodes: [
          { id: "x", op: "sin" },
          { id: "sibling", op: "cos" },
          { id: "both", op: "tuple", inputs: ["x", "sibling"], types: ["f32[4]", "f32[4]"] },
          { id: "loop", op: "while", inputs: ["both#*"], types: ["f32[4]", "f32[4]"] },
          { id: "last", op: "get-tuple-element", inputs: ["loop#1"] },
          { id: "end", op: "exp", inputs: ["last"] },
        ],
        outputs: ["end"],
      },
    ]);
    const near = (node: string, hops: number): string[] => {
      const view = buildView(bundled, { fold, around: [node], hops });
      return boxesOfKind(view, BoxKind.Node)
        .map((box) => view.key[box].slice(2))
        .filter((key) => key !== "output");
    };
    expect(near("x", 1)).toEqual(["x", "both", "loop"]);
    expect(near("x", 2)).toEqual(["x", "both", "loop", "last", "end"]);
    expect(near("loop", 1)).toEqual(["x", "sibling", "both", "loop", "last", "end"]);
  });

  it("shows what only passes values on as a part of edges where there is much of it", () => {
    const values = Array.from({ length: 40 }, (_, i) => i);
    const types = values.map(() => "f32[4]");
    const state = makeProgram([
      {
        name: "main",
        nodes: [
          ...values.map((i) => ({ id: `start${i}`, op: "sin" })),
          { id: "all", op: "tuple", inputs: values.map((i) => `start${i}`), types },
          { id: "loop", op: "while", inputs: ["all#*"], types },
          ...values.map((i) => ({ id: `part${i}`, op: "get-tuple-element", inputs: [`loop#${i}`] })),
          ...values.map((i) => ({ id: `end${i}`, op: "exp", inputs: [`part${i}`] })),
        ],
      },
    ]);
    const view = buildView(state, { fold, around: ["loop", "part3"], hops: 1, flatten: true });
    const kinds = boxesOfKind(view, BoxKind.Node).map((box) => view.key[box].slice(2).replace(/\d+$/, ""));
    expect(kinds.filter((kind) => kind === "part" || kind === "all")).toEqual(["part"]);
    expect(kinds.filter((kind) => kind === "end")).toHaveLength(40);
  });

  it("closes the modules beside a node that is near everything, and opens them again", () => {
    const weights = Array.from({ length: 40 }, (_, i) => i);
    const wide = makeProgram([
      {
        name: "main",
        nodes: [
          ...weights.map((i) => ({ id: `gradient${i}`, op: "sin", scope: "backward" })),
          { id: "sum", op: "add", inputs: weights.map((i) => `gradient${i}`) },
          ...weights.map((i) => ({ id: `update${i}`, op: "cos", inputs: ["sum"], scope: "update" })),
        ],
      },
    ]);
    const view = buildView(wide, { fold, around: ["sum"], hops: 1 });
    expect(boxLines(view).filter((line) => /g:|n:sum/.test(line))).toEqual(["group g:backward", "group g:update", "node n:sum"]);
    expect(boxesOfKind(buildView(wide, { fold, around: ["sum"], hops: 1, open: ["g:update"] }), BoxKind.Node)).toHaveLength(41);
  });

  it("says so when there is no such node", () => {
    expect(buildView(program, { around: ["nope"], hops: 1 }).remarks).toEqual(['"nope" is not in this graph.']);
    expect(() => buildView(program, { graph: "nope" })).toThrow('no graph named "nope"');
  });

  it("shows relations as a separate kind of edges", () => {
    const linked = makeProgram([
      {
        name: "main",
        nodes: [
          { id: "f", op: "tanh" },
          { id: "m", op: "sin", inputs: ["f"] },
          { id: "b", op: "dtanh", inputs: ["m"], links: [["backward_of", "f"]] },
        ],
      },
    ]);
    const view = buildView(linked, { fold, around: ["m"], hops: 1 });
    expect(edgeLines(view)).toEqual(["n:f -> n:m", "n:m -> n:b", "n:f -> n:b"]);
    expect(Array.from(view.edgeKind)).toEqual([EdgeKind.Data, EdgeKind.Data, EdgeKind.Link]);
    expect(edgeLines(buildView(linked, { fold }))).toEqual(["n:f -> n:m", "n:m -> n:b"]);
  });

  it("does not reach everything through a source that everything uses", () => {
    const users = Array.from({ length: 40 }, (_, i): NodeSketch => ({ id: `u${i}`, op: "add", inputs: ["mask"] }));
    const wide = makeProgram([{ name: "main", nodes: [{ id: "mask", op: "iota" }, ...users] }]);
    const view = buildView(wide, { fold, around: ["u3"], hops: 5 });
    expect(boxesOfKind(view, BoxKind.Node).map((box) => view.key[box])).toEqual(["n:mask", "n:u3"]);
  });

  it("does not reach everything through what the program returns, but shows it and counts the rest, unless asked for it", () => {
    for (const result of [{ op: "tuple" }, { op: "output", role: "output" }] as const) {
      const results = Array.from({ length: 20 }, (_, i): NodeSketch => ({ id: `r${i}`, op: "sin", inputs: [`q${i}`] }));
      const before = results.map((_, i): NodeSketch => ({ id: `q${i}`, op: "cos" }));
      const wide = makeProgram([
        { name: "main", nodes: [...before, ...results, { id: "root", inputs: results.map(({ id }) => id), ...result }] },
      ]);
      const view = buildView(wide, { fold, around: ["r3"], hops: 3 });
      expect(boxesOfKind(view, BoxKind.Node).map((box) => view.key[box])).toEqual(["n:q3", "n:r3", "n:root"]);
      expect(view.title[boxNamed(view, "o:in:n:root")]).toBe("+19 hidden");
      expect(boxesOfKind(buildView(wide, { fold, around: ["root"], hops: 1 }), BoxKind.Node)).toHaveLength(21);
    }
  });
});

describe("paths", () => {
  it("are shown whichever way they run", () => {
    expect(shown({ paths: ["b", "d"] })).toEqual(["n:b", "n:c", "n:d"]);
    expect(shown({ paths: ["d", "b"] })).toEqual(["n:b", "n:c", "n:d"]);
  });

  it("are the shortest where there are too many", () => {
    const view = buildView(program, { fold, paths: ["b", "d"], limit: 2 });
    expect(boxLines(view)).toEqual(["group g:g open", "  node n:b", "node n:d"]);
    expect(view.remarks[0]).toMatch(/1 node on longer paths/);
  });

  it("say so when there are none", () => {
    const view = buildView(program, { fold, paths: ["x", "a"] });
    expect(view.remarks).toEqual(['No path leads between "x" and "a".']);
    expect(view.boxCount).toBe(2);
  });
});

describe("only and hidden roles", () => {
  it("narrow what is shown", () => {
    expect(shown({ only: ["b", "d"] })).toEqual(["n:b", "n:d"]);
    expect(shown({ only: ["b", "x"], around: ["c"], hops: 1 })).toEqual(["n:b"]);
    const view = buildView(program, { fold, graph: "f", hideRoles: ["parameter"] });
    expect(boxLines(view)).toEqual(["node n:inner", "node n:last", "node r:output"]);
    expect(view.boxOfNode[8]).toBe(-1);
  });
});

describe("a program without nodes", () => {
  it("is an empty view", () => {
    const empty = makeProgram([{ name: "main", nodes: [], outputs: [] }]);
    expect(buildView(empty, {}).boxCount).toBe(0);
  });
});

describe("the default depth", () => {
  it("opens as much as a page holds", () => {
    const small = makeProgram([{ name: "main", nodes }]);
    expect(boxLines(buildView(small, {}))).toContain("  node n:c");
    const big = Array.from(
      { length: 400 },
      (_, i): NodeSketch => ({
        id: `n${i}`,
        op: i % 3 ? "sin" : "cos",
        inputs: i ? [`n${i - 1}`] : [],
        scope: i < 200 ? "first/a" : "second/b",
      }),
    );
    expect(boxLines(buildView(makeProgram([{ name: "main", nodes: big }]), {})).filter((line) => line.includes("node"))).toEqual([]);
  });
});
