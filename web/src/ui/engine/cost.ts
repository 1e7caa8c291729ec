/** The icicle of a program's costs, and which of its cells and which boxes of the picture belong together. */
import type { DataRun } from "../../core/highlight/nodeData";
import { metricsOf } from "../../core/metrics/counted";
import { type IcicleCell, icicleOf } from "../../core/metrics/icicle";
import { unknownOf } from "../../core/metrics/unknown";
import { groupingNamed, MODULE } from "../../core/program/names";
import type { MetricData } from "../../core/program/metrics";
import type { ProgramIndex } from "../../core/program/programIndex";
import type { Grouping, Visible } from "../../core/program/types";
import { quantityText } from "../../core/text/quantities";
import type { CostCell, CostRequest, CostView } from "./costProtocol";
import { ModuleRows } from "./modules";

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
  private readonly grouping: Grouping;
  private readonly rows: ModuleRows;

  constructor(
    readonly index: ProgramIndex,
    request: CostRequest,
    runs: readonly DataRun[],
    shown: Grouping | undefined,
  ) {
    const { program } = index;
    const metrics = [...metricsOf(program), ...runs.map(({ metric }) => metric)].filter(
      ({ combine, ratio }) => combine === "sum" && !ratio,
    );
    const metric = metrics.find(({ name }) => name === request.metric) ?? preferred(metrics);
    const modules = groupingNamed(program, MODULE);
    this.grouping = groupingNamed(program, request.grouping ?? "") ?? (modules?.groupCount ? modules : program.groupings[0]);
    const graph = Math.max(0, index.graphNamed(request.graph));
    const groups = Int32Array.from({ length: this.grouping.groupCount }, (_, g) => g);
    this.rows = new ModuleRows(index, this.grouping, graph, groups, (row) => row);
    if (!metric) return;
    const root = groupOf(request.root);
    const { total, cells } = icicleOf(program, this.grouping, metric, graph, root < this.grouping.groupCount ? root : -1, LEAST);
    this.view = {
      metric: metric.name,
      origin: metric.origin,
      metrics: metrics.map(({ name }) => name),
      grouping: this.grouping.name,
      total: quantityText(total, metric.unit),
      cells: cells.flatMap((cell) => this.cell(cell, metric.unit, total, shown) ?? []),
      unknown: unknownOf(program, metric)?.graph[graph] ?? 0,
    };
  }

  /** Keys of the cells that contain a node, the innermost first. */
  cellsOfNode(node: number): string[] {
    return [keyOf(-1, node), ...this.cellsOfGroup(this.grouping.nodeGroup[node])];
  }

  /** Keys of the cells that contain a box that is not a node's. */
  cellsOfBox(visible: Visible, box: number, shown: Grouping | undefined): string[] {
    return this.cellsOfGroup(this.rows.rowOf(visible, box, shown));
  }

  private cellsOfGroup(group: number): string[] {
    return this.around(group)
      .reverse()
      .map((each) => keyOf(each, -1));
  }

  private cell(cell: IcicleCell, unit: string, total: number, shown: Grouping | undefined): CostCell | undefined {
    const { group, node, depth, from, width, value } = cell;
    const place = node >= 0 ? { node, level: 0 } : group < 0 ? { node: -1, level: 0 } : this.rows.place(group, shown);
    return {
      ...(place ?? { node: -1, level: 0 }),
      key: keyOf(group, node),
      name: this.nameOf(group, node),
      depth,
      from,
      width,
      text: quantityText(value, unit),
      share: value / total,
      isGroup: node < 0,
    };
  }

  private nameOf(group: number, node: number): string {
    if (node >= 0) return this.index.id(node);
    return group < 0 ? this.index.program.name : this.index.text(this.grouping.groupName[group]);
  }

  /** A group and those around it, from the outside in. */
  private around(group: number): number[] {
    const groups: number[] = [];
    for (let g = group; g >= 0; g = this.grouping.groupParent[g]) groups.unshift(g);
    return groups;
  }
}

function preferred(metrics: readonly MetricData[]): MetricData | undefined {
  for (const wanted of PREFERRED) {
    const metric = metrics.find(wanted);
    if (metric) return metric;
  }
  return undefined;
}

function keyOf(group: number, node: number): string {
  return node >= 0 ? `n${node}` : group >= 0 ? `g${group}` : "";
}

function groupOf(key: string): number {
  return /^g\d{1,9}$/.test(key) ? Number(key.slice(1)) : -1;
}
