/** The icicle: shares that add up, the heaviest first, and what is too narrow is left out. */
import { describe, expect, it } from "vitest";
import { metricText, shareText, wholeOf } from "../../src/core/metrics/changes";
import { icicleOf } from "../../src/core/metrics/icicle";
import { rooflineOf } from "../../src/core/metrics/roofline";
import { metricsOf } from "../../src/core/metrics/counted";
import type { ProgramData } from "../../src/core/program/types";
import { makeProgram } from "../view/program";

const program: ProgramData = makeProgram([
  {
    name: "main",
    nodes: [
      { id: "x", role: "parameter" },
      { id: "a", op: "dot", inputs: ["x"], scope: "layer_0/mlp", metrics: { flops: 30 } },
      { id: "b", op: "exp", inputs: ["a"], scope: "layer_0", metrics: { flops: 10 } },
      { id: "c", op: "dot", inputs: ["b"], scope: "layer_1/mlp", metrics: { flops: 55 } },
      { id: "d", op: "exp", inputs: ["c"], scope: "layer_1", metrics: { flops: 4 } },
      { id: "e", op: "neg", inputs: ["d"], metrics: { flops: 1 } },
    ],
  },
]);
const [grouping] = program.groupings;
const flops = metricsOf(program).find(({ name }) => name === "flops")!;
const groupName = (group: number): string => program.strings.at(grouping.groupName[group]);
const icicle = (root = -1, least = 0.001) => icicleOf(program, grouping, flops, 0, root, least);
const named = (root = -1, least = 0.001) =>
  icicle(root, least).cells.map(({ group, node, depth, from, width }) => {
    const name = node >= 0 ? program.strings.at(program.nodeId[node]) : group < 0 ? "(all)" : groupName(group);
    return [name, depth, Number(from.toFixed(3)), Number(width.toFixed(3))];
  });

describe("an icicle", () => {
  it("has every group and node in its parent, the heaviest first", () => {
    expect(named()).toEqual([
      ["(all)", 0, 0, 1],
      ["layer_1", 1, 0, 0.59],
      ["layer_0", 1, 0.59, 0.4],
      ["e", 1, 0.99, 0.01],
      ["mlp", 2, 0, 0.55],
      ["d", 2, 0.55, 0.04],
      ["mlp", 2, 0.59, 0.3],
      ["b", 2, 0.89, 0.1],
      ["c", 3, 0, 0.55],
      ["a", 3, 0.59, 0.3],
    ]);
    expect(icicle().total).toBe(100);
  });

  it("leaves out what is narrow", () => {
    expect(named(-1, 0.05).map(([name]) => name)).toEqual(["(all)", "layer_1", "layer_0", "mlp", "mlp", "b", "c", "a"]);
  });

  it("of one group fills the width with it", () => {
    const layer = Array.from(grouping.groupName.keys()).find((group) => groupName(group) === "layer_0")!;
    expect(named(layer)).toEqual([
      ["layer_0", 0, 0, 1],
      ["mlp", 1, 0, 0.75],
      ["b", 1, 0.75, 0.25],
      ["a", 2, 0, 0.75],
    ]);
    expect(icicle(layer).total).toBe(100);
  });

  it("of a change is as wide as what changed, what grew most first", () => {
    const change = { ...flops, name: "flops change", values: Float64Array.from([Number.NaN, -30, 10, 55, -4, 1]) };
    const { total, gross, cells } = icicleOf(program, grouping, change, 0, -1, 0.001);
    expect([total, gross]).toEqual([32, 100]);
    const outside = cells.filter(({ depth }) => depth < 2).map(({ value, from, width }) => [value, from, width]);
    expect(outside).toEqual([
      [32, 0, 1],
      [51, 0, 0.59],
      [1, 0.59, 0.01],
      [-20, 0.6, 0.4],
    ]);
    expect(wholeOf({ ...program, metrics: [flops, change] }, change, 0)).toBe(68);
    expect([metricText(change, 51), metricText(change, -20), shareText(change, 0.75)]).toEqual(["+51 FLOP", "−20 FLOP", "+75.0%"]);
  });

  it("of nothing is empty", () => {
    const nothing = { ...flops, values: flops.values.map(() => Number.NaN) };
    expect(icicleOf(program, grouping, nothing, 0, -1, 0.001)).toEqual({ total: 0, gross: 0, cells: [] });
  });

  it("opens the graphs that a node calls, unless the node has a number of its own", () => {
    const calls = makeProgram([
      {
        name: "main",
        nodes: [
          { id: "run", op: "call", calls: ["body"] },
          { id: "fused", op: "fusion", calls: ["inlined"], metrics: { flops: 20 } },
        ],
      },
      {
        name: "body",
        nodes: [
          { id: "a", op: "dot", scope: "mlp", metrics: { flops: 70 } },
          { id: "b", op: "exp", metrics: { flops: 10 } },
        ],
      },
      { name: "inlined", nodes: [{ id: "c", op: "exp", metrics: { flops: 20 } }] },
    ]);
    const metric = metricsOf(calls).find(({ name }) => name === "flops")!;
    const id = (node: number) => calls.strings.at(calls.nodeId[node]);
    const { cells } = icicleOf(calls, calls.groupings[0], metric, 0, -1, 0.001);
    expect(cells.map(({ node, depth, width }) => [node < 0 ? "" : id(node), depth, Number(width.toFixed(3))])).toEqual([
      ["", 0, 1],
      ["run", 1, 0.8],
      ["fused", 1, 0.2],
      ["", 2, 0.7],
      ["b", 2, 0.1],
      ["a", 3, 0.7],
    ]);
    expect(rooflineOf(calls, metric, 0).map(({ node }) => id(node))).toEqual(["a", "fused", "b"]);
  });
});
