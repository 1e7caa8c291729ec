/** A value that a loop carries is not what it started as, and must not be written as if it were. */
import { expect, it } from "vitest";
import { buildView } from "../../src/core/view";
import { boxNamed } from "./looks";
import { makeProgram, type NodeSketch } from "./program";

it("says where a carried value starts, and what an unchanged one is", () => {
  const state = ["s32[]", "s32[]"];
  const constant = (id: string, text: string): NodeSketch => ({ id, op: "constant", role: "constant", types: ["s32[]"], text });
  const fetch = (id: string, from: string): NodeSketch => ({ id, op: "get-tuple-element", inputs: [from], types: ["s32[]"] });
  const program = makeProgram([
    {
      name: "main",
      nodes: [
        constant("zero", "0"), constant("limit", "100"),
        { id: "init", op: "tuple", inputs: ["zero", "limit"], types: state },
        { id: "while.1", op: "while", inputs: ["init#*"], types: state, calls: ["condition", "body"] },
      ],
    },
    {
      name: "condition",
      nodes: [
        { id: "s", op: "parameter", role: "parameter", types: state }, fetch("i", "s#0"), fetch("n", "s#1"),
        { id: "less", op: "compare", inputs: ["i", "n"], types: ["pred[]"] },
      ],
    },
    {
      name: "body",
      nodes: [
        { id: "s", op: "parameter", role: "parameter", types: state }, fetch("i", "s#0"), fetch("n", "s#1"), constant("one", "1"),
        { id: "next", op: "add", inputs: ["i", "one"], types: ["s32[]"] },
        { id: "result", op: "tuple", inputs: ["next", "n"], types: state },
      ],
      outputs: ["result#*"],
    },
  ]);
  const view = buildView(program, { depth: 1, rules: { foldRepeats: false } });
  expect(view.notes[boxNamed(view, "n:while.1>c:1>n:next")]).toEqual(["starts at 0", "+ 1"]);
  expect(view.notes[boxNamed(view, "n:while.1>c:0>n:less")]).toEqual(["starts at 0", "100"]);
});
