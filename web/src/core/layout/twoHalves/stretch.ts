/**
 * Two layouts side by side are stretched until boxes that belong together are at the same height. Everything below a cut
 * moves down by the same amount, so distances only grow: what did not overlap before does not overlap after, and what was inside a
 * frame stays inside.
 */
import type { Halves } from "../../base/halves";
import type { Part } from "./block";
import type { CompoundLayout } from "../types";

/** Everything from `at` on moves down by `by` in total. */
interface Cut {
  readonly at: number;
  readonly by: number;
}

export function alignPairs(
  left: Part,
  leftLayout: CompoundLayout,
  right: Part,
  rightLayout: CompoundLayout,
  { pairs }: Halves,
): [CompoundLayout, CompoundLayout] {
  const present = pairs
    .map(([a, b]) => [left.local[a], right.local[b]] as const)
    .filter(([a, b]) => a >= 0 && b >= 0)
    .sort(([a], [b]) => leftLayout.y[a] - leftLayout.y[b] || leftLayout.h[b] - leftLayout.h[a]);
  const leftCuts: Cut[] = [];
  const rightCuts: Cut[] = [];
  let leftBy = 0;
  let rightBy = 0;
  for (const i of longestIncreasing(present.map(([, b]) => rightLayout.y[b]))) {
    const [a, b] = present[i];
    const frames = left.graph.container[a] && right.graph.container[b];
    const leftAt = leftLayout.y[a] + leftBy + (frames ? 0 : leftLayout.h[a] / 2);
    const rightAt = rightLayout.y[b] + rightBy + (frames ? 0 : rightLayout.h[b] / 2);
    if (leftAt < rightAt) {
      leftBy += rightAt - leftAt;
      leftCuts.push({ at: leftLayout.y[a], by: leftBy });
    } else if (rightAt < leftAt) {
      rightBy += leftAt - rightAt;
      rightCuts.push({ at: rightLayout.y[b], by: rightBy });
    }
  }
  return [stretched(left, leftLayout, leftCuts), stretched(right, rightLayout, rightCuts)];
}

/** Indices of a longest strictly increasing subsequence. */
export function longestIncreasing(values: readonly number[]): number[] {
  const ends: number[] = [];
  const before = new Int32Array(values.length).fill(-1);
  values.forEach((value, i) => {
    let low = 0;
    let high = ends.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (values[ends[middle]] < value) low = middle + 1;
      else high = middle;
    }
    if (low > 0) before[i] = ends[low - 1];
    ends[low] = i;
  });
  const indices: number[] = [];
  for (let i = ends.at(-1) ?? -1; i >= 0; i = before[i]) indices.push(i);
  return indices.reverse();
}

const NEAR = 1e-6;

function stretched(part: Part, layout: CompoundLayout, cuts: readonly Cut[]): CompoundLayout {
  if (cuts.length === 0) return layout;
  const moved = (at: number): number => {
    let low = 0;
    let high = cuts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (cuts[middle].at <= at + NEAR) low = middle + 1;
      else high = middle;
    }
    return at + (low > 0 ? cuts[low - 1].by : 0);
  };
  const { container, edgeSource } = part.graph;
  const y = layout.y.map(moved);
  const h = layout.h.map((height, box) => (container[box] ? moved(layout.y[box] + height) - y[box] : height));
  const points = layout.points.map((value, i) => (i % 2 ? moved(value) : value));
  for (let e = 0; e < edgeSource.length; e++) {
    const first = 2 * layout.pointStart[e] + 1;
    const source = edgeSource[e];
    // A box at a cut keeps its height, so its bottom may have moved less than what was level with it.
    if (Math.abs(layout.points[first] - layout.y[source] - layout.h[source]) < NEAR) points[first] = y[source] + h[source];
  }
  return { ...layout, y, h, points, height: moved(layout.height) };
}
