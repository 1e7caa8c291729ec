/**
 * Reads what `opscope.render.wire` writes: tables of everything that the programs of a recording contain, from which a program is
 * assembled on request. A single program is a recording without passes.
 */
import { bucketBy } from "../base/csr";
import { once } from "../base/memoized";
import { type NodeColumns, nodeColumns, pickedColumns, pickedNumbers, pickedRows, type Selection, selection } from "./columns";
import { decodeDetails, type DetailsBlock } from "./details";
import { type LineTemplate, lineOf, lineTemplate } from "./lineTemplates";
import { decodeMetrics } from "./metrics";
import { decodeOps, type OpTable } from "./ops";
import { decodeDiff } from "./recording/diff";
import type { PassDiff, PassRow, NodeCode, Reason, RecordingData } from "./recording/types";
import { Sections } from "./sections";
import type { Csr, Csr2, Grouping, ProgramData, StringTable, TypeTable } from "./types";

interface ProgramRow {
  readonly name: string;
  /** Which of its graphs is the entry. */
  readonly entry: number;
  readonly graphs: readonly number[];
  readonly groupings: readonly number[];
  /** Numbers of the facts about the program as a whole; most programs of a recording share them. */
  readonly facts: { readonly [name in "notes" | "derivatives" | "summary" | "looks" | "device" | "lane" | "results"]?: number };
}

/** Looks up details that did not come with the program, if the host has them. */
export type FetchedDetails = Pick<ProgramData, "details" | "ownLine">;

export function decodeRecording(bytes: Uint8Array, fetched?: FetchedDetails): RecordingData {
  const sections = new Sections(bytes);
  const tables = new Tables(sections, fetched);
  const programs = sections.fields.programs as Record<string, ProgramRow>;
  const diffs = new Map<number, PassDiff>();
  return {
    name: sections.fields.name as string,
    passes: sections.fields.passes as PassRow[],
    reasons: (sections.fields.reasons as Reason[] | undefined) ?? [],
    codes: (sections.fields.codes as NodeCode[] | undefined) ?? [],
    sources: (sections.fields.sources as Record<string, string> | undefined) ?? {},
    program: (content) => tables.program(programs[String(content)], content),
    diff: (pass) => {
      if (!sections.has(`diff${pass}`)) return undefined;
      const diff = diffs.get(pass) ?? decodeDiff(sections.octets(`diff${pass}`));
      diffs.set(pass, diff);
      return diff;
    },
  };
}

/** The program of bytes that contain a single one. */
export function decodeProgram(bytes: Uint8Array, fetched?: FetchedDetails): ProgramData {
  return decodeRecording(bytes, fetched).program(0);
}

/** The tables of a recording, and how to assemble a program from them. */
class Tables {
  private readonly strings: StringTable;
  private readonly columns: NodeColumns;
  /** Row of the details of each node; without it, details are looked up by node number. */
  private readonly detailOf: Int32Array | undefined;
  private readonly seatOf: Int32Array;
  private readonly outputs: Csr;
  private readonly outputNames: Csr;
  /** Operands, and nodes that must run before: string numbers, relative to that of the node. */
  private readonly inputs: Csr2;
  private readonly control: Csr;
  /** String numbers of graphs. */
  private readonly calls: Csr;
  /** String numbers, three each: kind, graph (empty: the same) and node. There may be more links than nodes. */
  private readonly links: () => Csr;
  /** Row of the numbers of each node. */
  private readonly metricsOf: () => Int32Array;
  private readonly graphName: Int32Array;
  private readonly graphNodes: Csr;
  private readonly graphOutputs: Csr;
  private readonly types: TypeTable;
  private readonly ops: OpTable;
  private readonly pathName: Int32Array;
  private readonly pathParent: Int32Array;
  private readonly templates: () => StringTable;
  private readonly templateOf: LineTemplate[] = [];
  private block: DetailsBlock | undefined;

  constructor(
    private readonly sections: Sections,
    private readonly fetched: FetchedDetails | undefined,
  ) {
    this.strings = sections.strings("strings");
    this.columns = nodeColumns((name, kind) => (kind === "octet" ? sections.octets(name) : sections.integers(name)));
    this.detailOf = sections.has("nodeDetail") ? sections.integers("nodeDetail") : undefined;
    this.seatOf = sections.integers("nodeSeat");
    this.outputs = sections.rows("outputs");
    this.outputNames = sections.rows("outputNames");
    this.inputs = sections.pairs("inputs");
    this.control = sections.rows("control");
    this.calls = sections.rows("calls");
    this.links = once(() => sections.rows("links"));
    this.metricsOf = once(() => sections.integers("nodeMetrics"));
    this.graphName = sections.integers("graphName");
    this.graphNodes = sections.rows("graphNodes");
    this.graphOutputs = sections.rows("graphOutputs");
    this.types = {
      text: sections.integers("types.text"),
      dtype: sections.integers("types.dtype"),
      layout: sections.integers("types.layout"),
      rank: sections.integers("types.rank"),
      kind: sections.octets("types.kind"),
      bytes: sections.floats("types.bytes"),
      elements: sections.floats("types.elements"),
    };
    this.ops = decodeOps(sections);
    this.pathName = sections.integers("paths.name");
    this.pathParent = sections.integers("paths.parent");
    this.templates = once(() => sections.strings("lines"));
  }

