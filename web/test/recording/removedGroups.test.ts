/** Groups and called graphs that exist only before a pass, in a picture of before and after. */
import { expect, it } from "vitest";
import { buildView } from "../../src/core/view";
import { boxLines } from "../view/asText";
import { type GraphSketch, makeProgram } from "../view/program";
import { overlaid } from "./overlaid";

/** A loop body beside the entry, with groups that are there before and after. */
const body: GraphSketch = {
  name: "body",
  nodes: [
    { id: "p", role: "parameter" },
    { id: "tanh", inputs: ["p"], scope: "cell" },
    { id: "exp", inputs: ["tanh"], scope: "cell" },
    { id: "sin", inputs: ["exp"], scope: "gate" },
    { id: "cos", inputs: ["sin"], scope: "gate" },
  ],
};
const kept = [
  { id: "x", role: "parameter" as const },
  { id: "in", op: "dot", inputs: ["x"], scope: "first" },
  { id: "norm", op: "dot", inputs: ["in"], scope: "first" },
];

it("draws a removed group in its own graph, and the groups of other graphs in theirs", () => {
  const before = makeProgram([
    {
      name: "main",
      nodes: [
        ...kept,
        { id: "drop", op: "dot", inputs: ["norm"], scope: "second" },
        { id: "mask", op: "dot", inputs: ["drop"], scope: "second" },
        { id: "loop", op: "call", inputs: ["mask"], calls: ["body"] },
      ],
      outputs: ["loop"],
    },
    body,
  ]);
  const after = makeProgram([
    { name: "main", nodes: [...kept, { id: "loop", op: "call", inputs: ["norm"], calls: ["body"] }], outputs: ["loop"] },
    body,
  ]);
  const both = overlaid(before, after);
  const { groupGraph, nodeGroup } = both.groupings[0];
  expect([...groupGraph]).toEqual([0, 0, 1, 1]);
  expect([...nodeGroup].map((group) => (group < 0 ? "" : both.strings.at(both.groupings[0].groupName[group])))).toEqual([
    "",
    "first",
    "first",
    "second",
    "second",
    "",
    "",
    "cell",
    "cell",
    "gate",
    "gate",
  ]);
  const boxes = boxLines(buildView(both, { depth: 2 }));
  for (const line of ["group g:first open", "group g:second open", "  group n:loop>g:gate open"]) expect(boxes).toContain(line);
});

it("leaves a removed call without the graph that has its nodes now", () => {
  const call = (name: string): GraphSketch[] => [
    { name: "main", nodes: [...kept, { id: `use_${name}`, op: "call", inputs: ["norm"], calls: [name] }], outputs: [`use_${name}`] },
    { ...body, name },
  ];
  const both = overlaid(makeProgram(call("helper")), makeProgram(call("fused")));
  const view = buildView(both, { depth: 0 });
  expect(boxLines(view)).toContain("call n:use_fused");
  expect(boxLines(view)).toContain("node n:use_helper");
});
