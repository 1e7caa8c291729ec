/** Where the number of a node that runs other graphs comes from. */
import type { MetricData } from "../program/metrics";
import { Control } from "../program/ops";
import type { ProgramData } from "../program/types";
import { valuesOf } from "./values";

const LOOPS: readonly Control[] = [Control.While, Control.For, Control.Scan];
/** How far a call may be from what is inside it, because of rounding. */
const TOLERANCE = 0.01;

/** A graph, and how often its numbers count. */
export interface GraphRun {
  readonly graph: number;
  readonly times: number;
}

/**
 * The graphs whose numbers are in that of the node that runs them: once in that of a call, as often as it repeats in that of a loop. None
 * of a fusion, which is one step, nor of a reduction, which applies a graph to elements.
 */
export function graphsInside(program: ProgramData, metric: MetricData, node: number): GraphRun[] {
  const { calls, ops, nodeOp } = program;
  const control = ops.control[nodeOp[node]];
  if (calls.start[node] === calls.start[node + 1] || control === Control.Fusion) return [];
  const values = valuesOf(program, metric);
  const graphs = [...new Set(calls.value.subarray(calls.start[node], calls.start[node + 1]))].filter(
    (graph) => Math.abs(values.graph[graph]) > 0,
  );
  const inside = graphs.reduce((sum, graph) => sum + values.graph[graph], 0);
  const times = values.node[node] / inside;
  const isRun = LOOPS.includes(control) ? times > 0 : Math.abs(times - 1) < TOLERANCE;
  return isRun ? graphs.map((graph) => ({ graph, times })) : [];
}

/** A graph and those whose numbers are in its own, each once. */
export function graphRuns(program: ProgramData, metric: MetricData, graph: number): GraphRun[] {
  const runs = new Map([[graph, 1]]);
  for (const [each, outside] of runs) {
    for (let n = program.graphStart[each]; n < program.graphStart[each + 1]; n++)
      for (const inside of graphsInside(program, metric, n)) if (!runs.has(inside.graph)) runs.set(inside.graph, outside * inside.times);
  }
  return Array.from(runs, ([each, times]) => ({ graph: each, times }));
}
