import { describe, expect, it } from "vitest";
import { Highlighter } from "../../src/core/highlight/highlighter";
import { bytesText } from "../../src/core/text/quantities";
import { groupFacts, operationsInside, nodeFacts, scopeOf } from "../../src/ui/engine/facts";
import { markdownOf } from "../../src/ui/engine/markdown";
import { distinctTranspose } from "../../src/core/base/csr";
import { indexOf } from "../../src/core/program/programIndex";
import { graphRow } from "../../src/ui/engine/names";
import { overview } from "../../src/ui/engine/overview";
import type { SceneLabel } from "../../src/core/scene/types";
import { outlineOf } from "../../src/ui/engine/pack";
import { labelColumns } from "../../src/core/scene/labelColumns";
import { findText, packDistinct, packTexts, textAt, textCount } from "../../src/core/text/packedTexts";
import { Table } from "../../src/ui/engine/table";
import { trace } from "../../src/ui/engine/trace";
import { valueFacts } from "../../src/ui/engine/valueFacts";
import { buildView } from "../../src/core/view";
import { makeProgram } from "../view/program";

const program = makeProgram([
  {
    name: "main",
    nodes: [
      { id: "x", role: "parameter" },
      { id: "w", role: "parameter" },
      { id: "a", inputs: ["x"], scope: "layer_0" },
      { id: "f", op: "fusion", inputs: ["a", "w"], calls: ["body"], scope: "layer_0" },
      { id: "g", op: "fusion", inputs: ["w"], calls: ["body"], category: "custom" },
      { id: "y", inputs: ["f"] },
      { id: "z", inputs: ["g", "y", "y"] },
    ],
  },
  {
    name: "body",
    nodes: [
      { id: "p", role: "parameter" },
      { id: "inner", inputs: ["p"] },
      { id: "root", inputs: ["inner"] },
    ],
  },
]);
const index = indexOf(program);
const number = (id: string) => Array.from({ length: program.nodeCount }, (_, n) => n).find((n) => index.id(n) === id)!;
const names = (mark: Uint8Array, bit: number) => [...mark].flatMap((m, n) => (m & bit ? [index.id(n)] : []));

describe("what the panel of a value shows", () => {
  it("is its own bytes, without the numbers of the operation", () => {
    const two = makeProgram([{ name: "main", nodes: [{ id: "split", op: "split", types: ["f32[4]", "f32[2,2]"] }] }]);
    const metrics = [{ name: "bytes", text: "32 B", origin: "estimated", share: 1 } as const];
    const facts = { ...nodeFacts(indexOf(two), 0, undefined, []), metrics, folded: [], foldable: [] };
    expect(valueFacts(indexOf(two), facts, 1)).toMatchObject({ outputs: [{ type: "f32[2,2]", bytes: 16 }], metrics: [] });
  });
});

describe("what is upstream and downstream", () => {
  it("goes as many hops as asked", () => {
    expect(names(trace(index, [number("y")], 1, 0).mark, 1)).toEqual(["f", "y", "p", "inner", "root"]);
    expect(names(trace(index, [number("y")], 0, 1).mark, 2)).toEqual(["y", "z"]);
  });

  it("takes the body of a call along, but not the other users of that body", () => {
    const { mark, upstream } = trace(index, [number("y")], 99, 0);
    expect(names(mark, 1)).toEqual(["x", "w", "a", "f", "y", "p", "inner", "root"]);
    expect(upstream).toBe(4);
  });

  it("leads out of a body to everyone who calls it", () => {
    const { mark } = trace(index, [number("inner")], 99, 99);
    expect(names(mark, 1)).toEqual(expect.arrayContaining(["p", "f", "g", "a", "x", "w"]));
    expect(names(mark, 2)).toEqual(expect.arrayContaining(["root", "f", "g", "y", "z"]));
  });
});

