/** A removed node whose operand is in another graph now: what is left of its operands must not take the place of the lost one. */
import { expect, it } from "vitest";
import { buildView } from "../../src/core/view";
import { edgeLines } from "../view/asText";
import { makeProgram, type NodeSketch } from "../view/program";
import { overlaid } from "./overlaid";

const parameters: NodeSketch[] = [
  { id: "x", role: "parameter" },
  { id: "y", role: "parameter" },
];
/** After the pass, `moved` is in the body of a fusion, and nothing uses what the other removed nodes gave. */
const after = makeProgram([
  {
    name: "main",
    nodes: [...parameters, { id: "kept", op: "cosine", inputs: ["y"] }, { id: "fused", op: "fusion", inputs: ["x"], calls: ["body"] }],
    outputs: ["kept", "fused"],
  },
  {
    name: "body",
    nodes: [
      { id: "p", role: "parameter" },
      { id: "moved", op: "sine", inputs: ["p"] },
    ],
  },
  {
    name: "branch",
    nodes: [
      { id: "first", role: "parameter" },
      { id: "second", role: "parameter" },
      { id: "log", op: "log", inputs: ["first"] },
    ],
  },
]);

/** The edges of the overlay of a program before the pass, whose nodes have counterparts of the same name. */
function edgesAfter(removed: NodeSketch[]): string[] {
  const before = makeProgram([
    {
      name: "main",
      nodes: [...parameters, { id: "moved", op: "sine", inputs: ["x"] }, { id: "kept", op: "cosine", inputs: ["y"] }, ...removed],
      outputs: ["kept"],
    },
    {
      name: "branch",
      nodes: [
        { id: "first", role: "parameter" },
        { id: "second", role: "parameter" },
        { id: "log", op: "log", inputs: ["first"] },
      ],
    },
  ]);
  return edgeLines(buildView(overlaid(before, after), { depth: 1 }));
}

it("does not take another element of a tuple", () => {
  const edges = edgesAfter([
    { id: "both", op: "tuple", inputs: ["moved", "kept"], types: ["f32[4]", "f32[4]"] },
    { id: "element", op: "get-tuple-element", inputs: ["both#0"] },
    { id: "user", op: "exp", inputs: ["element"] },
  ]);
  expect(edges).not.toContain("n:kept -> n:user");
  expect(edges).toContain("n:kept -> n:both");
  expect(edges).toContain("n:both -> n:user");
});

it("does not give a branch what chooses it", () => {
  const edges = edgesAfter([
    { id: "which", op: "floor", inputs: ["y"] },
    { id: "choice", op: "conditional", inputs: ["which", "moved", "kept"], calls: ["branch", "branch"] },
  ]);
  expect(edges.filter((edge) => /^n:which -> .*n:log/.test(edge))).toEqual([]);
  expect(edges).toContain("n:kept -> n:choice");
});
