/** Rules and data become colours: which rule wins, what is counted, how mistakes are reported, and how long a large program takes. */
import { describe, expect, it } from "vitest";
import { contrast, legible, readColour } from "../../src/core/base/colour";
import { highlightsOf, overlaid } from "../../src/core/highlight/apply";
import { metricColours } from "../../src/core/highlight/metricColours";
import { matchRules, needsDetails } from "../../src/core/highlight/match";
import { matchNodeData, readNodeData } from "../../src/core/highlight/nodeData";
import { compileRule, type MatchType, type NodeType, readRules, type StyleRule } from "../../src/core/highlight/rules";
import { buildScene, unwrapped, measure, THEMES } from "../../src/core/scene";
import { layoutCompound } from "../../src/core/layout";
import { itemStyle } from "../../src/core/scene/style";
import { sceneToSvg } from "../../src/core/writers/svg";
import { buildView } from "../../src/core/view";
import type { Visible } from "../../src/core/program/types";
import { python } from "../support/python";
import { makeProgram } from "../view/program";

const CLUSTERS = readRules(JSON.parse(new TextDecoder().decode(python("support/write_rules.py", "clusters"))));

const graph = {
  name: "main",
  nodes: [
    { id: "x", role: "parameter" as const, op: "input" },
    { id: "dq", op: "quantized_decomposed.dequantize_per_tensor.default", inputs: ["x"], scope: "partition 0 (a)/cluster (c)" },
    { id: "conv", op: "aten.conv2d.default", inputs: ["dq"], scope: "partition 0 (a)/cluster (c)" },
    { id: "q", op: "quantized_decomposed.quantize_per_tensor.default", inputs: ["conv"], scope: "partition 0 (a)/cluster (c)" },
    { id: "sum", op: "aten.sum.default", inputs: ["q"], scope: "partition 10 (b)" },
    { id: "late", op: "aten.neg.default", inputs: ["sum"] },
  ],
};
const attributes: Record<string, Record<string, unknown>> = {
  conv: { stride: [2, 2], groups: 8 },
  sum: { dim: 3 },
  late: { groups: "many" },
};
const plain = makeProgram([graph]);
const program = {
  ...plain,
  details: (node: number) => ({ attrs: attributes[plain.strings.at(plain.nodeId[node])] ?? {}, source: [] }),
};
const number = (id: string) => graph.nodes.findIndex((node) => node.id === id);

function rule(nodeType: NodeType, queryRegex: string, colour: string, matchTypes: readonly MatchType[] = ["title"]): StyleRule {
  return {
    queries: [
      { type: "node_type", nodeType },
      { type: "regex", queryRegex, matchTypes },
    ],
    styles: { node_bg_color: { id: "node_bg_color", value: colour } },
    version: "v2",
  };
}

function matched(rules: readonly StyleRule[]) {
  const compiled = rules.map(compileRule);
  const matches = matchRules(program, program.groupings[0], compiled);
  const ids = (numbers: Int16Array, which: number) => graph.nodes.filter((_, n) => numbers[n] === which).map((node) => node.id);
  return { compiled, matches, ids };
}

