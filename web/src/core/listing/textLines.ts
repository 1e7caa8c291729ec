/**
 * A program, or what a pass did to it, as numbered lines: a heading for each graph and its nodes below it. Graphs can be closed, and runs
 * of rows that did not change are one line until they are opened. Rows are numbered over all graphs, whether or not they have a line.
 */
import { lastAtMost } from "../base/arrays";
import { indexOf } from "../program/programIndex";
import type { ProgramData } from "../program/types";
import { type GraphRows, type Stretch, stretches, type TextRow } from "./sideBySide";

export type TextLine =
  | { readonly kind: "heading"; readonly name: string; readonly rows: number; readonly open: boolean }
  | { readonly kind: "fold"; readonly rows: number }
  | { readonly kind: "row"; readonly row: number };

interface Section {
  readonly name: string;
  readonly count: number;
  /** Which of its rows are folded at first. */
  readonly stretches: readonly Stretch[];
  open: boolean;
}

/** Lines in a row that are of one kind, from `line` on. */
interface Block {
  readonly kind: TextLine["kind"];
  readonly section: number;
  readonly line: number;
  readonly first: number;
  readonly end: number;
}

export class TextLines {
  private readonly rowStart: Int32Array;
  /** Folds that were opened, by their first rows. */
  private readonly unfolded = new Set<number>();
  private blocks: Block[] = [];
  /** How many lines there are. */
  count = 0;

  private constructor(
    private readonly sections: readonly Section[],
    private readonly rowOf: (row: number, section: number, start: number) => TextRow,
  ) {
    this.rowStart = new Int32Array(sections.length + 1);
    for (const [i, { count }] of sections.entries()) this.rowStart[i + 1] = this.rowStart[i] + count;
    this.arrange();
  }

  /** One line per node. The entry comes first, and only it is open at first. */
  static ofProgram(program: ProgramData): TextLines {
    const { graphStart, graphCount, entry } = program;
    const graphs = Array.from({ length: graphCount }, (_, graph) => graph).sort((a, b) => Number(b === entry) - Number(a === entry));
    const sections = graphs.map((graph): Section => {
      const count = graphStart[graph + 1] - graphStart[graph];
      return {
        name: indexOf(program).graphName(graph),
        count,
        stretches: count ? [{ first: 0, end: count, folded: false }] : [],
        open: graph === entry,
      };
    });
    return new TextLines(sections, (row, section, start) => ({
      kind: "same",
      before: -1,
      after: graphStart[graphs[section]] + row - start,
    }));
  }

  /** Before and after next to each other. The entry comes first, then the other graphs in which something changed; these are open. */
  static ofPass(graphs: readonly GraphRows[], entry: number): TextLines {
    const rank = (graph: GraphRows) => (graph === graphs[entry] ? 0 : graph.changed ? 1 : 2);
    const sorted = [...graphs].sort((a, b) => rank(a) - rank(b));
    const sections = sorted.map(
      (graph): Section => ({ name: graph.name, count: graph.rows.length, stretches: stretches(graph.rows), open: graph.changed }),
    );
    return new TextLines(sections, (row, section, start) => sorted[section].rows[row - start]);
  }

  get rowCount(): number {
    return this.rowStart[this.sections.length];
  }

  rowAt(row: number): TextRow {
    const section = this.sectionOf(row);
    return this.rowOf(row, section, this.rowStart[section]);
  }

  at(line: number): TextLine {
    const { kind, section, first, end, line: start } = this.blockAt(line);
    if (kind === "row") return { kind, row: first + line - start };
    if (kind === "fold") return { kind, rows: end - first };
    const { name, count, open } = this.sections[section];
    return { kind, name, rows: count, open };
  }

  /** Opens or closes the graph of a heading, or opens a fold. */
  toggle(line: number): void {
    const { kind, section, first } = this.blockAt(line);
    if (kind === "heading") this.setOpen(section, !this.sections[section].open);
    else if (kind === "fold") this.unfolded.add(first);
    this.arrange();
  }

  /** The line of a row, after opening what hides it. */
  reveal(row: number): number {
    const visible = this.lineOf(row);
    if (visible >= 0) return visible;
    const section = this.sectionOf(row);
    this.setOpen(section, true);
    const start = this.rowStart[section];
    const hidden = this.sections[section].stretches.find(({ end }) => start + end > row);
    if (hidden?.folded) this.unfolded.add(start + hidden.first);
    this.arrange();
    return this.lineOf(row);
  }

  private sectionOf(row: number): number {
    return lastAtMost(this.sections.length, (section) => this.rowStart[section], row);
  }

  private lineOf(row: number): number {
    const { kind, first, end, line } = this.blocks[lastAtMost(this.blocks.length, (block) => this.blocks[block].first, row)];
    return kind === "row" && row < end ? line + row - first : -1;
  }

  /** A graph that is closed forgets which of its folds were opened. */
  private setOpen(section: number, open: boolean): void {
    this.sections[section].open = open;
    if (!open) for (const { first } of this.sections[section].stretches) this.unfolded.delete(this.rowStart[section] + first);
  }

  private blockAt(line: number): Block {
    return this.blocks[lastAtMost(this.blocks.length, (block) => this.blocks[block].line, line)];
  }

  private arrange(): void {
    this.blocks = [];
    this.count = 0;
    const add = (kind: TextLine["kind"], section: number, first: number, end: number, lines: number) => {
      this.blocks.push({ kind, section, line: this.count, first, end });
      this.count += lines;
    };
    for (const [section, { open, stretches: parts }] of this.sections.entries()) {
      const start = this.rowStart[section];
      add("heading", section, start, start, 1);
      if (!open) continue;
      for (const { first, end, folded } of parts) {
        if (folded && !this.unfolded.has(start + first)) add("fold", section, start + first, start + end, 1);
        else add("row", section, start + first, start + end, end - first);
      }
    }
  }
}
