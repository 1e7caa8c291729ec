/** Boxes are coloured by the number that they have; the legend says in which unit, and where the numbers come from. */
import { describe, expect, it } from "vitest";
import { Highlighter } from "../../src/core/highlight/highlighter";
import { metricsOf } from "../../src/core/metrics/counted";
import { shareOfNode, sharesOf } from "../../src/core/metrics/shares";
import { scaleOf } from "../../src/core/metrics/scale";
import { BoxKind, type Visible } from "../../src/core/program/types";
import { draw } from "../../src/core/picture";
import { metricColours } from "../../src/core/highlight/metricColours";
import { boxTexts } from "../../src/core/scene/boxText";
import { HEAT } from "../../src/core/scene/theme";
import { PAINT_SAME } from "../../src/core/scene/types";
import { quantityText } from "../../src/core/text/quantities";
import { buildView } from "../../src/core/view";
import { nodeMetrics } from "../../src/ui/engine/facts";
import { indexOf } from "../../src/core/program/programIndex";
import { makeProgram } from "../view/program";

describe("a scale", () => {
  it("goes in equal steps, and in equal ratios where numbers differ a lot", () => {
    const linear = scaleOf([Number.NaN, 10, 20], 10)!;
    expect([10, 14.9, 19.9, 20].map(linear.step)).toEqual([0, 4, 9, 9]);
    expect(linear.start(5)).toBe(15);
    const wide = scaleOf([1, 1e10], 10)!;
    expect([1, 100, 1e9, 1e10].map(wide.step)).toEqual([0, 2, 9, 9]);
    expect(wide.start(5)).toBeCloseTo(1e5);
  });

  it("has zeros at its cold end, negative numbers where they belong, and is not there without numbers", () => {
    const positive = scaleOf([0, 2, 4], 2)!;
    expect([positive.low, positive.step(0), positive.step(2), positive.step(4)]).toEqual([2, 0, 0, 1]);
    const negative = scaleOf([-4, 4], 2)!;
    expect([negative.low, negative.step(-4), negative.step(3)]).toEqual([-4, 0, 1]);
    expect(scaleOf([Number.NaN], 2)).toBeUndefined();
    expect(scaleOf([3], 2)!.step(3)).toBe(0);
    expect(scaleOf([0, 0], 2)).toMatchObject({ low: 0, high: 0 });
  });

  it("by rank has as many numbers in each step, and equal ones in one", () => {
    const values = [1, 2, 3, 1000];
    const scale = scaleOf([Number.NaN, 0, ...values], 4, "rank")!;
    expect([0, ...values].map(scale.step)).toEqual([0, 0, 1, 2, 3]);
    expect([scale.low, scale.start(2), scale.high]).toEqual([1, 3, 1000]);
    const equal = scaleOf([5, 5, 5, 9], 4, "rank")!;
    expect([5, 9].map(equal.step)).toEqual([0, 3]);
    expect(scaleOf([7, 7], 4, "rank")!.step(7)).toBe(0);
  });

  it("by share begins at zero, so that twice as hot is twice as much", () => {
    const scale = scaleOf([80, 1, 40], 8, "share")!;
    expect([0, 1, 40, 80].map(scale.step)).toEqual([0, 0, 4, 7]);
    expect([scale.low, scale.start(4)]).toEqual([0, 40]);
  });
});

it("writes numbers with their units as people do", () => {
  const texts: [number, string, string][] = [
    [1.2e9, "FLOP", "1.2 GFLOP"],
    [16_777_216, "B", "16.8 MB"],
    [3.5e-5, "s", "35 µs"],
    [0.9999, "s", "1 s"],
    [0, "s", "0 s"],
    [90, "s", "90 s"],
    [2.5, "FLOP/B", "2.5 FLOP/B"],
    [0.00012, "1", "0.00012"],
    [-0.5, "s", "−500 ms"],
    [1e-15, "s", "0.001 ps"],
    [Number.NaN, "B", "–"],
  ];
  for (const [value, unit, text] of texts) expect(quantityText(value, unit)).toBe(text);
});

