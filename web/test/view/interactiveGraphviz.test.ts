/** What XLA's interactive_graphviz shows: operand numbers, where parameters come from, what is omitted and how to add it. */
import { describe, expect, it } from "vitest";
import { draw } from "../../src/core/picture";
import { edgeTooltip } from "../../src/core/scene/tooltips";
import type { ProgramData, ViewSpec } from "../../src/core/program/types";
import { buildView } from "../../src/core/view";
import { addOmitted, specOf, START } from "../../src/ui/state/view";
import { boxNamed } from "./asText";
import { makeProgram } from "./program";

function sceneOf(program: ProgramData, spec: ViewSpec, operands?: boolean) {
  return draw(program, { spec: { ...spec, operands } }).scene;
}

const numbers = (program: ProgramData, operands?: boolean) =>
  [...sceneOf(program, { flatten: true }, operands).labels]
    .filter(({ kind }) => kind === "operand")
    .map(({ text }) => text)
    .sort();

describe("operand numbers", () => {
  const taking = (op: string) =>
    makeProgram([
      {
        name: "main",
        nodes: [
          { id: "a", op: "sin" },
          { id: "b", op: "cos" },
          { id: "y", op, inputs: ["a", "b"] },
        ],
      },
    ]);

  it("are at the heads where the order matters", () => {
    expect(numbers(taking("subtract"))).toEqual(["0", "1"]);
    expect(numbers(taking("dot"))).toEqual(["0", "1"]);
  });

  it("are left out where it does not, for a single operand, and when they are switched off", () => {
    expect(numbers(taking("add"))).toEqual([]);
    expect(
      numbers(
        makeProgram([
          {
            name: "main",
            nodes: [
              { id: "a", op: "sin" },
              { id: "b", op: "negate", inputs: ["a"] },
            ],
          },
        ]),
      ),
    ).toEqual([]);
    expect(numbers(taking("subtract"), false)).toEqual([]);
  });

  it("are all at a box or none: where arrow heads are close, 1, 8 and 0 would be read as 180", () => {
    const joining = (count: number) => {
      const sources = Array.from({ length: count }, (_, i) => ({ id: `x${i}`, op: "sin" }));
      return makeProgram([{ name: "main", nodes: [...sources, { id: "y", op: "concatenate", inputs: sources.map(({ id }) => id) }] }]);
    };
    expect(numbers(joining(4))).toEqual(["0", "1", "2", "3"]);
    expect(numbers(joining(30))).toEqual([]);
    expect(numbers(joining(30), true).length).toBeGreaterThan(0);
  });

  it("give way in a large picture, unless they are asked for", () => {
    const nodes = [
      { id: "a", op: "sin" },
      { id: "b", op: "cos" },
    ];
    const many = Array.from({ length: 70 }, (_, i) => ({ id: `y${i}`, op: "subtract", inputs: i ? [`y${i - 1}`, "b"] : ["a", "b"] }));
    const program = makeProgram([{ name: "main", nodes: [...nodes, ...many] }]);
    const shown = (operands?: boolean) =>
      [...sceneOf(program, { flatten: true, fold: false, rules: { stubs: false } }, operands).labels].filter(
        ({ kind }) => kind === "operand",
      ).length;
    expect(shown()).toBe(0);
    expect(shown(true)).toBe(140);
  });
});

it("an edge shows its type and its bytes", () => {
  const scene = sceneOf(
    makeProgram([
      {
        name: "main",
        nodes: [
          { id: "a", op: "sin", types: ["f32[4]"] },
          { id: "b", op: "cos", inputs: ["a"] },
        ],
      },
    ]),
    { flatten: true },
  );
  expect(edgeTooltip(scene, 0)).toMatch(/f32\[4\] · \d+ B/);
});

describe("parameters of a called graph", () => {
  const body = (name: string) => ({
    name,
    nodes: [
      { id: "p0", op: "parameter", role: "parameter" as const },
      { id: "p1", op: "parameter", role: "parameter" as const },
      { id: "s", op: "subtract", inputs: ["p0", "p1"] },
    ],
  });
  const call = (id: string) => ({ id, op: "fusion", inputs: ["x", "tuple.1"], calls: ["body"] });
  const before = [
    { id: "x", op: "sin" },
    { id: "y", op: "cos" },
    { id: "tuple.1", op: "bitcast", inputs: ["y"] },
  ];

  it("say where their values come from, looking through what only passes them on", () => {
    const view = buildView(makeProgram([{ name: "main", nodes: [...before, call("fusion.1")] }, body("body")]), { graph: "body" });
    expect(view.subtitle[boxNamed(view, "n:p0")]).toBe("f32[4] · from x");
    expect(view.subtitle[boxNamed(view, "n:p1")]).toBe("f32[4] · from y");
  });

  it("say nothing where there are several callers", () => {
    const view = buildView(makeProgram([{ name: "main", nodes: [...before, call("fusion.1"), call("fusion.2")] }, body("body")]), {
      graph: "body",
    });
    expect(view.subtitle[boxNamed(view, "n:p0")]).toBe("f32[4]");
  });
});

describe("omitted neighbours", () => {
  const program = makeProgram([
    {
      name: "main",
      nodes: [
        { id: "a", op: "sin" },
        { id: "b", op: "cos", inputs: ["a"] },
        { id: "c", op: "tanh", inputs: ["b"] },
        { id: "d", op: "exp", inputs: ["c"] },
        { id: "e", op: "log", inputs: ["c"] },
      ],
    },
  ]);
  const view = { ...START, around: ["b"], hops: 1 };

  it("are counted where they would be, and a click adds exactly them", () => {
    const part = buildView(program, specOf(view));
    expect(part.title[boxNamed(part, "o:out:n:c")]).toBe("+2 hidden");
    const more = addOmitted(view, "o:out:n:c");
    const whole = buildView(program, specOf(more!));
    expect(whole.key.filter((key) => key.startsWith("n:")).sort()).toEqual(["n:a", "n:b", "n:c", "n:d", "n:e"]);
    expect(whole.key.some((key) => key.startsWith("o:"))).toBe(false);
  });

  it("mean nothing for other boxes", () => {
    expect(addOmitted(view, "n:c")).toBeUndefined();
    expect(addOmitted(START, "o:out:n:c")).toBeUndefined();
  });
});
