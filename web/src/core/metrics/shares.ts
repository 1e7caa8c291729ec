/** Which part of the whole each box has. */
import type { MetricData } from "../program/metrics";
import type { ProgramData, Visible } from "../program/types";
import { wholeOf } from "./changes";
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
