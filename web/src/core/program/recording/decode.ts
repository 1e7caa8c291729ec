/**
 * Reads what `opscope.render.wire.recording` writes: tables of everything that any pass has seen, from which the program after
 * one pass is put together when it is asked for.
 */
import { decodeMetrics } from "../metrics";
import type { Csr, Csr2, Grouping, ProgramData } from "../types";
import { decodeDetails, type DetailsBlock, Sections } from "../wire";
import { decodeDiff } from "./diff";
import type { PassDiff, PassRow, RecordingData } from "./types";

interface ProgramRow {
  readonly name: string;
  /** Which of its graphs is the entry. */
  readonly entry: number;
  readonly graphs: readonly number[];
  readonly groupings: readonly number[];
  /** Numbers of what is said about the program as a whole; most programs of a recording share it. */
  readonly facts: { readonly [name in "notes" | "derivatives" | "summary" | "looks"]?: number };
}

export function isRecording(bytes: Uint8Array): boolean {
  return new Sections(bytes).fields.kind === "recording";
}

export function decodeRecording(bytes: Uint8Array): RecordingData {
  const sections = new Sections(bytes);
  const tables = new Tables(sections);
  const programs = sections.fields.programs as Record<string, ProgramRow>;
  const diffs = new Map<number, PassDiff>();
  return {
    name: sections.fields.name as string,
    passes: sections.fields.passes as PassRow[],
    program: (content) => tables.program(programs[String(content)]),
    diff: (pass) => {
      if (!sections.has(`diff${pass}`)) return undefined;
      const known = diffs.get(pass) ?? decodeDiff(sections.octets(`diff${pass}`));
      diffs.set(pass, known);
      return known;
    },
  };
}

/** The tables of a recording, and putting a program together from them. */
class Tables {
  private readonly strings;
  private readonly columns;
  private readonly types;
  private readonly pathName: Int32Array;
  private readonly pathParent: Int32Array;
  private readonly groupingNames: readonly string[];
  private block: DetailsBlock | undefined;

  constructor(private readonly sections: Sections) {
    this.strings = sections.strings("strings");
    this.columns = {
      id: sections.integers("nodeId"),
      op: sections.integers("nodeOp"),
      role: sections.octets("nodeRole"),
      category: sections.octets("nodeCategory"),
      text: sections.integers("nodeText"),
      place: sections.integers("nodePlace"),
      metrics: sections.integers("nodeMetrics"),
      detail: sections.integers("nodeDetail"),
      outputs: sections.rows("outputs"),
      inputs: sections.pairs("inputs"),
      calls: sections.rows("calls"),
      control: sections.rows("control"),
      links: sections.rows("links"),
      graphName: sections.integers("graphName"),
      graphNodes: sections.rows("graphNodes"),
      graphOutputs: sections.rows("graphOutputs"),
    };
    this.types = {
      text: sections.integers("types.text"),
      dtype: sections.integers("types.dtype"),
      layout: sections.integers("types.layout"),
      bytes: sections.floats("types.bytes"),
      elements: sections.floats("types.elements"),
    };
    this.pathName = sections.integers("paths.name");
    this.pathParent = sections.integers("paths.parent");
    this.groupingNames = sections.fields.groupings as string[];
  }

