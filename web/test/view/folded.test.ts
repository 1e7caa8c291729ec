/** Nodes that are text in their user or part of an edge, and when they are boxes. */
import { describe, expect, it } from "vitest";
import type { ViewSpec } from "../../src/core/program/types";
import { buildView } from "../../src/core/view";
import { foldedOperands } from "../../src/core/view/foldedOperands";
import { reveal } from "../../src/core/view/reveal";
import { boxLines, boxNamed, edgeLines } from "./asText";
import { makeProgram } from "./program";

/** A bias that is broadcast in three steps before it is added, and a value that passes through a tuple. */
const program = makeProgram([
  {
    name: "main",
    nodes: [
      { id: "x", role: "parameter", op: "parameter", types: ["f32[8, 512]"] },
      { id: "h", op: "tanh", inputs: ["x"], types: ["f32[8, 512]"] },
      { id: "b", role: "parameter", op: "parameter", types: ["f32[512]"] },
      { id: "b.1", op: "broadcast", inputs: ["b"], types: ["f32[1, 512]"] },
      { id: "b.2", op: "broadcast", inputs: ["b.1"], types: ["f32[8, 512]"] },
      { id: "sum", op: "add", inputs: ["h", "b.2"], types: ["f32[8, 512]"] },
      { id: "both", op: "tuple", inputs: ["sum", "h"], types: ["f32[8, 512]", "f32[8, 512]"] },
      { id: "first", op: "get-tuple-element", inputs: ["both#0"], types: ["f32[8, 512]"] },
      { id: "end", op: "exp", inputs: ["first"], types: ["f32[8, 512]"] },
    ],
    outputs: ["end"],
  },
]);
const node = (id: string): number => ["x", "h", "b", "b.1", "b.2", "sum", "both", "first", "end"].indexOf(id);
const ids = (nodes: readonly number[]): string[] => nodes.map((n) => program.strings.at(program.nodeId[n]));

it("are not lost: the view says which they are, and which box has them", () => {
  const view = buildView(program, {});
  expect(boxLines(view)).toEqual(["node n:x", "node n:h", "node n:sum", "node n:end", "node r:output"]);
  expect(ids([...view.folded.keys()].filter((n) => view.folded[n]))).toEqual(["b", "b.1", "b.2", "both", "first"]);
  expect(ids(foldedOperands(program, view, node("sum")).folded)).toEqual(["b.2", "b.1", "b"]);
  expect(ids(foldedOperands(program, view, node("end")).folded)).toEqual(["first", "both"]);
  expect(ids(foldedOperands(program, view, node("end")).foldable)).toEqual([]);
});

describe("all nodes", () => {
  it("are boxes with an edge for each operand; the result is marked and has no box of its own", () => {
    const view = buildView(program, { allNodes: true });
    expect(boxLines(view)).toEqual(["x", "h", "b", "b.1", "b.2", "sum", "both", "first", "end"].map((id) => `node n:${id}`));
    expect(edgeLines(view)).toEqual([
      "n:x -> n:h",
      "n:b -> n:b.1",
      "n:b.1 -> n:b.2",
      "n:h -> n:sum",
      "n:b.2 -> n:sum",
      "n:sum -> n:both",
      "n:h -> n:both",
      "n:both -> n:first",
      "n:first -> n:end",
    ]);
    expect(view.notes[boxNamed(view, "n:end")]).toEqual(["output"]);
    expect(view.folded).toEqual(new Uint8Array(program.nodeCount));
  });

  it("include what a called graph gets and does", () => {
    const calls = makeProgram([
      {
        name: "main",
        nodes: [
          { id: "x", op: "sin" },
          { id: "y", op: "reduce", inputs: ["x", "x"], calls: ["region"] },
        ],
      },
      {
        name: "region",
        nodes: [
          { id: "p", op: "parameter", role: "parameter" },
          { id: "q", op: "parameter", role: "parameter" },
          { id: "s", op: "add", inputs: ["p", "q"] },
        ],
      },
    ]);
    expect(edgeLines(buildView(calls, { allNodes: true, depth: 9 }))).toEqual([
      "n:x -> n:y>n:p",
      "n:x -> n:y>n:q",
      "n:y>n:p -> n:y>n:s",
      "n:y>n:q -> n:y>n:s",
    ]);
  });
});

describe("a part of a graph", () => {
  it("has every node that it is asked for", () => {
    expect(edgeLines(buildView(program, { paths: ["b", "end"] }))).toEqual([
      "n:b -> n:b.1",
      "n:b.1 -> n:b.2",
      "n:b.2 -> n:sum",
      "n:sum -> n:both",
      "n:both -> n:first",
      "n:first -> n:end",
    ]);
    expect(boxLines(buildView(program, { around: ["b.2"], hops: 1 }))).toEqual([
      "node n:b.1",
      "node n:b.2",
      "node n:sum",
      "omitted o:in:n:sum",
      "omitted o:out:n:sum",
    ]);
  });
});

