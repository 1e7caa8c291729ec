import { describe, expect, it } from "vitest";
import { foundRows } from "../../src/core/listing/foundRows";
import { listedRow, textOf } from "../../src/core/listing/listed";
import { nodeLine } from "../../src/core/listing/nodeLine";
import { ownWords } from "../../src/core/listing/ownLine";
import { sideBySide } from "../../src/core/listing/sideBySide";
import { TextLines } from "../../src/core/listing/textLines";
import { Composed } from "../../src/core/program/recording/compose";
import { sameDiff } from "../../src/core/program/recording/diff";
import { EVIDENCE, type PassDiff } from "../../src/core/program/recording/types";
import type { ProgramData } from "../../src/core/program/types";
import { searchPasses } from "../../src/core/search/passes";
import { compileQuery } from "../../src/core/search/search";
import { touchingNodes } from "../../src/ui/engine/passAnswers";
import { Passes } from "../../src/ui/engine/passes";
import { reasonsFor } from "../../src/ui/engine/reasons";
import { makeProgram } from "../view/program";

/** A program with an exponential of some precision, and with other nodes between it and a call. */
function program(precision: string, ...between: { id: string; op: string; inputs: string[] }[]): ProgramData {
  return makeProgram(
    [
      {
        name: "body",
        nodes: [
          { id: "p", op: "parameter", role: "parameter" },
          { id: "neg", op: "negate", inputs: ["p"] },
        ],
      },
      {
        name: "main",
        nodes: [
          ...["a", "b", "c", "d", "e"].map((id) => ({ id, op: "parameter", role: "parameter" as const })),
          { id: "exp", op: "exponential", inputs: ["a"], attrs: { precision, "metadata.op_name": "x" } },
          ...between,
          { id: "call", op: "call", inputs: ["exp"], calls: ["body"] },
        ],
      },
    ],
    "main",
  );
}

const before = program("low", { id: "idle", op: "negate", inputs: ["b"] });
/** The idle node is gone, and the precision of the exponential is another. */
const after = program("high");
const EXP = 7,
  IDLE = 8;
const diff: PassDiff = {
  ...sameDiff(after.nodeCount),
  beforeCount: before.nodeCount,
  counterpart: Int32Array.of(0, 1, 2, 3, 4, 5, 6, 7, 9),
  back: Int32Array.of(0, 1, 2, 3, 4, 5, 6, 7, -1, 8),
  removed: Int32Array.of(IDLE),
  changed: Int32Array.of(EXP),
  changes: new Map([[EXP, [{ field: "attrs.precision", old: "low", new: "high" }]]]),
  byModule: [
    {
      place: "main",
      what: "−1 negate",
      modules: 1,
      inside: false,
      added: new Int32Array(0),
      changed: Int32Array.of(EXP),
      removed: Int32Array.of(IDLE),
    },
  ],
};

function written(text: TextLines): string[] {
  return Array.from({ length: text.count }, (_, line) => {
    const at = text.at(line);
    if (at.kind === "row") return `${at.row}`;
    return at.kind === "fold" ? `… ${at.rows}` : `${at.open ? "▾" : "▸"} ${at.name} ${at.rows}`;
  });
}

