/** Numbers as steps from cold to hot: in equal steps, or in equal ratios if the largest is much larger than the smallest. */

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
export function scaleOf(values: Iterable<number>, steps: number): Scale | undefined {
  let low = Infinity,
    high = -Infinity,
    least = Infinity;
  for (const value of values) {
    if (value > high) high = value;
    if (value < low) low = value;
    if (value > 0 && value < least) least = value;
  }
  if (low > high) return undefined;
  if (low >= 0 && least < Infinity) low = least;
  const logarithmic = low > 0 && high / low > WIDEST_LINEAR;
  const along = logarithmic ? Math.log : (value: number) => value;
  const back = logarithmic ? Math.exp : (value: number) => value;
  const from = along(low),
    width = along(high) - from;
  return {
    low,
    high,
    step: (value) => (width > 0 && value > low ? Math.min(steps - 1, Math.floor(((along(value) - from) / width) * steps)) : 0),
    start: (step) => back(from + (width * step) / steps),
  };
}