describe("unfolded nodes", () => {
  const drawn = (...unfolded: string[]): string[] => edgeLines(buildView(program, { unfolded }));

  it("have boxes, and so has what broadcasts them, up to their user", () => {
    expect(drawn("n:b.2")).toContain("n:b.2 -> n:sum");
    expect(drawn("n:b.2")).not.toContain("n:b -> n:b.1");
    expect(drawn("n:b")).toEqual(expect.arrayContaining(["n:b -> n:b.1", "n:b.1 -> n:b.2", "n:b.2 -> n:sum"]));
    expect(drawn("n:first")).toEqual(["n:x -> n:h", "n:h -> n:sum", "n:sum -> n:first", "n:first -> n:end", "n:end -> r:output"]);
  });

  it("still say what is folded into them", () => {
    const view = buildView(program, { unfolded: ["n:b.2"] });
    expect(view.notes[boxNamed(view, "n:b.2")]).toEqual(["b f32[512]"]);
    expect(foldedOperands(program, view, node("sum"))).toEqual({ folded: [], foldable: [node("b.2")] });
    expect(ids(foldedOperands(program, view, node("b.2")).folded)).toEqual(["b.1", "b"]);
  });

  it("of a repeat that is not drawn are those of the one that is", () => {
    const layer = (i: number, before: string) => [
      { id: `w${i}`, role: "parameter" as const, op: "parameter", types: ["f32[512]"], scope: `layer_${i}` },
      { id: `a${i}`, op: "add", inputs: [before, `w${i}`], types: ["f32[8, 512]"], scope: `layer_${i}` },
      { id: `t${i}`, op: "tanh", inputs: [`a${i}`], types: ["f32[8, 512]"], scope: `layer_${i}` },
    ];
    const repeated = makeProgram([
      {
        name: "main",
        nodes: [
          { id: "x", role: "parameter", op: "parameter", types: ["f32[8, 512]"] },
          { id: "h", op: "sin", inputs: ["x"], types: ["f32[8, 512]"] },
          ...layer(0, "h"),
          ...layer(1, "t0"),
          ...layer(2, "t1"),
        ],
      },
    ]);
    const spec: ViewSpec = { depth: 9 };
    const shown = reveal(repeated, spec, 5); // w1
    expect(shown.unfolded).toEqual(["n:w1"]);
    expect(shown.visible.key[shown.revealed]).toBe("n:w0");
  });
});

describe("revealing", () => {
  it("unfolds a node, and opens what is around it first", () => {
    const scoped = makeProgram([
      {
        name: "main",
        nodes: [
          { id: "x", role: "parameter", op: "parameter", types: ["f32[8, 512]"] },
          { id: "h", op: "tanh", inputs: ["x"], types: ["f32[8, 512]"], scope: "g" },
          { id: "c", role: "constant", op: "constant", types: ["f32[]"], text: "2", scope: "g" },
          { id: "y", op: "multiply", inputs: ["h", "c"], types: ["f32[8, 512]"], scope: "g" },
          { id: "z", op: "exp", inputs: ["y"], types: ["f32[8, 512]"] },
        ],
      },
    ]);
    const { opened, unfolded, visible, revealed } = reveal(scoped, { depth: 0 }, 2);
    expect({ opened, unfolded, key: visible.key[revealed] }).toEqual({ opened: ["g:g"], unfolded: ["n:c"], key: "n:c" });
    expect(reveal(scoped, { depth: 0 }, 3).unfolded).toEqual([]);
  });

  it("does not open a call to show its operand", () => {
    const called = makeProgram([
      {
        name: "main",
        nodes: [
          { id: "x", op: "sin" },
          { id: "c", role: "constant", op: "constant", types: ["f32[]"], text: "2" },
          { id: "f", op: "fusion", inputs: ["x", "c"], calls: ["body"] },
        ],
      },
      {
        name: "body",
        nodes: [
          { id: "p", op: "parameter", role: "parameter" },
          { id: "q", op: "parameter", role: "parameter", types: ["f32[]"] },
          { id: "first", op: "tanh", inputs: ["p"] },
          { id: "s", op: "multiply", inputs: ["first", "q"] },
        ],
      },
    ]);
    expect(reveal(called, {}, 1)).toMatchObject({ opened: [], unfolded: ["n:c"] });
    const inside = reveal(called, { depth: 0 }, 4); // q
    expect(inside).toMatchObject({ opened: ["n:f"], unfolded: ["n:f>n:q"] });
    expect(edgeLines(inside.visible)).toContain("n:f>n:q -> n:f>n:s");
  });
});
