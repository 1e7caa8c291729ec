/** What the engine keeps between questions: the program, its picture, and its colours. */
import { Highlighter } from "../../core/highlight/highlighter";
import { LayoutCache } from "../../core/layout";
import { metricsOf } from "../../core/metrics/counted";
import type { Picture } from "../../core/picture";
import type { Grouping, ProgramData } from "../../core/program/types";
import type { ScenePainter } from "../canvas/scenePainter";
import type { Destinations } from "./destinations";
import type { RemoteDetails } from "./details";
import { programFacts } from "./facts";
import { indexOf, type ProgramIndex } from "../../core/program/programIndex";
import { halvesGrouping } from "../../core/view/twoHalves/halves";
import type { Cells } from "./cells";
import type { ShownMemory } from "./memory";
import type { Passes, PassShown, SourceFile } from "./passes";
import type { PassSearch } from "./passSearch";
import type { ProgramSummary, WireAt } from "./protocol";
import type { Table } from "./table";
import type { ShownText } from "./text";
import { graphRow } from "./names";

/** The picture on the page. */
export interface Drawn extends Picture {
  readonly grouping: Grouping;
  /** How many operations each box contains. */
  readonly operations: Int32Array;
  readonly painter: ScenePainter;
}

export class EngineState {
  origin: WireAt | undefined;
  passes: Passes | undefined;
  passShown: PassShown | undefined;
  /** The latest search of passes, with what it has found in programs so far. */
  passSearch: PassSearch | undefined;
  /** Where to fetch attributes that did not come with the program. */
  remote: RemoteDetails | undefined;
  /** The text of a file that a node comes from, if what is open is not a recording. */
  sourceFile: SourceFile | undefined;
  drawn: Drawn | undefined;
  table: Table | undefined;
  memory: ShownMemory | undefined;
  /** What the panels about costs list. */
  cells: { cost?: Cells; roofline?: Cells } = {};
  text: ShownText | undefined;
  destinations: Destinations | undefined;
  layouts = new LayoutCache();
  private loaded: { readonly index: ProgramIndex; readonly highlighter: Highlighter } | undefined;

  get index(): ProgramIndex {
    return this.program.index;
  }

  get highlighter(): Highlighter {
    return this.program.highlighter;
  }

  get shown(): Drawn {
    if (!this.drawn) throw new Error("nothing is shown yet");
    return this.drawn;
  }

  /** Makes this the program that questions are about. */
  use(program: ProgramData, remote: RemoteDetails | undefined): void {
    this.remote = remote;
    if (this.loaded?.index.program === program) return;
    this.loaded = { index: indexOf(program), highlighter: new Highlighter(program) };
    this.table = this.memory = undefined;
    this.cells = {};
  }

  /** Fetches the attributes of these nodes, or of all. */
  async needDetails(from = 0, to = this.index.program.nodeCount): Promise<void> {
    await this.remote?.need(from, to);
  }

  /** Nodes of a graph, from its first to before its last; of the entry if none is named. */
  nodesOf(graph: string | undefined): readonly [first: number, last: number] {
    const { program } = this.index;
    const number = graph === undefined ? program.entry : this.index.graphNamed(graph);
    return [program.graphStart[number], program.graphStart[number + 1]];
  }

  summary(decodeMs: number): ProgramSummary {
    const { index } = this;
    const { program } = index;
    return {
      name: program.name,
      nodes: program.nodeCount,
      entry: index.graphName(program.entry),
      graphs: Array.from({ length: program.graphCount }, (_, g) => graphRow(index, g)),
      groupings: program.groupings.map((grouping) => grouping.name),
      halves: halvesGrouping(program)?.name,
      ...programFacts(index),
      metrics: metricsOf(program).map(({ name }) => name),
      overlays: (program.looks?.overlays.length ?? 0) > 0,
      layouts: program.types.layout.some((text) => program.strings.at(text) !== ""),
      decodeMs,
      ...(this.passes ? { passes: this.passes.rows } : {}),
    };
  }

  private get program(): { readonly index: ProgramIndex; readonly highlighter: Highlighter } {
    if (!this.loaded) throw new Error("no program is loaded");
    return this.loaded;
  }
}
