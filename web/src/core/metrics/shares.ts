/** Which part of the whole each box and each node has. */
import type { MetricData } from "../program/metrics";
import { BoxKind, type ProgramData, type Visible } from "../program/types";
import { wholeOf } from "./changes";
import { graphRuns } from "./inside";
import { valuesOf } from "./values";

/**
 * The share of each box in the graph that is shown, NaN where it has none; undefined where shares mean nothing. What is inside an
 * expanded call has its part of the share of the call: a loop's body has numbers of one iteration.
 */
export function sharesOf(program: ProgramData, metric: MetricData, visible: Visible): Float64Array | undefined {
  if (metric.combine !== "sum" || metric.ratio || metric.unit === "1") return undefined;
  const values = valuesOf(program, metric);
  const whole = wholeOf(program, metric, visible.graph);
  if (!(whole > 0)) return undefined;
  const { calls } = program;
  // The share of one unit inside each box. Frames come before what is in them.
  const unit = new Float64Array(visible.boxCount);
  return values.boxes(visible).map((value, box) => {
    const around = visible.parent[box];
    unit[box] = around < 0 ? 1 / whole : unit[around];
    const share = value * unit[box];
    const node = visible.node[box];
    if (visible.open[box] && node >= 0 && visible.group[box] < 0) {
      let inside = 0;
      for (let c = calls.start[node]; c < calls.start[node + 1]; c++) inside += values.graph[calls.value[c]] || 0;
      unit[box] = inside !== 0 ? share / inside : Number.NaN;
    }
    return share;
  });
}

/** The share of a node in the graph that is shown: that of its box, if it has one, so that both say the same. NaN: none. */
export function shareOfNode(program: ProgramData, metric: MetricData, visible: Visible, node: number): number {
  const box = visible.boxOfNode[node];
  const isItsBox = box >= 0 && visible.node[box] === node && (visible.kind[box] === BoxKind.Node || visible.kind[box] === BoxKind.Call);
  const shares = isItsBox && visible.group[box] < 0 ? sharesOf(program, metric, visible) : undefined;
  if (shares) return shares[box];
  const { graphStart } = program;
  const runs = graphRuns(program, metric, visible.graph).find(({ graph }) => graphStart[graph] <= node && node < graphStart[graph + 1]);
  return runs ? (valuesOf(program, metric).node[node] * runs.times) / wholeOf(program, metric, visible.graph) : Number.NaN;
}
