/** Collapsed groups say how much changed in them: as many nodes as the legend counts, each in one box. */
import { describe, expect, it } from "vitest";
import { sameDiff } from "../../src/core/program/recording/diff";
import { ADDED, CHANGED, countMarks, MERGED, REMOVED, SAME } from "../../src/core/program/recording/marks";
import { markedProgram } from "../../src/core/program/recording/moment";
import { EVIDENCE } from "../../src/core/program/recording/types";
import { changeColours } from "../../src/core/scene/changePaints";
import { buildView } from "../../src/core/view";
import { makeProgram } from "../view/program";

const layers = ["layer.0", "layer.1", "layer.2"];
const nodes = [
  { id: "x", op: "parameter", inputs: [] },
  ...layers.flatMap((layer, i) =>
    ["dot", "add", "tanh"].map((op, at) => ({
      id: `${op}.${i}`,
      op,
      scope: layer,
      inputs: [at ? `${["dot", "add"][at - 1]}.${i}` : i ? `tanh.${i - 1}` : "x"],
    })),
  ),
  { id: "last", op: "negate", inputs: ["tanh.2"] },
];
const program = makeProgram([{ name: "main", nodes }], "main");
const counts = (marked: Readonly<Record<string, number>>, fold: boolean, depth = 0) => {
  const marks = Uint8Array.from(nodes, ({ id }) => marked[id] ?? 0);
  const visible = buildView(program, { depth, fold, rules: { inlineSmall: false } });
  const { corners } = changeColours(program, visible, { marks, counted: marks });
  return Object.fromEntries(visible.title.map((title, box) => [title, corners![box]]).filter(([, text]) => text));
};

describe("the counts of changes", () => {
  const marked = { "dot.0": CHANGED, "add.0": REMOVED, "tanh.0": ADDED, "dot.1": CHANGED, "add.1": MERGED, last: ADDED };

  it("are on collapsed groups in which something changed, and on no single node", () => {
    expect(counts(marked, false)).toEqual({ "layer.0": "+1 −1 ~1", "layer.1": "~1 1 merged" });
  });

  it("are the sum of all repeats of a stack", () => {
    expect(counts(marked, true)).toEqual({ "layer.0 … layer.2": "+1 −1 ~2 1 merged in all" });
  });

  it("are not on a group that is new or gone as a whole", () => {
    expect(counts({ "dot.0": REMOVED, "add.0": REMOVED, "tanh.0": REMOVED, "dot.1": ADDED }, false)).toEqual({ "layer.1": "+1" });
  });

  it("are not on what is expanded: its boxes say it", () => {
    expect(counts(marked, false, 1)).toEqual({});
  });

  it("leave out what a group calls, as its title does", () => {
    const called = makeProgram(
      [
        {
          name: "main",
          nodes: [
            { id: "fusion", op: "fusion", scope: "layer", calls: ["body"] },
            { id: "exp", scope: "layer", inputs: ["fusion"] },
            { id: "last", inputs: ["exp"] },
          ],
        },
        { name: "body", nodes: [{ id: "a" }, { id: "b", inputs: ["a"] }] },
      ],
      "main",
    );
    const visible = buildView(called, { depth: 0 });
    const marks = Uint8Array.of(ADDED, CHANGED, SAME, CHANGED, CHANGED);
    const { corners } = changeColours(called, visible, { marks, counted: marks });
    expect([visible.title, corners]).toEqual([
      ["layer", "add"],
      ["+1 ~1", ""],
    ]);
  });

  it("are those of the row of the pass: what replaced a node is counted, not its ghost, too", () => {
    const before = makeProgram([{ name: "main", nodes: [{ id: "view", op: "view" }] }], "main");
    const after = makeProgram([{ name: "main", nodes: [{ id: "other", op: "view" }] }], "main");
    const node = Int32Array.of(0);
    const none = new Int32Array(0);
    const rows = { start: Int32Array.of(0, 1), value: node };
    const diff = {
      ...sameDiff(1),
      counterpart: Int32Array.of(-1),
      back: Int32Array.of(-1),
      changed: node,
      groups: { old: rows, new: rows, evidence: Uint8Array.of(EVIDENCE.indexOf("slot")), rule: [""] },
      changes: new Map([[0, []]]),
      byModule: [{ place: "", what: "", modules: 1, inside: false, added: none, changed: node, removed: none }],
    };
    const { marks, counted } = markedProgram(before, after, diff as never, "overlay");
    expect([countMarks(marks)[CHANGED], countMarks(counted!)[CHANGED]]).toEqual([2, 1]);
    expect(markedProgram(before, after, diff as never, "before").counted).toBeUndefined();
  });
});
