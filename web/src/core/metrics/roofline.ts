/** How near the nodes or modules of a graph come to the limits of a device, and how much time they would save there. */
import type { MetricData } from "../program/metrics";
import type { ProgramIndex } from "../program/programIndex";
import type { DeviceData, Grouping, ProgramData } from "../program/types";
import { cellName, cellPath, patternOf } from "./cellNames";
import { graphRuns, graphsInside } from "./inside";
import { percentText, quantityText } from "../text/quantities";
import { drawnGroups, valuesOf } from "./values";

/** Names that Python gives to metrics (a test compares them). The time is that of a run at the limits of a device. */
const FLOPS = "flops";
const BYTES = "bytes";
const ESTIMATED_TIME = "estimated time";
const IDLE_TIME = "device idle";
/** A smaller part of a step is not worth a look. */
const LEAST_IDLE = 0.05;

/** A node, or the nodes that are in a group and in no group inside it. */
export interface RooflinePoint {
  /** -1 for a node, and for what is in no group. */
  readonly group: number;
  /** -1 for a group. */
  readonly node: number;
  readonly seconds: number;
  readonly flops: number;
  readonly bytes: number;
  /** FLOPs per byte, and per second; NaN without arithmetic or memory traffic. */
  readonly intensity: number;
  readonly rate: number;
  /** Seconds at the limits of the device; NaN if they are unknown. */
  readonly best: number;
  /** Seconds of what has no estimate. */
  readonly unjudged: number;
}

/** The points of a graph, and of graphs that it calls, that take time; the slowest first, and of nodes without a grouping. */
export function rooflineOf(program: ProgramData, time: MetricData, graph: number, grouping?: Grouping): RooflinePoint[] {
  const column = (name: string) => {
    const metric = program.metrics.find((each) => each.name === name);
    return metric && valuesOf(program, metric).node;
  };
  const seconds = valuesOf(program, time).node;
  const [flops, bytes, best] = [FLOPS, BYTES, ESTIMATED_TIME].map(column);
  const groups = grouping && drawnGroups(program, grouping).nodeGroup;
  const sums = new Map<
    number,
    { group: number; node: number; seconds: number; flops: number; bytes: number; best: number; unjudged: number }
  >();
  const nodes = graphRuns(program, time, graph).flatMap(({ graph: each, times }) =>
    Array.from({ length: program.graphStart[each + 1] - program.graphStart[each] }, (_, i) => ({ n: program.graphStart[each] + i, times })),
  );
  for (const { n, times } of nodes) {
    if (!(seconds[n] > 0) || graphsInside(program, time, n).length > 0) continue;
    const key = groups ? groups[n] : n;
    let sum = sums.get(key);
    if (!sum) {
      sum = { group: groups ? key : -1, node: groups ? -1 : n, seconds: 0, flops: 0, bytes: 0, best: 0, unjudged: 0 };
      sums.set(key, sum);
    }
    sum.seconds += seconds[n] * times;
    sum.flops += (flops?.[n] || 0) * times;
    sum.bytes += (bytes?.[n] || 0) * times;
    sum.unjudged += best && !Number.isNaN(best[n]) ? 0 : seconds[n] * times;
    // A node of unknown cost saves nothing of its module's time.
    sum.best += best ? (groups && Number.isNaN(best[n]) ? seconds[n] : best[n]) * times : Number.NaN;
  }
  return Array.from(sums.values(), (sum) => ({
    ...sum,
    intensity: sum.flops > 0 && sum.bytes > 0 ? sum.flops / sum.bytes : Number.NaN,
    rate: sum.flops > 0 ? sum.flops / sum.seconds : Number.NaN,
  })).sort((a, b) => b.seconds - a.seconds);
}

/** The rates of a device, the highest first; types with the same rate have one roof. */
export function roofsOf({ products, vector }: DeviceData): { readonly rate: number; readonly name: string }[] {
  const names = new Map<number, string[]>();
  for (const [name, rate] of [...Object.entries(products), ...(vector ? [["vector", vector] as const] : [])])
    names.set(rate, [...(names.get(rate) ?? []), name]);
  return Array.from(names, ([rate, of]) => ({ rate, name: of.join(", ") })).sort((a, b) => b.rate - a.rate);
}

/** Seconds between a point and the limits of the device; 0 if they are unknown. */
export function gainOf({ seconds, best }: RooflinePoint): number {
  return Math.max(0, seconds - best) || 0;
}

/** Points that are alike in every repeated layer, together. */
export interface AlikePoints {
  /** The slowest first. */
  readonly points: readonly RooflinePoint[];
  readonly name: string;
  readonly where: string;
  readonly seconds: number;
  readonly best: number;
  /** Seconds that they would save at the limits of the device; of all points unknown: those that they take. */
  readonly gain: number;
}

/** What to look at first: points that are in places that differ in numbers only, with the same work, count together. */
export function gainsOf(index: ProgramIndex, grouping: Grouping, points: readonly RooflinePoint[]): AlikePoints[] {
  const hasGains = points.some((point) => gainOf(point) > 0);
  const alike = new Map<string, RooflinePoint[]>();
  for (const point of points) {
    const name = `${cellPath(index, grouping, point)}/${cellName(index, grouping, point)}`;
    const key = [patternOf(name), point.flops, point.bytes].join(" ");
    const others = alike.get(key);
    if (others) others.push(point);
    else alike.set(key, [point]);
  }
  const gains = Array.from(alike.values(), (same): AlikePoints => {
    const sum = (of: (point: RooflinePoint) => number) => same.reduce((all, point) => all + of(point), 0);
    const named = (text: string) => (same.length === 1 ? text : patternOf(text));
    return {
      points: same,
      name: named(cellName(index, grouping, same[0])),
      where: named(cellPath(index, grouping, same[0])),
      seconds: sum((point) => point.seconds),
      best: sum((point) => point.best),
      gain: sum(hasGains ? gainOf : (point) => point.seconds),
    };
  });
  return gains.sort((a, b) => b.gain - a.gain);
}

/** What shares of a list are of: the time of the device in a step, and the time in which it had nothing to do, if that was measured. */
export interface Whole {
  readonly seconds: number;
  readonly idle: number;
  /** How long the device is idle, if that is worth a look. */
  readonly idleWorth: number;
  /** "12.3 ms with idle time". */
  readonly text: string;
}

export function wholeStep(program: ProgramData, time: MetricData, graph: number): Whole {
  const metric = time.origin === "measured" ? program.metrics.find(({ name }) => name === IDLE_TIME) : undefined;
  const idle = (metric && valuesOf(program, metric).graph[graph]) || 0;
  const seconds = valuesOf(program, time).graph[graph] + idle;
  return {
    seconds,
    idle,
    idleWorth: idle > LEAST_IDLE * seconds ? idle : 0,
    text: `${quantityText(seconds, "s")}${idle > 0 ? " with idle time" : ""}`,
  };
}

/** What is said of the time that has no estimate, so that nobody takes it for time at its limits: "269 µs (2.2%) not judged: no estimate". */
export function unjudgedText(points: readonly RooflinePoint[], whole: Whole): string {
  const seconds = points.some((point) => gainOf(point) > 0) ? points.reduce((sum, { unjudged }) => sum + unjudged, 0) : 0;
  return seconds > 0 ? `${quantityText(seconds, "s")} (${percentText(seconds / whole.seconds)}) not judged: no estimate` : "";
}