describe("lookups", () => {
  it("turns rows round, each pair once", () => {
    expect([...index.users.value.subarray(index.users.start[number("y")], index.users.start[number("y") + 1])]).toEqual([number("z")]);
    expect(distinctTranspose({ start: Int32Array.of(0, 2, 2), value: Int32Array.of(1, 1) }, 2)).toEqual({
      start: Int32Array.of(0, 0, 1),
      value: Int32Array.of(0),
    });
  });

  it("finds nodes by id within their graph, and graphs of nodes", () => {
    expect(index.find(0, "inner")).toBe(-1);
    expect(index.find(1, "inner")).toBe(number("inner"));
    expect(index.graphName(index.graphOf[number("inner")])).toBe("body");
    expect(graphRow(index, 1)).toEqual({ name: "body", nodes: 3, callers: 2 });
  });

  it("gives everything about a node", () => {
    const facts = nodeFacts(index, number("f"), { attrs: { k: 1 }, source: [] }, scopeOf(index, number("f"), ""));
    expect(facts).toMatchObject({
      id: "f",
      op: "fusion",
      graph: "main",
      scope: ["layer_0"],
      inputCount: 2,
      userCount: 1,
      attrs: [["k", 1]],
    });
    expect(facts.calls.map((graph) => graph.name)).toEqual(["body"]);
    expect(facts.inputs.map((input) => input.id)).toEqual(["a", "w"]);
  });
});

describe("groups", () => {
  it("counts the parameters of the shown graph, not those of what is called", () => {
    const model = makeProgram([
      {
        name: "main",
        nodes: [
          { id: "w", role: "parameter", scope: "layer" },
          { id: "f", op: "fusion", inputs: ["w"], calls: ["body"], scope: "layer" },
          { id: "a", inputs: ["f"], scope: "layer" },
          { id: "y", inputs: ["a"] },
        ],
      },
      {
        name: "body",
        nodes: [
          { id: "p", role: "parameter" },
          { id: "inner", inputs: ["p"] },
        ],
      },
    ]);
    for (const depth of [0, 9]) {
      const visible = buildView(model, { depth });
      const index = indexOf(model),
        box = visible.title.indexOf("layer");
      const facts = groupFacts(index, visible, box, operationsInside(index, visible, undefined)[box]);
      expect(facts).toMatchObject({ parameters: 1, parameterElements: 4, operations: 2, nodes: 5, called: 2 });
      expect(
        facts.ops.reduce((sum, each) => sum + each.count, 0),
        "f, a and inner",
      ).toBe(3);
    }
  });
});

describe("the outline", () => {
  it("is the tree of the boxes in the order of the picture", () => {
    const visible = buildView(program, { depth: 9 });
    const y = Float64Array.from({ length: visible.boxCount }, (_, box) => 1000 - box);
    const { order, depth } = outlineOf(visible, { x: new Float64Array(visible.boxCount), y }, "TB");
    expect([...order].sort((a, b) => a - b)).toEqual(Array.from({ length: visible.boxCount }, (_, box) => box));
    order.forEach((box, row) => {
      const parent = visible.parent[box];
      expect(depth[row]).toBe(parent < 0 ? 0 : depth[order.indexOf(parent)] + 1);
      if (parent >= 0) expect(order.indexOf(parent)).toBeLessThan(row);
    });
    const roots = [...order].filter((box) => visible.parent[box] < 0);
    expect(roots).toEqual([...roots].sort((a, b) => y[a] - y[b]));
  });
});

