/** Nodes or modules as rows, filtered and sorted; cells are computed when asked for. */
import { optimizerState } from "../../core/view/groups/tree";
import { type Grouping, type NodeDetails, ROLES, type SummaryData } from "../../core/program/types";
import type { Highlighter } from "../../core/highlight/highlighter";
import { metricsOf } from "../../core/metrics/counted";
import { drawnGroups, valuesOf } from "../../core/metrics/values";
import type { MetricData } from "../../core/program/metrics";
import { Forwards } from "../../core/program/ops";
import { Role } from "../../core/program/roles";
import { traitsOf } from "../../core/view/traits";
import { ModuleRows } from "./modules";
import { DIRECTION, groupingNamed, MODULE } from "../../core/program/names";
import type { ProgramIndex } from "../../core/program/programIndex";
import type { TableColumn, TableRequest, TableResult } from "./protocol";

type Cell = string | number;

interface Column extends TableColumn {
  cell(row: number): Cell;
}

export class Table {
  /** In a table of modules: which boxes of the picture its rows describe. */
  readonly modules: ModuleRows | undefined;
  private columns: Column[] = [];
  private rows = new Int32Array(0);
  private readonly totals: SummaryData["totals"];

  /** `matches` are the nodes that match the filter, in a table of nodes. */
  constructor(
    index: ProgramIndex,
    request: TableRequest,
    grouping: Grouping | undefined,
    matches: Int32Array | undefined,
    details: (node: number) => NodeDetails | undefined,
    highlighter: Highlighter,
  ) {
    const graph = request.graph === undefined ? index.program.entry : index.graphNamed(request.graph);
    const summary = request.rows === "modules" ? summaryFor(index, grouping, graph) : undefined;
    this.totals = summary?.data.totals ?? [];
    if (request.rows === "modules" && grouping) {
      const sums = moduleSums(index, summary?.grouping ?? grouping, graph);
      const metrics = groupMetrics(index, summary?.grouping ?? grouping, highlighter);
      this.columns = summary ? summaryColumns(summary.data, sums.ops, metrics) : moduleColumns(index, grouping, sums, metrics);
      const all = summary ? Int32Array.from(summary.data.rows, (_, row) => row) : sums.groups;
      this.modules = new ModuleRows(index, summary?.grouping ?? grouping, graph, all, (row) => (summary ? summary.data.scopes[row] : row));
      const filter = request.filter.toLowerCase();
      const texts = this.columns.filter((column) => !column.numeric);
      this.rows = all.filter((row) => texts.some((column) => String(column.cell(row)).toLowerCase().includes(filter)));
    } else {
      this.columns = nodeColumns(index, grouping, request.attributes, details, highlighter);
      const { graphStart } = index.program;
      const all = matches ?? Int32Array.from({ length: index.program.nodeCount }, (_, n) => n);
      this.rows = all.filter((node) => node >= graphStart[graph] && node < graphStart[graph + 1]);
    }
    this.sort(request.sort, request.descending);
  }

  get result(): TableResult {
    const columns = this.columns.map(({ cell: _, ...column }) => column);
    return { columns, total: this.rows.length, rows: this.rows.slice(), totals: this.totals };
  }

  cells(from: number, to: number): Cell[][] {
    return Array.from(this.rows.subarray(from, to), (row) => this.columns.map((column) => column.cell(row)));
  }

  private sort(name: string, descending: boolean): void {
    const column = this.columns.find((each) => each.name === name);
    if (!column) return;
    const sign = descending ? -1 : 1;
    const value = new Map<number, Cell>();
    for (const row of this.rows) value.set(row, column.cell(row));
    const compare = new Intl.Collator("en", { numeric: true }).compare;
    const order = Array.from(this.rows);
    if (column.numeric)
      order.sort(
        (a, b) => missing(value.get(a)) - missing(value.get(b)) || sign * ((value.get(a) as number) - (value.get(b) as number)) || a - b,
      );
    else order.sort((a, b) => sign * compare(value.get(a) as string, value.get(b) as string) || a - b);
    this.rows = Int32Array.from(order);
  }
}

/** Rows without a number come last in either order. */
const missing = (cell: Cell | undefined): number => (Number.isNaN(cell) ? 1 : 0);

function nodeColumns(
  index: ProgramIndex,
  grouping: Grouping | undefined,
  attributes: readonly string[],
  details: (node: number) => NodeDetails | undefined,
  { runs }: Highlighter,
): Column[] {
  const { program } = index;
  const path = grouping ? paths(index, grouping) : () => "";
  return [
    { name: "id", numeric: false, cell: (n) => index.id(n) },
    { name: "op", numeric: false, cell: (n) => index.op(n) },
    { name: "type", numeric: false, cell: (n) => index.typeText(n) },
    ...metricsOf(program).map((metric) => metricColumn(metric, valuesOf(program, metric).node)),
    { name: "role", numeric: false, cell: (n) => ROLES[program.nodeRole[n]] },
    { name: "group", numeric: false, cell: (n) => path(grouping!.nodeGroup[n]) },
    ...runs.map((run): Column => {
      if (run.statistics.numbers === run.statistics.nodes) return metricColumn(run.metric, run.metric.values);
      return { name: run.name, numeric: false, cell: (n) => run.text.get(n) ?? "" };
    }),
    ...attributes.map(
      (name): Column => ({
        name,
        numeric: false,
        cell: (n) => {
          const value = details(n)?.attrs[name];
          return value === undefined || value === null ? "" : typeof value === "string" ? value : JSON.stringify(value);
        },
      }),
    ),
  ];
}