  program(row: ProgramRow): ProgramData {
    const { columns, strings } = this;
    const { rows, graphStart } = this.members(row.graphs);
    const nodeCount = rows.length;
    const graphOfName = new Map(row.graphs.map((graph, g) => [columns.graphName[graph], g]));
    const inputs = copied(columns.inputs, rows) as Csr2;
    const control = copied(columns.control, rows);
    const numberOf = new Int32Array(strings.length).fill(-1);
    const own = (graph: number, visit: (node: number) => void) => {
      for (let node = graphStart[graph]; node < graphStart[graph + 1]; node++) visit(node);
    };
    for (let g = 0; g < row.graphs.length; g++) {
      own(g, (node) => {
        numberOf[columns.id[rows[node]]] = node;
      });
      own(g, (node) => {
        const id = columns.id[rows[node]];
        for (let i = inputs.start[node]; i < inputs.start[node + 1]; i++) inputs.value[i] = numberOf[id - inputs.value[i]];
        for (let i = control.start[node]; i < control.start[node + 1]; i++) control.value[i] = numberOf[control.value[i]];
      });
      own(g, (node) => {
        numberOf[columns.id[rows[node]]] = -1;
      });
    }
    const calls = copied(columns.calls, rows);
    for (let i = 0; i < calls.value.length; i++) calls.value[i] = graphOfName.get(calls.value[i]) ?? 0;
    return {
      name: row.name,
      entry: row.entry,
      strings,
      graphCount: row.graphs.length,
      graphStart,
      graphName: Int32Array.from(row.graphs, (graph) => columns.graphName[graph]),
      graphOutputs: this.outputs(row.graphs, graphStart),
      nodeCount,
      nodeId: picked(columns.id, rows),
      nodeOp: picked(columns.op, rows),
      nodeRole: Uint8Array.from(rows, (at) => columns.role[at]),
      nodeCategory: Uint8Array.from(rows, (at) => columns.category[at]),
      nodeText: picked(columns.text, rows),
      nodePlace: picked(columns.place, rows),
      metrics: decodeMetrics(this.sections, picked(columns.metrics, rows)),
      outputs: copied(columns.outputs, rows),
      inputs,
      calls,
      control,
      links: this.links(rows, graphStart, graphOfName),
      types: this.types,
      groupings: row.groupings.map((grouping) => this.grouping(grouping, rows, graphStart)),
      notes: this.fact(row, "notes") ?? [],
      derivatives: this.fact(row, "derivatives") ?? {},
      summary: this.fact(row, "summary"),
      looks: this.fact(row, "looks"),
      details: (node) => this.details.details(columns.detail[rows[node]]),
      findAttribute: (key, test) => this.marks(rows, this.details.findAttribute(key, test)),
      findAttributes: (test) => this.marks(rows, this.details.findAttributes(test)),
      findSource: (test) => this.marks(rows, this.details.findSource(test)),
    };
  }

  private fact<Name extends keyof ProgramRow["facts"]>(row: ProgramRow, name: Name): ProgramData[Name] | undefined {
    const number = row.facts[name];
    return number === undefined ? undefined : (this.sections.fields.facts as ProgramData[Name][])[number];
  }

  private get details(): DetailsBlock {
    this.block ??= decodeDetails(this.sections.octets("details"));
    return this.block;
  }

  private marks(rows: Int32Array, of: Uint8Array): Uint8Array {
    return Uint8Array.from(rows, (at) => of[this.columns.detail[at]]);
  }

  /** Rows of the nodes of some graphs, and where each graph begins. */
  private members(graphs: readonly number[]): { rows: Int32Array; graphStart: Int32Array } {
    const { start, value } = this.columns.graphNodes;
    const graphStart = new Int32Array(graphs.length + 1);
    graphs.forEach((graph, g) => {
      let count = 0;
      for (let i = start[graph] + 1; i < start[graph + 1]; i += 2) count += value[i];
      graphStart[g + 1] = graphStart[g] + count;
    });
    const rows = new Int32Array(graphStart[graphs.length]);
    let at = 0;
    for (const graph of graphs) {
      let end = 0;
      for (let i = start[graph]; i < start[graph + 1]; i += 2) {
        const first = end + value[i];
        end = first + value[i + 1];
        for (let row = first; row < end; row++) rows[at++] = row;
      }
    }
    return { rows, graphStart };
  }

  private outputs(graphs: readonly number[], graphStart: Int32Array): Csr2 {
    const { start, value } = this.columns.graphOutputs;
    const rowStart = new Int32Array(graphs.length + 1);
    const nodes: number[] = [],
      indexes: number[] = [];
    graphs.forEach((graph, g) => {
      for (let i = start[graph]; i < start[graph + 1]; i += 2) {
        nodes.push(graphStart[g] + value[i]);
        indexes.push(value[i + 1]);
      }
      rowStart[g + 1] = nodes.length;
    });
    return { start: rowStart, value: Int32Array.from(nodes), extra: Int32Array.from(indexes) };
  }