describe("the numbers of a module", () => {
  const layers = makeProgram([
    {
      name: "main",
      nodes: [
        { id: "x", role: "parameter" },
        ...[0, 1].flatMap((i) => [
          { id: `w${i}`, role: "parameter" as const, type: "f32[4,2]" },
          { id: `dot${i}`, op: "dot", inputs: [i ? `end${i - 1}` : "x", `w${i}`], scope: `layer_${i}` },
          { id: `end${i}`, op: "tanh", inputs: [`dot${i}`], scope: `layer_${i}` },
        ]),
      ],
    },
  ]);
  const layersIndex = indexOf(layers);
  const request = { rows: "modules" as const, attributes: [], filter: "", sort: "", descending: false };

  it("are those of its box: a weight that declares no module is in the one that uses it", () => {
    const table = new Table(layersIndex, request, layers.groupings[0], undefined, () => undefined, new Highlighter(layers));
    const columns = table.result.columns.map(({ name }) => name);
    const cells = table
      .cells(0, 2)
      .map((row) => [row[columns.indexOf("module")], row[columns.indexOf("ops")], row[columns.indexOf("parameters")]]);
    const view = buildView(layers, { depth: 0, fold: false });
    expect(cells.map(([module, ops, parameters]) => `${module} ${ops} ops · ${parameters} parameters`)).toEqual(
      Array.from({ length: view.boxCount }, (_, box) => `${view.title[box]} ${view.subtitle[box].split("\n")[0]}`).filter((text) =>
        text.startsWith("layer"),
      ),
    );
  });

  it("are those of one repeat inside an open stack, and of all on the stack", () => {
    const inside = (i: number) => ({ scope: `layer_${i}/mlp` });
    const program = makeProgram([
      {
        name: "main",
        nodes: [
          { id: "x", role: "parameter" },
          ...[0, 1, 2].flatMap((i) => [
            { id: `w${i}`, role: "parameter" as const, types: ["f32[4,2]"], ...inside(i) },
            { id: `dot${i}`, op: "dot", inputs: [i ? `add${i - 1}` : "x", `w${i}`], ...inside(i) },
            { id: `end${i}`, op: "tanh", inputs: [`dot${i}`], ...inside(i) },
            { id: `add${i}`, op: "add", inputs: [`end${i}`, `dot${i}`], scope: `layer_${i}` },
          ]),
        ],
      },
    ]);
    const visible = buildView(program, { depth: 9 });
    const numbers = (title: string) => {
      const box = visible.title.indexOf(title);
      const facts = groupFacts(indexOf(program), visible, box, operationsInside(indexOf(program), visible, undefined)[box]);
      return [facts.operations, facts.nodes, facts.parameterElements, facts.ops.length, facts.ops[0].count, facts.repeat, facts.around];
    };
    expect(numbers("mlp")).toEqual([2, 3, 8, 2, 1, 1, 3]);
    expect(numbers("layer_0 … layer_2")).toEqual([9, 12, 24, 3, 3, 3, 1]);
  });

  it("make an overview of the entry", () => {
    const { operations, kernels, heaviest } = overview(layersIndex);
    expect([operations, kernels, heaviest]).toEqual([4, 0, []]);
    expect(overview(index).kernels, "a fusion of the category custom counts once").toBe(2);
    const pair = makeProgram([
      {
        name: "main",
        nodes: [
          { id: "x", role: "parameter" },
          { id: "sort", op: "sort", inputs: ["x"], types: ["f32[4]", "s32[4]"] },
        ],
      },
    ]);
    const layers = (graph: string) => ({
      name: graph,
      nodes: [0, 1].map((i) => ({ id: `${graph}${i}`, op: "dot", inputs: [], scope: `blocks/${i}`, metrics: { flops: 4 } })),
    });
    const calls = ["forward", "backward"].map((name) => ({ id: name, op: "call", inputs: [], calls: [name], metrics: { flops: 8 } }));
    const halves = makeProgram([layers("forward"), layers("backward"), { name: "main", nodes: calls }], "main");
    expect(
      overview(indexOf(halves)).heaviest.map(({ name, repeats, share }) => [name, repeats, share]),
      "a module has a group in each half",
    ).toEqual([["blocks/#", 2, 1]]);
    expect(overview(indexOf(pair)).dtypes.map(({ share }) => share)).toEqual([0.5, 0.5]);
  });
});

