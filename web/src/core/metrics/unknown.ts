/**
 * How many operations an estimated metric has no number for, so that a total says what it lacks. As in `opscope info`, a call lacks what
 * its graph lacks, and a loop of unknown length is one operation more.
 */
import type { MetricData } from "../program/metrics";
import type { ProgramData } from "../program/types";
import { memoized } from "../base/memoized";
import { calleesFirst } from "../program/callees";
import { Control } from "../program/ops";
import { Role } from "../program/roles";
import { type MetricValues, valuesOf } from "./values";

const unknownIn = memoized((program: ProgramData) =>
  memoized(
    (metric: MetricData): MetricValues =>
      valuesOf(program, {
        name: metric.name,
        unit: "1",
        combine: "sum",
        origin: metric.origin,
        values: counts(program, metric),
        ratio: undefined,
      }),
  ),
);

/** The number of operations without a number, of nodes, graphs, groups and boxes; undefined if a missing number means nothing. */
export function unknownOf(program: ProgramData, metric: MetricData): MetricValues | undefined {
  return metric.origin === "estimated" ? unknownIn(program)(metric.ratio?.[0] ?? metric) : undefined;
}

function counts(program: ProgramData, { values }: MetricData): Float64Array {
  const { calls, graphStart, nodeOp, nodeRole, ops } = program;
  const node = new Float64Array(program.nodeCount);
  const graph = new Float64Array(program.graphCount);
  for (const g of calleesFirst(program)) {
    let hasNumbers = false;
    for (let n = graphStart[g]; n < graphStart[g + 1]; n++) {
      if (nodeRole[n] !== Role.Op || ops.free[nodeOp[n]]) continue;
      const control = ops.control[nodeOp[n]];
      for (let c = calls.start[n]; c < calls.start[n + 1]; c++) {
        const inside = graph[calls.value[c]];
        node[n] = control === Control.Cond ? Math.max(node[n], inside) : node[n] + inside;
      }
      if (!Number.isNaN(values[n])) hasNumbers = true;
      else if (node[n] === 0 || control >= Control.While) node[n]++;
    }
    // A graph without any number, such as the bytes inside a fusion, is counted where it is called.
    for (let n = graphStart[g]; n < graphStart[g + 1]; n++) graph[g] += hasNumbers ? node[n] : 0;
  }
  return node;
}
