/** How the repeats of a stack differ in a metric. */
import type { MetricData } from "../program/metrics";
import { BoxKind, type ProgramData, type Visible } from "../program/types";
import { metricText } from "./changes";
import { repeatValues } from "./values";

/** Of a stack: the mean, the least and the most of its repeats, and which one has the most; empty if all have the same. */
export function spreadText(program: ProgramData, metric: MetricData, visible: Visible, box: number): string {
  const repeats = metric.combine === "sum" ? repeatValues(program, metric, visible, box).filter(({ value }) => !Number.isNaN(value)) : [];
  if (repeats.length < 2) return "";
  repeats.sort((a, b) => b.value - a.value);
  const [most, least] = [repeats[0], repeats[repeats.length - 1]];
  if (most.value === least.value) return "";
  const text = (value: number) => metricText(metric, value);
  const mean = repeats.reduce((sum, { value }) => sum + value, 0) / repeats.length;
  const { groupName } = program.groupings[visible.grouping];
  const name = program.strings.at(most.node < 0 ? groupName[most.group] : program.nodeId[most.node]);
  return `each ${text(mean)} on average, ${text(least.value)} to ${text(most.value)}; most in ${name}`;
}

/** The texts of all stacks of a view, by box. */
export function spreadsOf(program: ProgramData, metric: MetricData, visible: Visible): ReadonlyMap<number, string> {
  const spreads = new Map<number, string>();
  for (let box = 0; box < visible.boxCount; box++) {
    const text = visible.kind[box] === BoxKind.Stack ? spreadText(program, metric, visible, box) : "";
    if (text) spreads.set(box, text);
  }
  return spreads;
}