describe("colours", () => {
  const program = makeProgram([
    {
      name: "main",
      nodes: [
        { id: "x", role: "parameter", op: "input" },
        { id: "a", op: "dot", inputs: ["x"], scope: "g", metrics: { flops: 100, bytes: 50 } },
        { id: "b", op: "exp", inputs: ["a"], scope: "g", metrics: { flops: 100, bytes: 100 } },
        { id: "c", op: "sin", inputs: ["b"], metrics: { flops: 20, bytes: 1 } },
        { id: "d", op: "mystery", inputs: ["c"], attrs: { weight: 3 } },
      ],
    },
  ]);
  const highlighter = new Highlighter(program);
  const fills = (visible: Visible, colour: string) => {
    const { highlights, paints } = highlighter.colours(visible, { rules: [], colour });
    return Object.fromEntries(
      visible.title.map((title, box) => [
        title,
        highlights!.box[box] < 0 ? paints![box] : highlights!.paints[highlights!.box[box]].fill!.light,
      ]),
    );
  };

  it("of a closed group are those of its sum; open frames and boxes without a number step back", () => {
    expect(fills(buildView(program, { depth: 0 }), "flops")).toEqual({
      x: PAINT_SAME,
      g: HEAT[9].light,
      sin: HEAT[0].light,
      mystery: PAINT_SAME,
    });
    const open = fills(buildView(program, { depth: 1 }), "flops");
    expect(open).toMatchObject({ g: PAINT_SAME, dot: HEAT[9].light, exp: HEAT[9].light, sin: HEAT[0].light });
    expect(fills(buildView(program, { depth: 1 }), "intensity")).toMatchObject({
      dot: HEAT[0].light,
      exp: HEAT[0].light,
      sin: HEAT[9].light,
    });
  });

  it("say in the legend what they mean, in which unit, and where the numbers come from", () => {
    const { legendRows, measures } = highlighter.colours(buildView(program, { depth: 0 }), { rules: [], colour: "flops" });
    const texts = legendRows!.map(({ text }) => text).filter(Boolean);
    expect(texts).toEqual(["20 FLOP", "110 FLOP", "200 FLOP", "flops, estimated: 220 FLOP in total"]);
    expect(measures).toMatchObject([{ name: "flops", unit: "FLOP", origin: "estimated" }]);
    const overall = (colour: string) => highlighter.colours(buildView(program, {}), { rules: [], colour }).legendRows!.at(-1)!.text;
    expect(overall("intensity")).toBe("intensity, estimated: 1.46 FLOP/B overall");
    expect(overall("users")).toBe("users, given: 4 in total");
  });

  it("of an operation are named by it in the legend", () => {
    const { legendRows } = highlighter.colours(buildView(program, { depth: 1 }), { rules: [], colour: "op" });
    expect(legendRows!.map(({ text }) => text)).toEqual(["input (1)", "dot (1)", "exp (1)", "sin (1)", "mystery (1)"]);
  });

  it("take precedence over style rules, which take precedence over kinds", () => {
    const rules = [{ queries: [{ type: "regex", queryRegex: ".", matchTypes: ["title"] }], styles: { node_bg_color: "#010203" } }] as never;
    const visible = buildView(program, { depth: 1 });
    const filled = (colour: string) => {
      const { highlights } = highlighter.colours(visible, { rules, colour });
      return highlights!.paints[highlights!.box[visible.boxOfNode[1]]]?.fill?.light;
    };
    expect(filled("flops")).toBe(HEAT[9].light);
    expect(filled("op")).toBe("#010203");
  });

  it("can be asked for by these names and no others", () => {
    highlighter.add({ results: { a: { value: 1 } } }, "run.json");
    expect(highlighter.choices).toEqual([
      ...["category", "op", "dtype", "group", "output bytes", "inputs", "users", "flops", "bytes", "intensity", "data:run"],
    ]);
    expect(metricsOf(program)).toHaveLength(6);
    expect(["op", "flops", "data:run", "attr:weight", "latency", "run"].map((name) => highlighter.knows(name))).toEqual([
      ...[true, true, true, true, false, false],
    ]);
  });

  it("come with the share of each box, where numbers add up", () => {
    const sharesBy = (colour: string) => {
      const visible = buildView(program, { depth: 0 });
      const { corners } = highlighter.colours(visible, { rules: [], colour });
      return corners && Object.fromEntries(visible.title.map((title, box) => [title, corners[box]]));
    };
    expect(sharesBy("flops")).toEqual({ x: "", g: "90.9%", sin: "9.1%", mystery: "" });
    expect(sharesBy("users")).toBeUndefined();
    const picture = draw(program, {
      spec: { depth: 0 },
      colours: (visible) => highlighter.colours(visible, { rules: [], colour: "flops", scale: "share" }),
    });
    const texts = Array.from({ length: picture.scene.boxCount }, (_, item) => boxTexts(picture.scene, item).map(({ text }) => text));
    expect(texts.map((runs) => runs.at(-1))).toEqual(expect.arrayContaining(["90.9%", "9.1%"]));
    expect(picture.scene.legendRows.map(({ text }) => text).filter(Boolean)).toEqual([
      "0.0%",
      "45.5%",
      "90.9%",
      "flops, estimated: 220 FLOP in total",
    ]);
  });

  it("are not those of the node on a stub, and boxes without a number have no strong border on any scale", () => {
    const users = Array.from({ length: 30 }, (_, i) => ({
      id: `u${i}`,
      op: "sin",
      inputs: ["a"],
      scope: `g${i % 3}`,
      metrics: { flops: i + 1 },
    }));
    const wide = makeProgram([
      {
        name: "main",
        nodes: [
          { id: "x", role: "parameter", op: "input" },
          { id: "a", op: "dot", inputs: ["x"], metrics: { flops: 1000 } },
          ...users,
          { id: "free", op: "mystery", inputs: ["a"] },
        ],
      },
    ]);
    const visible = buildView(wide, { depth: 1, fold: false });
    const stubs = visible.title.flatMap((_, box) => (visible.kind[box] === BoxKind.Stub ? [box] : []));
    expect(stubs.length).toBeGreaterThan(0);
    const flops = metricsOf(wide).find(({ name }) => name === "flops")!;
    for (const scale of ["value", "rank", "share"] as const) {
      const { values, corners, strong, highlights } = metricColours(wide, flops, visible, undefined, scale);
      for (const stub of stubs) expect([values[stub], corners![stub], strong[stub], highlights.box[stub]]).toEqual([Number.NaN, "", 0, -1]);
      const bordered = visible.title.filter((_, box) => strong[box]);
      expect(bordered).toContain("dot");
      expect(bordered).not.toContain("mystery");
      expect(strong[visible.boxOfNode[0]]).toBe(0);
    }
  });

  it("have the shares of a loop inside it, however often it runs", () => {
    const loop = makeProgram([
      {
        name: "main",
        nodes: [
          { id: "x", role: "parameter", op: "input" },
          { id: "loop", op: "while", inputs: ["x"], calls: ["body"], metrics: { flops: 90 } },
          { id: "end", op: "sin", inputs: ["loop"], metrics: { flops: 10 } },
        ],
      },
      {
        name: "body",
        nodes: [
          { id: "p", role: "parameter", op: "input" },
          { id: "dot", op: "dot", inputs: ["p"], metrics: { flops: 6 } },
          { id: "exp", op: "exp", inputs: ["dot"], metrics: { flops: 3 } },
        ],
      },
    ]);
    const visible = buildView(loop, { depth: 9 });
    const flops = metricsOf(loop).find(({ name }) => name === "flops")!;
    const shares = sharesOf(loop, flops, visible)!;
    const shareOf = (id: string) => shares[visible.key.findIndex((key) => key.endsWith(`n:${id}`))];
    const expected = [0.9, 0.6, 0.3, 0.1].map((x) => expect.closeTo(x));
    expect([shareOf("loop"), shareOf("dot"), shareOf("exp"), shareOf("end")]).toEqual(expected);
    // The panel says the same as the box, and also of a node that has none because its call is closed.
    for (const depth of [9, 0]) {
      const shown = buildView(loop, { depth });
      expect([1, 4, 5, 2].map((node) => shareOfNode(loop, flops, shown, node))).toEqual(expected);
      const facts = [1, 4].map((node) => nodeMetrics(indexOf(loop), new Highlighter(loop), node, shown)[0].share);
      expect(facts).toEqual(expected.slice(0, 2));
    }
  });
});
