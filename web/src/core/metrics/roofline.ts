/** How near the nodes or modules of a graph come to the limits of a device, and how much time they would save there. */
import type { MetricData } from "../program/metrics";
import type { DeviceData, Grouping, ProgramData } from "../program/types";
import { drawnGroups, valuesOf } from "./values";

/** Names that Python gives to metrics (a test compares them). The time is that of a run at the limits of a device. */
const FLOPS = "flops";
const BYTES = "bytes";
const ESTIMATED_TIME = "estimated time";

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
}

/** The points of a graph that take time, the slowest first; of nodes without a grouping. */
export function rooflineOf(program: ProgramData, time: MetricData, graph: number, grouping?: Grouping): RooflinePoint[] {
  const column = (name: string) => {
    const metric = program.metrics.find((each) => each.name === name);
    return metric && valuesOf(program, metric).node;
  };
  const seconds = valuesOf(program, time).node;
  const [flops, bytes, best] = [FLOPS, BYTES, ESTIMATED_TIME].map(column);
  const groups = grouping && drawnGroups(program, grouping).nodeGroup;
  const sums = new Map<number, { group: number; node: number; seconds: number; flops: number; bytes: number; best: number }>();
  for (let n = program.graphStart[graph]; n < program.graphStart[graph + 1]; n++) {
    if (!(seconds[n] > 0)) continue;
    const key = groups ? groups[n] : n;
    let sum = sums.get(key);
    if (!sum) {
      sum = { group: groups ? key : -1, node: groups ? -1 : n, seconds: 0, flops: 0, bytes: 0, best: 0 };
      sums.set(key, sum);
    }
    sum.seconds += seconds[n];
    sum.flops += flops?.[n] || 0;
    sum.bytes += bytes?.[n] || 0;
    // A node of unknown cost saves nothing of its module's time.
    sum.best += best ? (groups && Number.isNaN(best[n]) ? seconds[n] : best[n]) : Number.NaN;
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
