/** Programs that no compiler makes: whoever follows a value through them gets to an end. */
import { expect, it } from "vitest";
import { buildView } from "../../src/core/view";
import { savedOutputs, stacksOf } from "../../src/core/view/twoHalves/saved";
import { type GraphSketch, makeProgram, type NodeSketch } from "./program";

const STATE = ["f32[4]", "f32[4]"];
const parameter = (id: string, types = STATE): NodeSketch => ({ id, op: "parameter", role: "parameter", types });

/** A forward loop, whose first result the backward half reads. */
function loop(body: NodeSketch[], called: GraphSketch[] = []) {
  return makeProgram([
    {
      name: "main",
      nodes: [
        parameter("a"),
        { id: "w", op: "while", inputs: ["a#*"], types: STATE, calls: ["condition", "body"], place: 0, groups: { direction: "forward/l" } },
        { id: "g", op: "multiply", inputs: ["w#0", "w#1"], groups: { direction: "backward/l" } },
      ],
    },
    { name: "condition", nodes: [parameter("s"), { id: "less", op: "compare", inputs: ["s#0", "s#1"], types: ["pred[]"] }] },
    { name: "body", nodes: body, outputs: ["result#*"] },
    ...called,
  ]);
}

it("ends where a tuple contains itself, directly or through its elements", () => {
  const sum: NodeSketch = { id: "sum", op: "add", inputs: ["s#0", "s#1"] };
  const direct = loop([parameter("s"), sum, { id: "result", op: "tuple", inputs: ["result#0", "result#1"], types: STATE }]);
  const element: NodeSketch = { id: "e", op: "get-tuple-element", inputs: ["result#0"] };
  const through = loop([parameter("s"), sum, element, { id: "result", op: "tuple", inputs: ["e", "sum"], types: STATE }]);
  for (const program of [direct, through]) {
    expect(buildView(program, { depth: 9, fold: false }).boxCount).toBeGreaterThan(4);
    expect(savedOutputs(program).size).toBe(2);
    expect(stacksOf(program).size).toBeGreaterThan(0);
  }
});

it("ends where a call passes a value on to itself", () => {
  const call: NodeSketch = { id: "c", op: "call", inputs: ["c"], types: ["f32[4]"], calls: ["same"] };
  const same: GraphSketch = { name: "same", nodes: [parameter("p", ["f32[4]"])], outputs: ["p"] };
  const program = loop([parameter("s"), call, { id: "result", op: "tuple", inputs: ["c", "c"], types: STATE }], [same]);
  expect(stacksOf(program).size).toBeGreaterThan(0);
});

it("counts what tuples of tuples contain once, however often it is in them", () => {
  const tuples = Array.from({ length: 60 }, (_, i): NodeSketch => {
    const inner = i ? `t${i - 1}#*` : "f";
    return { id: `t${i}`, op: "tuple", inputs: [inner, inner], types: STATE };
  });
  const nodes: NodeSketch[] = [
    parameter("x", ["f32[4]"]),
    { id: "f", op: "tanh", inputs: ["x"], groups: { direction: "forward/l" } },
    ...tuples,
    { id: "g", op: "multiply", inputs: ["t59#*"], groups: { direction: "backward/l" } },
  ];
  expect(savedOutputs(makeProgram([{ name: "main", nodes }])).size).toBe(1);
});
