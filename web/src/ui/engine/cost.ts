/** The icicle of a program's costs. */
import type { DataRun } from "../../core/highlight/nodeData";
import { metricsOf } from "../../core/metrics/counted";
import { type IcicleCell, icicleOf } from "../../core/metrics/icicle";
import { unknownOf } from "../../core/metrics/unknown";
import type { MetricData } from "../../core/program/metrics";
import type { ProgramIndex } from "../../core/program/programIndex";
import type { Grouping, ProgramData } from "../../core/program/types";
import { quantityText } from "../../core/text/quantities";
import { Cells, chosenGrouping, groupOf } from "./cells";
import type { CostCell, CostRequest, CostView } from "./costProtocol";

/** Narrower cells could neither be seen nor hit. */
const LEAST = 1 / 700;
/** Which metric is shown unless somebody chooses: the first of these that the program has. */
const PREFERRED = [
  (metric: MetricData) => metric.unit === "s" && metric.origin === "measured",
  (metric: MetricData) => metric.unit === "s",
  (metric: MetricData) => metric.unit === "FLOP",
  (metric: MetricData) => metric.name === "bytes",
  () => true,
];

export class Cost {
  readonly view: CostView | undefined;
  readonly cells: Cells;

  constructor(index: ProgramIndex, request: CostRequest, runs: readonly DataRun[], shown: Grouping | undefined) {
    const { program } = index;
    const metrics = addable(program, runs);
    const metric = metrics.find(({ name }) => name === request.metric) ?? preferred(metrics);
    const grouping = chosenGrouping(program, request.grouping);
    const graph = Math.max(0, index.graphNamed(request.graph));
    this.cells = new Cells(index, grouping, graph);
    if (!metric) return;
    const root = groupOf(request.root);
    const { total, cells } = icicleOf(program, grouping, metric, graph, root < grouping.groupCount ? root : -1, LEAST);
    this.view = {
      metric: metric.name,
      origin: metric.origin,
      metrics: metrics.map(({ name }) => name),
      grouping: grouping.name,
      total: quantityText(total, metric.unit),
      cells: cells.map((cell) => this.cell(cell, metric.unit, total, shown)),
      unknown: unknownOf(program, metric)?.graph[graph] ?? 0,
    };
  }

  private cell({ group, node, depth, from, width, value }: IcicleCell, unit: string, total: number, shown: Grouping | undefined): CostCell {
    return { ...this.cells.cell(group, node, shown), depth, from, width, text: quantityText(value, unit), share: value / total };
  }
}

/** The metrics that sum up, of the program and of files. */
export function addable(program: ProgramData, runs: readonly DataRun[]): MetricData[] {
  return [...metricsOf(program), ...runs.map(({ metric }) => metric)].filter(({ combine, ratio }) => combine === "sum" && !ratio);
}

/** The first of measured time, other time, FLOPs and bytes. */
export function preferred(metrics: readonly MetricData[]): MetricData | undefined {
  for (const wanted of PREFERRED) {
    const metric = metrics.find(wanted);
    if (metric) return metric;
  }
  return undefined;
}