  program(row: ProgramRow, content: number): ProgramData {
    const { rows, graphStart } = this.members(row.graphs);
    const selected = selection(rows, this.columns.nodeId.length);
    const columns = pickedColumns(this.columns, selected);
    const graphOfName = new Map(row.graphs.map((graph, g) => [this.graphName[graph], g]));
    const calls = pickedRows(this.calls, selected);
    for (let i = 0; i < calls.value.length; i++) calls.value[i] = graphOfName.get(calls.value[i]) ?? 0;
    // Most pictures need one grouping, and neither links nor metrics.
    const links = once(() => this.linksOf(columns.nodeId, selected, graphStart, graphOfName));
    const metrics = once(() => decodeMetrics(this.sections, pickedNumbers(this.metricsOf(), selected)));
    const seats = once(() => pickedNumbers(this.seatOf, selected));
    return {
      name: row.name,
      entry: row.entry,
      strings: this.strings,
      graphCount: row.graphs.length,
      graphStart,
      graphName: Int32Array.from(row.graphs, (graph) => this.graphName[graph]),
      graphOutputs: this.results(row.graphs, graphStart),
      nodeCount: rows.length,
      ...columns,
      outputs: pickedRows(this.outputs, selected),
      outputNames: pickedRows(this.outputNames, selected),
      ...this.references(columns.nodeId, selected, graphStart),
      get links() {
        return links();
      },
      calls,
      types: this.types,
      ops: this.ops,
      groupings: row.groupings.map((grouping) => this.grouping(grouping, seats, graphStart)),
      get metrics() {
        return metrics();
      },
      notes: this.fact(row, "notes") ?? [],
      derivatives: this.fact(row, "derivatives") ?? {},
      summary: this.fact(row, "summary"),
      looks: this.fact(row, "looks"),
      device: this.fact(row, "device"),
      lane: this.fact(row, "lane"),
      results: this.fact(row, "results") ?? [],
      ...this.detailsOf(rows, content),
    };
  }

  private fact<Name extends keyof ProgramRow["facts"]>(row: ProgramRow, name: Name): ProgramData[Name] | undefined {
    const number = row.facts[name];
    return number === undefined ? undefined : (this.sections.fields.facts as ProgramData[Name][])[number];
  }

  private detailsOf(
    rows: Int32Array,
    content: number,
  ): Pick<ProgramData, "details" | "ownLine" | "findAttribute" | "findAttributes" | "findSource"> {
    const { detailOf, fetched } = this;
    if (!detailOf) {
      const unknown = () => undefined;
      const { details, ownLine } = fetched ?? { details: unknown, ownLine: unknown };
      return { details, ownLine, findAttribute: unknown, findAttributes: unknown, findSource: unknown };
    }
    const block = (): DetailsBlock => {
      this.block ??= decodeDetails(this.sections.octets("details"));
      return this.block;
    };
    const marks = (of: Uint8Array): Uint8Array => Uint8Array.from(rows, (at) => of[detailOf[at]]);
    return {
      details: (node) => block().details(detailOf[rows[node]] ?? -1),
      ownLine: this.ownLines(content, rows, (row, place) => block().textAt(detailOf[row], place)),
      findAttribute: (key, test) => marks(block().findAttribute(key, test)),
      findAttributes: (test) => marks(block().findAttributes(test)),
      findSource: (test) => marks(block().findSource(test)),
    };
  }

  /** The lines of the text that a program was read from. */
  private ownLines(
    content: number,
    rows: Int32Array,
    textAt: (row: number, place: number) => string | undefined,
  ): (node: number) => string | undefined {
    const name = `lines${content}`;
    if (!this.sections.has(name)) return () => undefined;
    const numbers = once(() => this.sections.integers(name));
    return (node) => {
      const row = rows[node],
        template = this.template(numbers()[node]);
      return (
        lineOf(
          template,
          (place) => this.nameAt(row, place),
          (place) => textAt(row, place),
        ) || undefined
      );
    };
  }

  private template(number: number): LineTemplate {
    const template = this.templateOf[number] ?? lineTemplate(this.templates().at(number));
    this.templateOf[number] = template;
    return template;
  }