  private links(rows: Int32Array, graphStart: Int32Array, graphOfName: ReadonlyMap<number, number>): Csr2 {
    const { id, links } = this.columns;
    const start = new Int32Array(rows.length + 1);
    const kinds: number[] = [],
      nodes: number[] = [];
    const known = new Map<number, Map<number, number>>();
    const find = (graph: number, name: number): number => {
      let ids = known.get(graph);
      if (!ids) {
        ids = new Map();
        for (let node = graphStart[graph]; node < graphStart[graph + 1]; node++) ids.set(id[rows[node]], node);
        known.set(graph, ids);
      }
      return ids.get(name) ?? -1;
    };
    for (let graph = 0; graph + 1 < graphStart.length; graph++) {
      for (let node = graphStart[graph]; node < graphStart[graph + 1]; node++) {
        for (let i = links.start[rows[node]]; i < links.start[rows[node] + 1]; i += 3) {
          const named = links.value[i + 1];
          const other = find(this.strings.at(named) === "" ? graph : (graphOfName.get(named) ?? graph), links.value[i + 2]);
          if (other < 0) continue;
          kinds.push(links.value[i]);
          nodes.push(other);
        }
        start[node + 1] = kinds.length;
      }
    }
    return { start, value: Int32Array.from(kinds), extra: Int32Array.from(nodes) };
  }

  private grouping(number: number, rows: Int32Array, graphStart: Int32Array): Grouping {
    const { pathName, pathParent } = this;
    const pathOf = this.sections.integers(`path${number}`);
    const names: number[] = [],
      parents: number[] = [],
      graphs: number[] = [];
    const nodeGroup = new Int32Array(rows.length);
    const groupAt = new Int32Array(pathName.length).fill(-1);
    const trail: number[] = [];
    for (let graph = 0; graph + 1 < graphStart.length; graph++) {
      const first = names.length;
      const made: number[] = [];
      for (let node = graphStart[graph]; node < graphStart[graph + 1]; node++) {
        let path = pathOf[rows[node]];
        while (path >= 0 && groupAt[path] < first) {
          trail.push(path);
          path = pathParent[path];
        }
        let group = path >= 0 ? groupAt[path] : -1;
        for (let step = trail.pop(); step !== undefined; step = trail.pop()) {
          parents.push(group);
          graphs.push(graph);
          group = names.push(pathName[step]) - 1;
          groupAt[step] = group;
          made.push(step);
        }
        nodeGroup[node] = group;
      }
      for (const path of made) groupAt[path] = -1;
    }
    return {
      name: this.groupingNames[number],
      groupCount: names.length,
      groupName: Int32Array.from(names),
      groupParent: Int32Array.from(parents),
      groupGraph: Int32Array.from(graphs),
      nodeGroup,
    };
  }
}

function picked(column: Int32Array, rows: Int32Array): Int32Array {
  return rows.map((at) => column[at]);
}

/** The rows asked for, as a table of their own. */
function copied(table: Csr | Csr2, rows: Int32Array): Csr | Csr2 {
  const start = new Int32Array(rows.length + 1);
  for (let i = 0; i < rows.length; i++) start[i + 1] = start[i] + table.start[rows[i] + 1] - table.start[rows[i]];
  const value = new Int32Array(start[rows.length]);
  const extra = "extra" in table ? new Int32Array(value.length) : undefined;
  for (let i = 0; i < rows.length; i++) {
    for (let from = table.start[rows[i]], to = start[i]; to < start[i + 1]; from++, to++) {
      value[to] = table.value[from];
      if (extra) extra[to] = (table as Csr2).extra[from];
    }
  }
  return extra ? { start, value, extra } : { start, value };
}
