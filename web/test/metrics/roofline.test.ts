/** Points of a roofline: where they are, what they would save, and which of them are alike. */
import { expect, it } from "vitest";
import { metricsOf } from "../../src/core/metrics/counted";
import { rooflineOf, roofsOf } from "../../src/core/metrics/roofline";
import { costPicture } from "../../src/core/picture/cost";
import { indexOf } from "../../src/core/program/programIndex";
import type { DeviceData, ProgramData } from "../../src/core/program/types";
import { Roofline } from "../../src/ui/engine/roofline";
import type { Painter } from "../../src/core/scene/painter";
import { plotOf } from "../../src/core/scene/rooflinePlot";
import { THEMES } from "../../src/core/scene/theme";
import { makeProgram } from "../view/program";

const DEVICE: DeviceData = { title: "a card", bandwidth: 100, products: { f32: 1000, bf16: 4000, f16: 4000 }, vector: 1000 };
const layer = (number: number, seconds: number) => ({
  id: `dot.${number}`,
  op: "dot",
  inputs: ["x"],
  scope: `layer_${number}/mlp`,
  metrics: { flops: 4000, bytes: 10, "device time": seconds, "estimated time": 1 },
});
const program: ProgramData = {
  ...makeProgram([
    {
      name: "main",
      nodes: [
        { id: "x", role: "parameter" },
        layer(0, 3),
        layer(1, 4),
        { id: "copy", op: "copy", inputs: ["x"], metrics: { flops: 0, bytes: 100, "device time": 2, "estimated time": 1 } },
        { id: "odd", op: "mystery", inputs: ["x"], scope: "layer_1/mlp", metrics: { "device time": 1 } },
      ],
    },
  ]),
  device: DEVICE,
};
const time = metricsOf(program).find(({ name }) => name === "device time")!;
const id = (node: number) => program.strings.at(program.nodeId[node]);

it("has the intensity and the rate of what computes, and the time at best of what is known", () => {
  expect(rooflineOf(program, time, 0).map(({ node, intensity, rate, best }) => [id(node), intensity, rate, best])).toEqual([
    ["dot.1", 400, 1000, 1],
    ["dot.0", 400, 4000 / 3, 1],
    ["copy", Number.NaN, Number.NaN, 1],
    ["odd", Number.NaN, Number.NaN, Number.NaN],
  ]);
});

it("sums up groups, in which a node of unknown cost saves nothing", () => {
  const [grouping] = program.groupings;
  const points = rooflineOf(program, time, 0, grouping).map(({ group, seconds, best }) => [
    group < 0 ? "" : program.strings.at(grouping.groupName[group]),
    seconds,
    best,
  ]);
  expect(points).toEqual([
    ["mlp", 5, 2],
    ["mlp", 3, 1],
    ["", 2, 1],
  ]);
});

it("has one roof for types of the same rate", () => {
  expect(roofsOf(DEVICE)).toEqual([
    { rate: 4000, name: "bf16, f16" },
    { rate: 1000, name: "f32, vector" },
  ]);
});

it("lists first what would save most, the same nodes of all layers together", () => {
  const { view } = new Roofline(indexOf(program), { metric: undefined, grouping: undefined, graph: "main" }, [], program.groupings[0]);
  expect(view!.gains.map(({ name, where, count, text, best, part }) => [name, where, count, text, best, part])).toEqual([
    ["dot.#", "layer_#/mlp", 2, "7 s", "2 s", 0.5],
    ["copy", "", 1, "2 s", "1 s", 0.1],
    ["odd", "layer_1/mlp", 1, "1 s", "", 0],
  ]);
  const unknown = new Roofline(
    indexOf({ ...program, metrics: program.metrics.filter(({ name }) => name !== "estimated time") }),
    { metric: undefined, grouping: undefined, graph: "main" },
    [],
    program.groupings[0],
  ).view!;
  expect(unknown.hasGains).toBe(false);
  expect(unknown.gains.map(({ name, part }) => [name, part])[0]).toEqual(["dot.#", 0.7]);
});