describe("a node as a line", () => {
  it("has its type, operation, operands, attributes and calls, but not where it comes from", () => {
    expect(nodeLine(before, EXP)).toBe("exp: f32[4] = exponential(a, precision=low)");
    expect(nodeLine(before, EXP, new Set(["metadata.op_name"]))).toContain("metadata.op_name=x");
    expect(nodeLine(before, 9)).toBe("call: f32[4] = call(exp, calls=body)");
    expect(nodeLine(before, 2)).toBe("a: f32[4] = parameter()");
  });

  it("is that of the program's own text, of which a comparison leaves out where it comes from unless that changed", () => {
    const line = 'ROOT %exp = f32[4]{0} exponential(%a), metadata={op_name="jit(f)/{x}" source_line=3}';
    const own: ProgramData = {
      ...before,
      ownLine: (node) => (node === EXP ? line : undefined),
    };
    expect(nodeLine(own, EXP)).toBe(line);
    expect(nodeLine(own, EXP, new Set(["metadata.op_name"]))).toBe(line);
    expect(nodeLine(own, EXP, new Set(["precision"]))).toBe("ROOT %exp = f32[4]{0} exponential(%a), metadata={…}");
    expect(nodeLine(own, 2)).toBe("a: f32[4] = parameter()");
  });

  it("is found in any case, on either side, in the rows that are looked at, and nothing but lines is read", () => {
    const nothing = () => {
      throw new Error("details are not needed");
    };
    const own = (lines: string[]): ProgramData => ({ ...before, details: nothing, ownLine: (node) => lines[node] });
    const was = own(["%a = f32[] sine(%x)", "%b = f32[] Tanh(%a)"]),
      is = own(["%a = f32[] sine(%x)", "%c = f32[] sine(%a)"]);
    const at = (row: number) =>
      [
        { kind: "same" as const, before: 0, after: 0 },
        { kind: "removed" as const, before: 1, after: -1 },
        { kind: "added" as const, before: -1, after: 1 },
      ][row];
    expect([...foundRows("SINE(", { from: 0, to: 3, at }, is, was)]).toEqual([0, 2]);
    expect([...foundRows("tanh", { from: 0, to: 3, at }, is, was)]).toEqual([1]);
    expect([...foundRows("sine", { from: 1, to: 2, at }, is, was)]).toEqual([]);
    expect([...foundRows("tanh", { from: 0, to: 3, at }, is)]).toEqual([]);
  });

  it.each([
    ["ROOT %dot.3 = f32[8,4]{1,0} dot(%x), dims={1}", { name: "%dot.3", type: "f32[8,4]{1,0}", op: "dot", attribute: "dims" }],
    ['mul: "f32[2]" = torch.ops.aten.mul.Tensor(x, 2);  x = None', { name: "mul", op: "torch.ops.aten.mul.Tensor", attribute: "" }],
    ["%3 = stablehlo.add %1, %2 : tensor<4xf32>", { name: "%3", type: "tensor<4xf32>", op: "stablehlo.add" }],
    ["e:f32[] = reduce_sum[axes=(0, 1)] d", { name: "e", type: "f32[]", op: "reduce_sum", attribute: "axes" }],
    ["q:bool[4,4] = gt c 0.0:f32[]", { name: "q", type: "bool[4,4]f32[]", op: "gt" }],
    ["jit[name=g jaxpr=g]", { name: "", op: "jit", attribute: "namejaxpr" }],
  ])("has coloured parts: %s", (line, parts) => {
    const words = ownWords(line);
    expect(textOf(words)).toBe(line);
    for (const [kind, text] of Object.entries(parts)) expect(textOf(words.filter((word) => word.kind === kind))).toBe(text);
  });

  it("marks only the words that differ, whatever they are", () => {
    const row = listedRow(before, after, diff, { kind: "changed", before: EXP, after: EXP });
    expect(textOf(row.before)).toBe(nodeLine(before, EXP));
    expect(textOf(row.after)).toBe(nodeLine(after, EXP));
    expect(row.after.filter(({ differs }) => differs).map(({ text }) => text)).toEqual(["high"]);
    expect(row.before.filter(({ kind }) => kind === "op").map(({ text }) => text)).toEqual(["exponential"]);
  });
});

describe("the text of a program", () => {
  it("has a heading for each graph, the entry first and open", () => {
    const text = TextLines.ofProgram(before);
    expect(written(text)).toEqual(["▾ main 8", "0", "1", "2", "3", "4", "5", "6", "7", "▸ body 2"]);
    expect(text.rowAt(0).after).toBe(2);
    expect(text.rowAt(9).after).toBe(1);
  });

  it("opens what hides a row, and closes graphs", () => {
    const text = TextLines.ofProgram(before);
    expect(text.reveal(9)).toBe(11);
    text.toggle(0);
    expect(written(text)).toEqual(["▸ main 8", "▾ body 2", "8", "9"]);
    expect(text.reveal(9)).toBe(3);
  });
});

describe("the text of a pass", () => {
  const open = () => TextLines.ofPass(sideBySide(before, after, diff), after.entry);

  it("folds what did not change, and shows what did with its surroundings", () => {
    const text = open();
    expect(written(text)).toEqual(["▾ main 8", "… 3", "3", "4", "5", "6", "7", "▸ body 2"]);
    expect(Array.from({ length: 5 }, (_, i) => text.rowAt(3 + i).kind)).toEqual(["same", "same", "changed", "removed", "same"]);
    expect(text.rowAt(6)).toEqual({ kind: "removed", before: IDLE, after: -1 });
  });

  it("marks a line that was copied into several fusions beside all but the first", () => {
    const parameters = ["a", "b", "c"].map((id) => ({ id, op: "parameter", role: "parameter" as const }));
    const graph = (...nodes: { id: string; op: string; inputs: string[] }[]) =>
      makeProgram([{ name: "main", nodes: [...parameters, ...nodes] }], "main");
    const was = graph(...["exp", "sin", "cos"].map((id, at) => ({ id, op: id, inputs: at ? ["exp"] : ["a"] })));
    const is = graph(...["f", "g", "h"].map((id) => ({ id, op: "fusion", inputs: ["a"] })));
    const fused: PassDiff = {
      ...sameDiff(is.nodeCount),
      beforeCount: was.nodeCount,
      counterpart: Int32Array.of(0, 1, 2, -1, -1, -1),
      back: Int32Array.of(0, 1, 2, -1, -1, -1),
      fusions: {
        old: { start: Int32Array.of(0, 2, 4, 5), value: Int32Array.of(3, 4, 5, 3, 3) },
        new: Int32Array.of(3, 4, 5),
        bodies: { start: new Int32Array(4), value: new Int32Array(0) },
      },
    };
    const rows = sideBySide(was, is, fused)[0].rows.filter(({ kind }) => kind !== "same");
    expect(rows.map(({ kind, before, after }) => [kind, before, after])).toEqual([
      ["became", 3, -1],
      ["became", 4, 3],
      ["copied", 3, -1],
      ["became", 5, 4],
      ["copied", 3, -1],
      ["became", -1, 5],
    ]);
  });

  it("opens a fold by a click or for a row inside, until its graph is closed", () => {
    const text = open();
    text.toggle(1);
    expect(written(text).slice(0, 4)).toEqual(["▾ main 8", "0", "1", "2"]);
    text.toggle(0);
    text.toggle(0);
    expect(written(text)[1]).toBe("… 3");
    expect(text.reveal(1)).toBe(2);
    expect(text.reveal(9)).toBe(text.count - 1);
  });
});

