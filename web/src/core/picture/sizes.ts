/** What the option `size by` does: the box with the largest number of a metric is twice as wide and high as the smallest one's would be. */
import { metricsOf } from "../metrics/counted";
import { valuesOf } from "../metrics/values";
import type { ProgramData, Visible } from "../program/types";

/** The view with a factor for the size of each box; the others, and all boxes if their numbers are equal, keep theirs. */
export function sized(program: ProgramData, visible: Visible, name: string | undefined): Visible {
  const metric = name === undefined ? undefined : metricsOf(program).find((each) => each.name === name);
  if (!metric) return visible;
  const values = valuesOf(program, metric).boxes(visible);
  const drawn = values.filter((value, box) => !visible.open[box] && !Number.isNaN(value));
  const [low, high] = drawn.reduce(([least, most], value) => [Math.min(least, value), Math.max(most, value)], [Infinity, -Infinity]);
  const growth = values.map((value) => (high > low && !Number.isNaN(value) ? 1 + (value - low) / (high - low) : 1));
  return { ...visible, growth };
}