  /** The name of a row's node (0), or of one of its operands. MLIR's names begin with %; those of HLO do in its text only. */
  private nameAt(row: number, place: number): string | undefined {
    const { start, value } = this.inputs;
    if (start[row] + place > start[row + 1]) return undefined;
    const id = this.columns.nodeId[row];
    const name = this.strings.at(place === 0 ? id : id - value[start[row] + place - 1]);
    return name.startsWith("%") ? name.slice(1) : name;
  }

  /** Rows of the nodes of some graphs, and where each graph begins. */
  private members(graphs: readonly number[]): { rows: Int32Array; graphStart: Int32Array } {
    const { start, value } = this.graphNodes;
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

  /** Operands, and nodes that must run before, by number: both are in the node's own graph. */
  private references(nodeId: Int32Array, selected: Selection, graphStart: Int32Array): Pick<ProgramData, "inputs" | "control"> {
    const inputs = pickedRows(this.inputs, selected);
    const control = pickedRows(this.control, selected);
    this.eachGraph(nodeId, graphStart, (numberOf, first, end) => {
      for (const { start, value } of [inputs, control]) {
        for (let node = first; node < end; node++)
          for (let i = start[node]; i < start[node + 1]; i++) value[i] = numberOf[nodeId[node] - value[i]];
      }
    });
    return { inputs, control };
  }

  /** Links lead to any graph. */
  private linksOf(nodeId: Int32Array, selected: Selection, graphStart: Int32Array, graphOfName: ReadonlyMap<number, number>): Csr2 {
    const named = pickedRows(this.links(), selected);
    const start = new Int32Array(named.start.length);
    for (let node = 0; node < start.length; node++) start[node] = named.start[node] / 3;
    const count = named.value.length / 3;
    const value = new Int32Array(count),
      extra = new Int32Array(count),
      graphOf = new Int32Array(count);
    for (let graph = 0; graph + 1 < graphStart.length; graph++) {
      for (let link = start[graphStart[graph]]; link < start[graphStart[graph + 1]]; link++) {
        value[link] = named.value[3 * link];
        graphOf[link] = graphOfName.get(named.value[3 * link + 1]) ?? graph;
      }
    }
    const linksTo = bucketBy(graphOf, graphOfName.size);
    this.eachGraph(nodeId, graphStart, (numberOf, _first, _end, graph) => {
      for (let i = linksTo.start[graph]; i < linksTo.start[graph + 1]; i++) {
        const link = linksTo.value[i];
        extra[link] = numberOf[named.value[3 * link + 2]];
      }
    });
    return { start, value, extra };
  }

  /** Visits graphs with the number of the node of each id in it. Leftovers of other graphs are never read: every name exists. */
  private eachGraph(
    nodeId: Int32Array,
    graphStart: Int32Array,
    visit: (numberOf: Int32Array, first: number, end: number, graph: number) => void,
  ): void {
    const numberOf = new Int32Array(this.strings.length);
    for (let graph = 0; graph + 1 < graphStart.length; graph++) {
      const first = graphStart[graph],
        end = graphStart[graph + 1];
      for (let node = first; node < end; node++) numberOf[nodeId[node]] = node;
      visit(numberOf, first, end, graph);
    }
  }

  private results(graphs: readonly number[], graphStart: Int32Array): Csr2 {
    const { start, value } = this.graphOutputs;
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

  private grouping(number: number, seats: () => Int32Array, graphStart: Int32Array): Grouping {
    const groups = once(() => this.groups(number, seats(), graphStart));
    return {
      name: (this.sections.fields.groupings as string[])[number],
      exact: (this.sections.fields.exactGroupings as number[]).includes(number),
      get groupCount() {
        return groups().groupName.length;
      },
      get groupName() {
        return groups().groupName;
      },
      get groupParent() {
        return groups().groupParent;
      },
      get groupGraph() {
        return groups().groupGraph;
      },
      get nodeGroup() {
        return groups().nodeGroup;
      },
    };
  }

  /** Paths become groups, numbered in order of appearance; every graph has its own groups. */
  private groups(
    number: number,
    seatOf: Int32Array,
    graphStart: Int32Array,
  ): Pick<Grouping, "groupName" | "groupParent" | "groupGraph" | "nodeGroup"> {
    const { pathName, pathParent } = this;
    const pathOf = this.sections.integers(`path${number}`);
    const names: number[] = [],
      parents: number[] = [],
      graphs: number[] = [];
    const nodeGroup = new Int32Array(seatOf.length);
    const groupAt = new Int32Array(pathName.length).fill(-1);
    const trail: number[] = [];
    for (let graph = 0; graph + 1 < graphStart.length; graph++) {
      const first = names.length;
      for (let node = graphStart[graph]; node < graphStart[graph + 1]; node++) {
        let path = pathOf[seatOf[node]];
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
        }
        nodeGroup[node] = group;
      }
    }
    return {
      groupName: Int32Array.from(names),
      groupParent: Int32Array.from(parents),
      groupGraph: Int32Array.from(graphs),
      nodeGroup,
    };
  }
}
