/** The icicle of a program's costs. */
import type { DataRun } from "../../core/highlight/nodeData";
import { addable, chosenGrouping, preferred } from "../../core/metrics/chosen";
import { metricText, wholeOf } from "../../core/metrics/changes";
import { type IcicleCell, icicleOf, LEAST_WIDTH } from "../../core/metrics/icicle";
import { unknownOf } from "../../core/metrics/unknown";
import type { MetricData } from "../../core/program/metrics";
import { isChange } from "../../core/program/names";
import type { ProgramIndex } from "../../core/program/programIndex";
import type { Grouping } from "../../core/program/types";
import { Cells, groupOf } from "./cells";
import type { CostCell, CostRequest, CostView } from "./costProtocol";

export class Cost {
  readonly view: CostView | undefined;
  readonly cells: Cells;

  constructor(index: ProgramIndex, request: CostRequest, runs: readonly DataRun[], shown: Grouping | undefined) {
    const { program } = index;
    const metrics = addable(
      program,
      runs.map((run) => run.metric),
    );
    const metric = metrics.find(({ name }) => name === request.metric) ?? preferred(metrics);
    const grouping = chosenGrouping(program, request.grouping);
    const graph = Math.max(0, index.graphNamed(request.graph));
    this.cells = new Cells(index, grouping);
    if (!metric) return;
    const root = groupOf(request.root);
    const { total, gross, cells } = icicleOf(program, grouping, metric, graph, root < grouping.groupCount ? root : -1, LEAST_WIDTH);
    const whole = wholeOf(program, metric, graph);
    this.view = {
      metric: metric.name,
      origin: metric.origin,
      metrics: metrics.map(({ name }) => name),
      grouping: grouping.name,
      total: metricText(metric, total),
      more: isChange(metric) ? metricText(metric, (gross + total) / 2) : "",
      less: isChange(metric) ? metricText(metric, (total - gross) / 2) : "",
      cells: cells.map((cell) => this.cell(cell, metric, whole, gross, shown)),
      unknown: unknownOf(program, metric)?.graph[graph] ?? 0,
    };
  }

  private cell(cell: IcicleCell, metric: MetricData, whole: number, gross: number, shown: Grouping | undefined): CostCell {
    const { group, node, depth, from, width, value } = cell;
    const numbers = { text: metricText(metric, value), share: value / whole, part: value / gross };
    return { ...this.cells.cell(group, node, shown), depth, from, width, ...numbers };
  }
}
