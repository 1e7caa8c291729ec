/**
 * Metrics that are a difference of two programs, after − before: their numbers have signs, and what got more and what got less does not
 * cancel out in a picture.
 */
import { memoized } from "../base/memoized";
import type { MetricData, MetricDefinition } from "../program/metrics";
import { CHANGE, isChange } from "../program/names";
import type { ProgramData } from "../program/types";
import { percentText, quantityText } from "../text/quantities";
import { valuesOf } from "./values";

/** A number of a metric as text; of a change with its sign. */
export function metricText(metric: Pick<MetricDefinition, "name" | "unit">, value: number): string {
  return (isChange(metric) && value > 0 ? "+" : "") + quantityText(value, metric.unit);
}

/** A share as text; of a change with its sign. */
export function shareText(metric: Pick<MetricDefinition, "name">, share: number): string {
  if (!isChange(metric)) return percentText(share);
  const text = percentText(Math.abs(share));
  return text === "0.0%" ? text : `${share > 0 ? "+" : "−"}${text}`;
}

/** The same metric without signs: how much of it is a change at all. */
export const grossOf = memoized((metric: MetricData): MetricData => ({ ...metric, values: metric.values.map(Math.abs) }));

/** What the numbers of a graph are shares of: their sum, or of a change the sum before it. NaN: unknown. */
export function wholeOf(program: ProgramData, metric: MetricData, graph: number): number {
  const sum = valuesOf(program, metric).graph[graph];
  if (!isChange(metric)) return sum;
  const after = program.metrics.find(({ name }) => name + CHANGE === metric.name);
  return after ? valuesOf(program, after).graph[graph] - sum : Number.NaN;
}