it("lists an idle device, names what its shares are of, and says how much it does not judge", () => {
  const [x, ...rest] = [{ id: "x", role: "parameter" as const }, layer(0, 3), layer(1, 4)];
  const waits = rest.map((node) => ({ ...node, metrics: { ...node.metrics, "device idle": 4.25 } }));
  const odd = { id: "odd", op: "mystery", inputs: ["x"], scope: "layer_1/mlp", metrics: { "device time": 1 } };
  const waiting: ProgramData = { ...makeProgram([{ name: "main", nodes: [x, ...waits, odd] }]), device: DEVICE };
  const of = (grouping?: string) =>
    new Roofline(indexOf(waiting), { metric: undefined, grouping, graph: "main" }, [], waiting.groupings[0]).view!;
  expect([of().whole, of().idle]).toEqual(["16.5 s with idle time", { text: "8.5 s", part: 8.5 / 16.5 }]);
  expect(of().gains[0].part).toBe(5 / 16.5);
  for (const grouping of [undefined, "module"]) expect(of(grouping).unjudged).toBe("1 s (6.1%) not judged: no estimate");
  const texts: string[] = [];
  const { paint } = costPicture(indexOf(waiting), 0)!;
  paint({ text: ({ text }: { text: string }) => texts.push(text), rect: () => {}, curve: () => {} } as unknown as Painter, THEMES.light);
  expect(texts).toEqual(expect.arrayContaining(["of 16.5 s with idle time", "51.5%", "device idle", "1 s (6.1%) not judged: no estimate"]));
});

it("keeps the names of roofs clear of points", () => {
  const device = { bandwidth: 1e12, roofs: [{ rate: 1e15, name: "bf16, f16" }] };
  const xs = [1000, 3000, 5000, 8000].map((intensity) => {
    const plot = plotOf([{ intensity, rate: 1e15, share: 1, gain: 0 }], device, { width: 600, height: 400 });
    const { x, y } = plot.texts.find(({ text }) => text === "bf16, f16")!;
    expect(plot.dots.every((dot) => dot.x > x + dot.radius || dot.x < x - 40 - dot.radius || Math.abs(dot.y - y) > 20 + dot.radius)).toBe(
      true,
    );
    return x;
  });
  expect(new Set(xs).size, "it moves away from some").toBe(2);
});

it("keeps the name of the slope clear of points", () => {
  const device = { bandwidth: 1e12, roofs: [{ rate: 1e15, name: "f32" }] };
  const places = Array.from({ length: 40 }, (_, i) => {
    const point = { intensity: 10 ** (i / 20), rate: 1.2 * 10 ** (12 + i / 20), share: 1, gain: 0 };
    const { texts, dots } = plotOf([point, { intensity: 0.1, rate: 1e11, share: 0.01, gain: 0 }], device, { width: 600, height: 400 });
    const { x, y } = texts.find(({ text }) => text === "1.00 TB/s")!;
    expect(Math.hypot(dots[0].x - x, dots[0].y - y)).toBeGreaterThan(dots[0].radius);
    return x;
  });
  expect(new Set(places).size, "it moves away from some").toBe(2);
});

it("names roofs at their right ends, side by side only where they would be on top of each other", () => {
  const device = { bandwidth: 1e12, roofs: [1e15, 5e14, 2.5e14].map((rate) => ({ rate, name: `at ${rate}` })) };
  const point = { intensity: 10, rate: 1e12, share: 1, gain: 0 };
  const places = (height: number) => plotOf([point], device, { width: 600, height }).texts.filter(({ text }) => text.startsWith("at "));
  expect(new Set(places(400).map(({ x }) => x)).size).toBe(1);
  expect(new Set(places(80).map(({ x }) => x)).size).toBe(3);
});