describe("several passes", () => {
  it("are composed with the weakest evidence on the way", () => {
    const slot = EVIDENCE.indexOf("slot");
    const links = new Composed(before.nodeCount);
    const weaker: PassDiff = { ...diff, evidence: diff.evidence.map((each, node) => (node === EXP ? slot : each)) };
    links.follow(weaker);
    links.follow(sameDiff(after.nodeCount));
    const pairs = links.links();
    expect(pairs.map((link) => [link.old[0], link.new[0]])).toEqual(Array.from(diff.counterpart, (old, now) => [old, now]));
    expect(pairs[EXP].evidence).toBe("slot");
    expect(pairs[0].evidence).toBe(EVIDENCE[sameDiff(1).evidence[0]]);
  });

  it("say which of them touched any of several nodes, of what these were and became, and what was noted of a node", async () => {
    const rows = [0, 1, 1].map((content, pass) => ({
      number: pass,
      name: `pass ${pass}`,
      pipeline: [],
      module: "",
      seconds: null,
      nodes: [before, after][content].nodeCount,
      content,
      before: pass - 1,
    }));
    const passes = new Passes({
      passes: rows,
      program: async (pass) => ({ program: [before, after][rows[pass].content], remote: undefined }),
      diff: async () => diff,
      reasons: async () => [
        { module: "", names: ["exp", "call"], text: "exp was fused into call" },
        { module: "", names: ["idle"], text: "idle was not fused" },
        { module: "", names: ["exp"], text: "exp was autotuned", autotuned: true },
        { module: "other", names: ["exp"], text: "of another module" },
      ],
      codes: async () => [],
      sourceFile: async () => ({}),
    });
    const touched = async (pass: number, nodes: readonly number[]) => touchingNodes(passes, await passes.show(pass, "after"), nodes);
    expect(await touched(2, [2, 3, EXP])).toEqual([1]);
    expect(await touched(0, [2, EXP])).toEqual([1]);
    expect(await touched(0, [IDLE])).toEqual([1]);
    expect(await touched(2, [2, 3, 8])).toEqual([]);
    expect(await touched(2, [])).toEqual([]);
    const reasons = async (pass: number, node: number) => reasonsFor(passes, await passes.show(pass, "after"), node);
    expect(await reasons(2, EXP)).toEqual({ fusion: ["exp was fused into call"], autotuning: ["exp was autotuned"], noted: true });
    expect(await reasons(0, IDLE)).toEqual({ fusion: ["idle was not fused"], autotuning: [], noted: true });
    expect(await reasons(2, 2)).toEqual({ fusion: [], autotuning: [], noted: true });
  });

  it("are searched at once: what appears, what goes, and which pass touched it", () => {
    const rows = [
      { before: -1, content: 0 },
      { before: 0, content: 1 },
      { before: 1, content: 1 },
    ];
    const programs: ProgramData[] = [before, after];
    const search = (query: string) =>
      searchPasses(
        rows,
        compileQuery(query),
        (pass) => programs[rows[pass].content],
        () => diff,
      );
    expect(search("op:negate").map(({ count, touched, ids }) => [count, touched, ids])).toEqual([
      [2, false, ["neg", "idle"]],
      [1, true, []],
      [1, false, []],
    ]);
    expect(
      search("id:=a").map(({ touched }) => touched),
      "what takes a parameter was changed",
    ).toEqual([false, true, false]);
    expect(search("op:call").map(({ touched }) => touched)).toEqual([false, false, false]);
  });
});
