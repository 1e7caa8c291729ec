/** What colours and bars say about a program: fusions by what they do, calls as groups, closed groups by the work inside. */
import { describe, expect, it } from "vitest";
import { mixOf } from "../../src/core/scene/categoryShares";
import { categoryPaints, nodePaints } from "../../src/core/scene/categoryFill";
import { PAINT_GROUP } from "../../src/core/scene";
import { BoxKind, CATEGORIES, type Category, type ProgramData, type Visible } from "../../src/core/program/types";
import { makeProgram } from "../view/program";
import { NO_PROGRAM, visibleOf } from "./fixtures";

interface NodeLiteral {
  readonly op: string;
  readonly category: Category;
  readonly calls?: readonly number[];
  readonly role?: "input" | "parameter";
}

/** Graphs of nodes that only have an op, a category and calls. */
function programOf(graphs: readonly (readonly NodeLiteral[])[]): ProgramData {
  return makeProgram(
    graphs.map((nodes, g) => ({
      name: `graph ${g}`,
      nodes: nodes.map((node, n) => ({ ...node, id: `node ${n}`, calls: (node.calls ?? []).map((called) => `graph ${called}`) })),
    })),
  );
}

const shareOf = (visible: Visible, program: ProgramData, box: number): Record<string, number> => {
  const { row, shares } = mixOf(program, visible);
  return Object.fromEntries(
    CATEGORIES.map((name, i) => [name, shares[row[box] * CATEGORIES.length + i]]).filter(([, share]) => share !== 0),
  );
};

const multiply: NodeLiteral = { op: "multiply", category: "elementwise" };
const reduce: NodeLiteral = { op: "reduce", category: "reduce" };
const reshape: NodeLiteral = { op: "reshape", category: "shape" };

describe("paints", () => {
  it("give a fusion the colour of its most telling operation, and a plain call that of a group", () => {
    const program = programOf([
      [
        { op: "fusion", category: "custom", calls: [1] },
        { op: "call", category: "control", calls: [1] },
        { op: "while", category: "control", calls: [1] },
      ],
      [multiply, reduce, reshape],
    ]);
    const visible = {
      ...visibleOf(
        ["a", "b", "c"].map((id, i) => ({
          id,
          kind: BoxKind.Call,
          expandable: true,
          category: (["custom", "control", "control"] as const)[i],
        })),
        [],
      ),
      node: Int32Array.of(0, 1, 2),
    };
    expect([...categoryPaints(program, visible)]).toEqual([CATEGORIES.indexOf("reduce"), PAINT_GROUP, CATEGORIES.indexOf("control")]);
  });

  it("tell the inputs of a program from its weights, on boxes and in the outline, but not among the leaves of an autograd graph", () => {
    const categories = ["parameter", "parameter", "leaf"] as const;
    const program = programOf([categories.map((category, i) => ({ op: "placeholder", category, role: i === 1 ? "parameter" : "input" }))]);
    const boxes = categories.map((category, i) => ({ id: `node ${i}`, kind: BoxKind.Node, expandable: false, category }));
    const visible = { ...visibleOf(boxes, []), node: Int32Array.of(0, 1, 2) };
    const paints = ["output", "parameter", "leaf"].map((name) => (CATEGORIES as readonly string[]).indexOf(name));
    expect([...categoryPaints(program, visible)]).toEqual(paints);
    expect([0, 1, 2].map(nodePaints(program))).toEqual(paints);
  });
});

describe("the bar of a closed group", () => {
  const closed = { id: "g", kind: BoxKind.Group, expandable: true };

  it("counts work by category, through calls, and no shapes, parameters or the calls themselves", () => {
    const program = programOf([
      [
        multiply,
        reshape,
        { op: "parameter", category: "parameter" },
        { op: "call", category: "control", calls: [1] },
        { op: "call", category: "control", calls: [1] },
      ],
      [reduce, reshape],
    ]);
    const visible = { ...visibleOf([closed], []), boxOfNode: new Int32Array(7) };
    expect(shareOf(visible, program, 0)).toEqual({ elementwise: Math.fround(1 / 3), reduce: Math.fround(2 / 3) });
  });

  it("survives a graph that calls itself, and a group without work", () => {
    const program = programOf([
      [{ op: "call", category: "control", calls: [1] }],
      [multiply, { op: "call", category: "control", calls: [1] }],
      [reshape],
    ]);
    expect(shareOf({ ...visibleOf([closed], []), boxOfNode: new Int32Array(4) }, program, 0)).toEqual({ elementwise: 1 });
    expect(shareOf({ ...visibleOf([closed], []), graph: 2, boxOfNode: new Int32Array(4) }, program, 0)).toEqual({});
  });

  it("belongs to closed groups only", () => {
    const visible = { ...visibleOf([closed, { ...closed, id: "open", open: true }, { id: "n" }], []), boxOfNode: new Int32Array(0) };
    expect([...mixOf(NO_PROGRAM, visible).row]).toEqual([0, -1, -1]);
  });
});