describe("the table", () => {
  const request = { rows: "nodes", attributes: [], filter: "", sort: "", descending: false } as const;

  it("sorts by any column, both ways, and keeps the program's order otherwise", () => {
    const table = (sort: string, descending: boolean) =>
      new Table(index, { ...request, sort, descending }, program.groupings[0], undefined, () => undefined, new Highlighter(program));
    expect(
      table("", false)
        .cells(0, 3)
        .map((row) => row[0]),
    ).toEqual(["x", "w", "a"]);
    expect(
      table("id", true)
        .cells(0, 2)
        .map((row) => row[0]),
    ).toEqual(["z", "y"]);
    expect(table("users", true).cells(0, 1)[0][0]).toBe("w");
    expect(table("", false).result.total).toBe(7);
  });

  it("shows any attribute as a column, and modules with what is in them", () => {
    const details = (node: number) => ({ attrs: { cost: node }, source: [] });
    const nodes = new Table(
      index,
      { ...request, attributes: ["cost"] },
      program.groupings[0],
      Int32Array.of(number("f")),
      details,
      new Highlighter(program),
    );
    expect(nodes.result.columns.at(-1)!.name).toBe("cost");
    expect(nodes.cells(0, 9).map((row) => row.at(-1))).toEqual([String(number("f"))]);
    const modules = new Table(
      index,
      { ...request, rows: "modules" },
      program.groupings[0],
      undefined,
      () => undefined,
      new Highlighter(program),
    );
    expect(modules.cells(0, 9).map((row) => row.slice(0, 2))).toEqual([["layer_0", 2]]);
  });
});

describe("texts", () => {
  it("packs and cuts", () => {
    const packed = packTexts(3, (i) => ["ab", "", "cé"][i]);
    expect(packed.text).toBe("abcé");
    expect([...packed.start]).toEqual([0, 2, 2, 4]);
    expect(textAt(packed, 2)).toBe("cé");
  });

  it("packs labels", () => {
    const labels: SceneLabel[] = [
      { edge: 3, x: 0.1, y: -2, text: "×2", kind: "count", ground: 4 },
      { edge: 0, x: 7, y: 8, text: "", kind: "operand", ground: -1 },
      { edge: 1, x: 9, y: 1, text: "12", kind: "cut", ground: -1 },
    ];
    const packed = labelColumns(labels);
    expect([...packed]).toEqual(labels);
    expect([packed.has("operand"), labelColumns(labels.slice(0, 1)).has("operand")]).toEqual([true, false]);
    const moved = labels.map((label) => ({ ...label, x: label.x + 10, y: label.y + 10 }));
    expect([...packed.after(labels.slice(1), 10)]).toEqual([...labels.slice(1), ...moved]);
  });

  it("packs texts that occur often once, and more texts than are joined at once", () => {
    const packed = packDistinct(10_000, (i) => ["add", "", "dot"][i % 3]);
    expect([packed.text, textCount(packed), textAt(packed, 2), textAt(packed, 9_999)]).toEqual(["adddot", 10_000, "dot", "add"]);
    const many = packTexts(10_000, String);
    expect([0, 4095, 4096, 9_999].map((i) => textAt(many, i))).toEqual(["0", "4095", "4096", "9999"]);
  });

  it("finds a text among those that contain it", () => {
    const packed = packTexts(5, (i) => ["n:a1", "xn:a", "n:", "", "n:a"][i]);
    expect(["n:a", "n:a1", "n:", "a", "", "n:a1x"].map((text) => findText(packed, text))).toEqual([4, 0, 2, -1, -1, -1]);
  });

  it("writes bytes for people", () => {
    expect([0, 999, 1000, 16_777_216, 5e12].map(bytesText)).toEqual(["0 B", "999 B", "1.00 kB", "16.8 MB", "5.00 TB"]);
    expect(bytesText(-1)).toBe("?");
  });

  it("writes Markdown that names cannot break", () => {
    const odd = makeProgram([{ name: "m", nodes: [{ id: "a|b`c", op: "x\ny" }] }]);
    expect(markdownOf(indexOf(odd), buildView(odd, {}), [0])).toContain("| `a\\|b'c` | `x y` |");
  });
});