describe("rules", () => {
  it("gives a node to the first rule that matches it, and counts every match", () => {
    const { matches, ids } = matched([rule("op_nodes", "quantize_", "#111111"), rule("op_nodes", "aten\\.|quantized", "#222222")]);
    expect(ids(matches.node, 0)).toEqual(["dq", "q"]);
    expect(ids(matches.node, 1)).toEqual(["conv", "sum", "late"]);
    expect([...matches.counts]).toEqual([2, 5]);
  });

  it("distinguishes operations from groups, ignoring case", () => {
    const groups = (type: NodeType) => [...matched([rule(type, "PARTITION 1", "red")]).matches.group].filter((at) => at === 0).length;
    expect(groups("layer_nodes")).toBe(1);
    expect(groups("op_and_layer_nodes")).toBe(1);
    expect(groups("op_nodes")).toBe(0);
    expect(matched([rule("layer_nodes", "aten", "red")]).matches.counts[0]).toBe(0);
  });

  it.each<readonly [MatchType, string, readonly string[]]>([
    ["list", "stride[:=]\\[2", ["conv"]],
    ["list", "groups:", ["conv", "late"]],
    ["input", "dequantize", ["conv"]],
    ["output", "aten\\.sum", ["q"]],
  ])("looks into %s for %s", (where, pattern, expected) => {
    const { matches, ids } = matched([rule("op_nodes", pattern, "red", [where])]);
    expect(ids(matches.node, 0)).toEqual(expected);
  });

  it("takes numbers of an attribute within a range, and open ends as Model Explorer writes them", () => {
    const range = (min: number | null, max: number | null): StyleRule => ({
      queries: [{ type: "attr_value_range", attrName: "groups", min, max }],
      styles: { node_bg_color: "red" },
    });
    expect(matched([range(4, null)]).matches.counts[0]).toBe(1);
    expect(matched([range(null, 7.5)]).matches.counts[0]).toBe(0);
    expect(needsDetails([compileRule(range(1, 2))])).toBe(true);
    expect(needsDetails(CLUSTERS.map(compileRule))).toBe(false);
  });

  it("says what is wrong instead of failing, and goes on with the other rules", () => {
    const { compiled, matches } = matched([rule("op_nodes", "conv(", "red"), rule("op_nodes", "", "red"), rule("op_nodes", "conv", "red")]);
    expect(compiled[0].problem).toMatch(/conv\(/);
    expect(compiled[1].problem).toBeDefined();
    expect([...matches.counts]).toEqual([0, 0, 1]);
    expect(() => readRules({})).toThrow(/list/);
    expect(() => readRules([{ queries: [{ type: "colour" }], styles: {} }])).toThrow(/rule 1: unknown query type "colour"/);
    expect(() => readRules([rule("op_nodes", "a", "greenish")])).toThrow(/"greenish" is not a colour/);
  });

  it("colours edges by what they carry", () => {
    const { compiled, matches } = matched([{ ...rule("op_nodes", "conv", "red"), styles: { edge_color: "#ff8800" } }]);
    const visible = buildView(program, { flatten: true });
    const { edge, shades } = highlightsOf(visible, compiled, matches);
    const coloured = [...edge].flatMap((at, e) => (at >= 0 ? [visible.edgeNode[e]] : []));
    expect(coloured).toEqual([number("conv")]);
    expect(shades[0]).toEqual({ light: "#ff8800", dark: "#ff8800" });
  });

  it("tests each string once, however often the program repeats it", () => {
    let tests = 0;
    const nodes = Array.from({ length: 20_000 }, (_, i) => ({
      id: `n${i}`,
      op: i % 2 ? "aten.add.Tensor" : "aten.mul.Tensor",
      inputs: i ? [`n${i - 1}`] : [],
    }));
    const large = makeProgram([{ name: "main", nodes }]);
    const test = (text: string): boolean => {
      tests++;
      return text.includes("add");
    };
    const counted = { test } as unknown as RegExp;
    const compiled = { ...compileRule(rule("op_nodes", "x", "red")), patterns: [{ pattern: counted, where: ["title"] as const }] };
    expect(matchRules(large, undefined, [compiled]).counts[0]).toBe(10_000);
    expect(tests).toBe(2);
  });
});

describe("pictures", () => {
  const scene = (rules: readonly StyleRule[]) => {
    const { compiled, matches } = matched(rules);
    const visible = buildView(program, { depth: 3 });
    return buildScene(program, visible, unwrapped(visible, layoutCompound(measure(visible), {})), {
      highlights: highlightsOf(visible, compiled, matches),
      legend: true,
    });
  };

  it("show partitions, clusters and quantization in the predefined colours, with words that can be read in both themes", () => {
    const drawn = scene(CLUSTERS);
    const of = (title: RegExp) => drawn.title.findIndex((each) => title.test(each));
    const fill = (title: RegExp, theme: "light" | "dark") => itemStyle(drawn, THEMES[theme], of(title)).fill;
    expect(fill(/^partition 0/, "light")).not.toBe(fill(/^partition 10/, "light"));
    expect(fill(/^partition 0/, "light")).not.toBe(fill(/^partition 0/, "dark"));
    for (const theme of ["light", "dark"] as const) {
      for (let item = 0; item < drawn.boxCount; item++) {
        const { fill: ground, text, secondary } = itemStyle(drawn, THEMES[theme], item);
        expect(contrast(ground, text)).toBeGreaterThanOrEqual(4.5);
        expect(contrast(ground, secondary)).toBeGreaterThanOrEqual(4.5);
      }
    }
    expect(sceneToSvg(drawn, THEMES.light)).toContain(fill(/^partition 0/, "light"));
  });

  it("keep dark words on light fills of a file that knows no dark theme", () => {
    const drawn = scene([rule("op_nodes", "aten\\.", "#b4e3f5")]);
    const item = drawn.custom.indexOf(0);
    expect(itemStyle(drawn, THEMES.dark, item)).toMatchObject({ fill: "#b4e3f5", text: "#000000" });
  });
});

describe("node data", () => {
  const file = { name: "latency", results: { conv: { value: 4 }, q: { value: 2 }, sum: { value: 1 }, nobody: { value: 9 } } };

  it("matches values with nodes, and says what they come to and what fits nothing", () => {
    const [run] = matchNodeData(program, file, "a.json");
    expect(run.statistics).toMatchObject({ name: "latency", nodes: 3, unmatched: 1, min: 1, max: 4, sum: 7, mean: 7 / 3 });
  });

  it("takes tensors by their names, and graphs by theirs", () => {
    const named = {
      ...program,
      details: (node: number) => ({ attrs: node === number("conv") ? { tensor_names: ["t1", "t2"] } : {}, source: [] }),
    };
    expect(matchNodeData(named, { results: { t2: { value: 5 } } }, "x.json")[0].metric.values[number("conv")]).toBe(5);
    expect(matchNodeData(program, { main: file }, "x.json")[0].statistics.nodes).toBe(3);
    expect(matchNodeData(program, { graph: file }, "x.json")[0].statistics.nodes).toBe(3);
    expect(matchNodeData(program, { other: file, main: file }, "x.json")[0].statistics).toMatchObject({ nodes: 3, unmatched: 5 });
    expect(readNodeData({ results: {} }, "folder/run 7.json")[0].name).toBe("run 7");
  });

  const visible = buildView(program, { flatten: true });
  const coloursOf = (data: object, view: Visible) => {
    const [run] = matchNodeData(program, data, "a.json");
    return metricColours(program, run.metric, view, run);
  };
  const fillOf = (data: object, id: string) => {
    const { highlights } = coloursOf(data, visible);
    const at = highlights.box[visible.boxOfNode[number(id)]];
    return at < 0 ? undefined : highlights.paints[at].fill?.light;
  };

  it("colours by gradient, by threshold, and by an entry's own colour before both", () => {
    const gradient = [
      { stop: 0, bgColor: "white" },
      { stop: 1, bgColor: "#ff0000" },
    ];
    expect(fillOf({ ...file, gradient }, "conv")).toBe("#ff0000");
    expect(fillOf({ ...file, gradient }, "sum")).toBe("#ffffff");
    const thresholds = [
      { value: 1, bgColor: "#00ff00" },
      { value: 3, bgColor: "#ffff00" },
    ];
    expect(fillOf({ ...file, thresholds }, "sum")).toBe("#00ff00");
    expect(fillOf({ ...file, thresholds }, "q")).toBe("#ffff00");
    expect(fillOf({ ...file, thresholds }, "conv")).toBeUndefined();
    expect(fillOf({ ...file, gradient, results: { conv: { value: 4, bgColor: "#123" } } }, "conv")).toBe("#112233");
    expect(fillOf(file, "late")).toBeUndefined();
  });

  it("gives a closed group the colour of its largest value", () => {
    const closed = buildView(program, { depth: 0 });
    const gradient = [
      { stop: 0, bgColor: "#ffffff" },
      { stop: 1, bgColor: "#ff0000" },
    ];
    const { highlights } = coloursOf({ ...file, gradient }, closed);
    expect(highlights.paints[highlights.box[closed.boxOfNode[number("q")]]].fill?.light).toBe("#ff0000");
  });

  it("takes precedence over rules on operations and leaves groups to them", () => {
    const { compiled, matches } = matched([rule("op_nodes", "aten", "#0000ff"), rule("layer_nodes", "partition", "#00ffff")]);
    const open = buildView(program, { depth: 3 });
    const both = overlaid(highlightsOf(open, compiled, matches), coloursOf(file, open).highlights, open)!;
    expect(both.box[open.boxOfNode[number("late")]]).toBe(-1);
    expect(both.paints[both.box[open.title.findIndex((title) => title.startsWith("partition 0"))]].fill?.light).toBe("#00ffff");
  });

  it("refuses what is not node data with a sentence", () => {
    expect(() => readNodeData([1], "a.json")).toThrow(/a\.json: no node data/);
    expect(() => readNodeData({ results: {}, gradient: [{ stop: 0, bgColor: "nope" }] }, "a.json")).toThrow(/"nope" is not a colour/);
  });
});

describe("colours", () => {
  it("are read as files write them", () => {
    expect(["#abc", "#AABBCCDD", "rgb(1, 2, 255)", "RebeccaPurple", " tomato "].map(readColour)).toEqual([
      "#aabbcc",
      "#aabbcc",
      "#0102ff",
      "#663399",
      "#ff6347",
    ]);
    expect(["", "#12", "url(x)", "constructor"].map(readColour)).toEqual([undefined, undefined, undefined, undefined]);
    expect(legible("#000000", "#111111")).toBe("#FFFFFF");
  });
});