function metricColumn({ name, unit, origin }: MetricData, values: Float64Array): Column {
  return { name, numeric: true, metric: { unit, origin }, cell: (row) => values[row] };
}

/** The values of the groups of a grouping, for each metric that applies to groups. */
function groupMetrics({ program }: ProgramIndex, grouping: Grouping, { metrics }: Highlighter): Column[] {
  const sizes = metricsOf(program).filter(({ name }) => name === "output bytes");
  return [...sizes, ...metrics].map((metric) => metricColumn(metric, valuesOf(program, metric).groups(drawnGroups(program, grouping))));
}

/** The summary that came with the model is the table of its modules, if the picture is grouped by modules. */
function summaryFor(
  index: ProgramIndex,
  shown: Grouping | undefined,
  graph: number,
): { data: SummaryData; grouping: Grouping } | undefined {
  const { summary: data, entry } = index.program;
  const grouping = groupingNamed(index.program, MODULE);
  return data && grouping && graph === entry && (shown === grouping || shown?.name === DIRECTION) ? { data, grouping } : undefined;
}

function summaryColumns({ columns, rows, scopes }: SummaryData, ops: Float64Array, metrics: readonly Column[]): Column[] {
  const listed = columns.map(
    ({ name, unit }, i): Column => ({
      name,
      numeric: unit !== "",
      ...(unit ? { unit } : { longest: rows.reduce((most, row) => Math.max(most, String(row[i] ?? "").length), name.length) }),
      cell: (row) => rows[row][i] ?? (unit ? Number.NaN : ""),
    }),
  );
  const drawn = (cell: (group: number) => Cell) => (row: number) => (scopes[row] >= 0 ? cell(scopes[row]) : Number.NaN);
  const measured = metrics.map((column) => ({ ...column, cell: drawn(column.cell) }));
  return [...listed, { name: "ops", numeric: true, unit: "count", cell: drawn((group) => ops[group]) }, ...measured];
}

function moduleColumns(index: ProgramIndex, grouping: Grouping, sums: ReturnType<typeof moduleSums>, metrics: readonly Column[]): Column[] {
  const path = paths(index, grouping);
  return [
    { name: "module", numeric: false, cell: (g) => path(g) },
    { name: "ops", numeric: true, unit: "count", cell: (g) => sums.ops[g] },
    { name: "parameters", numeric: true, unit: "count", cell: (g) => sums.parameters[g] },
    { name: "parameter bytes", numeric: true, metric: { unit: "B", origin: "given" }, cell: (g) => sums.parameterBytes[g] },
    ...metrics,
  ];
}

function paths(index: ProgramIndex, grouping: Grouping): (group: number) => string {
  const pathOf = new Map<number, string>();
  return (group) => {
    if (group < 0) return "";
    let path = pathOf.get(group);
    if (path === undefined) {
      const names: string[] = [];
      for (let g = group; g >= 0; g = grouping.groupParent[g]) names.unshift(index.text(grouping.groupName[g]));
      path = names.join("/");
      pathOf.set(group, path);
    }
    return path;
  };
}

/**
 * Per group, including everything inside, counted as the boxes of the picture count: a weight that no module declares is in the one that
 * uses it. Parents come before their children, so one backward pass adds up.
 */
function moduleSums(index: ProgramIndex, grouping: Grouping, graph: number) {
  const { program } = index;
  const traits = traitsOf(program);
  const { plumbing, small } = traits;
  const state = optimizerState(traits);
  const { nodeGroup, parent } = drawnGroups(program, grouping);
  const count = grouping.groupCount;
  const ops = new Float64Array(count),
    parameters = new Float64Array(count),
    parameterBytes = new Float64Array(count);
  for (let n = program.graphStart[graph]; n < program.graphStart[graph + 1]; n++) {
    const g = nodeGroup[n];
    if (g < 0) continue;
    if (program.nodeRole[n] === Role.Parameter && !state[n]) {
      const type = program.outputs.value[program.outputs.start[n]];
      parameters[g] += Math.max(0, program.types.elements[type] ?? 0);
      parameterBytes[g] += index.bytes(n);
    } else if (program.nodeRole[n] === Role.Op && plumbing.kind[n] === Forwards.Nothing && !small.is[n]) ops[g]++;
  }
  for (let g = count - 1; g >= 0; g--) {
    const above = parent[g];
    if (above < 0) continue;
    for (const sums of [ops, parameters, parameterBytes]) sums[above] += sums[g];
  }
  const groups = Int32Array.from({ length: count }, (_, g) => g).filter((g) => grouping.groupGraph[g] === graph);
  return { groups, ops, parameters, parameterBytes };
}
