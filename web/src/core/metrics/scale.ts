/**
 * Numbers as steps from cold to hot. By value: in equal steps, or in equal ratios if the largest is much larger than the smallest. By
 * share: in equal steps from 0, so that twice as hot is twice as much. By rank: as many numbers in each step.
 */
import type { ViewOptions } from "../program/viewOptions";

/** The largest ratio of maximum to minimum for equal steps; beyond it, nearly all numbers would look alike. */
const WIDEST_LINEAR = 50;

export interface Scale {
  readonly low: number;
  readonly high: number;
  /** 0 is the coldest. */
  step(value: number): number;
  /** The smallest number of a step. */
  start(step: number): number;
}

/** The scale of some numbers, or undefined if there are none. NaN does not count; among positive numbers, zeros are the coldest step. */
export function scaleOf(values: Iterable<number>, steps: number, by: ViewOptions["colourScale"] = "value"): Scale | undefined {
  let low = Infinity,
    high = -Infinity,
    least = Infinity;
  const numbers: number[] = [];
  for (const value of values) {
    if (value > high) high = value;
    if (value < low) low = value;
    if (value > 0 && value < least) least = value;
    if (by === "rank" && value !== 0 && !Number.isNaN(value)) numbers.push(value);
  }
  if (low > high) return undefined;
  if (by === "share") return evenly(Math.min(0, low), high, steps);
  if (low >= 0 && least < Infinity) low = least;
  if (by === "rank") return ranked(Float64Array.from(numbers).sort(), low, high, steps);
  const isLogarithmic = low > 0 && high / low > WIDEST_LINEAR;
  return isLogarithmic ? evenly(low, high, steps, Math.log, Math.exp) : evenly(low, high, steps);
}

const same = (value: number): number => value;

function evenly(low: number, high: number, steps: number, along = same, back = same): Scale {
  const from = along(low),
    width = along(high) - from;
  return {
    low,
    high,
    step: (value) => (width > 0 && value > low ? Math.min(steps - 1, Math.floor(((along(value) - from) / width) * steps)) : 0),
    start: (step) => back(from + (width * step) / steps),
  };
}

/** Equal numbers are in one step. */
function ranked(sorted: Float64Array, low: number, high: number, steps: number): Scale {
  const starts = Array.from({ length: steps }, (_, step) => sorted[Math.floor((sorted.length * step) / steps)] ?? low);
  return {
    low,
    high,
    step: (value) => {
      let step = low < high && value >= low ? steps - 1 : 0;
      while (step > 0 && (starts[step] > value || starts[step] === low)) step--;
      return step;
    },
    start: (step) => starts[step],
  };
}
