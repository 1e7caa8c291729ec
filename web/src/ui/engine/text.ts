/** The text that the page shows: of a program, or of both sides of a pass. */
import { foundRows } from "../../core/listing/foundRows";
import { listedRow, unmarked } from "../../core/listing/listed";
import { nodeWords } from "../../core/listing/nodeLine";
import { sideBySide, type TextRow } from "../../core/listing/sideBySide";
import { TextLines } from "../../core/listing/textLines";
import { indexOf } from "../../core/program/programIndex";
import type { PassDiff } from "../../core/program/recording/types";
import type { ProgramData } from "../../core/program/types";
import { nodeName } from "./names";
import type { PassProgram } from "./passes";
import type { FoundRows, SideText, TextPlace, TextRowShown, TextSummary } from "./textProtocol";

/** The program before a pass, and what the pass did. */
export interface Before {
  readonly side: PassProgram;
  readonly diff: PassDiff;
}

/** So many take a few hundredths of a second. */
const ROWS_AT_ONCE = 20_000;

export class ShownText {
  private readonly lines: TextLines;
  /** The row of each node, by side; made when first needed. */
  private rowsOf: { readonly before: Int32Array; readonly after: Int32Array } | undefined;

  constructor(
    private readonly after: PassProgram,
    private readonly before?: Before,
  ) {
    this.lines = before
      ? TextLines.ofPass(sideBySide(before.side.program, after.program, before.diff), after.program.entry)
      : TextLines.ofProgram(after.program);
  }

  /** Is it about these programs? Then what is open and closed stays. */
  isOf(after: PassProgram, before: PassProgram | undefined): boolean {
    return this.after.program === after.program && this.before?.side.program === before?.program;
  }

  get summary(): TextSummary {
    return { sides: this.before !== undefined, lines: this.lines.count };
  }

  toggle(line: number): TextSummary {
    this.lines.toggle(line);
    return this.summary;
  }

  async rows(from: number, to: number): Promise<TextRowShown[]> {
    const lines = Array.from({ length: Math.max(0, Math.min(to, this.lines.count) - from) }, (_, i) => this.lines.at(from + i));
    await this.need(lines.flatMap((line) => (line.kind === "row" ? [line.row] : [])));
    return lines.map((line) => (line.kind === "row" ? this.shown(line.row) : line));
  }

  place(row: number): TextPlace {
    const line = row < 0 ? -1 : this.lines.reveal(row);
    return { ...this.summary, line, row };
  }

  /** The row of a node; of one that is shown twice, the first. */
  rowOf(node: number, side: "before" | "after"): number {
    this.rowsOf ??= this.findRows();
    return this.rowsOf[side][node] ?? -1;
  }

  /** Looks in some rows only: the first hits are there at once, and the engine answers what else is asked in between. */
  async find(text: string, from: number): Promise<FoundRows> {
    const { rowCount } = this.lines;
    const to = Math.min(from + ROWS_AT_ONCE, rowCount);
    await this.need(Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i));
    const rows = { from, to, at: (row: number): TextRow => this.lines.rowAt(row) };
    return { rows: foundRows(text, rows, this.after.program, this.before?.side.program), next: to < rowCount ? to : -1 };
  }

  /** Fetches the attributes of the nodes of rows, where they did not come with the program. */
  private async need(rows: readonly number[]): Promise<void> {
    const remotes = { after: this.after.remote, before: this.before?.side.remote };
    for (const side of ["after", "before"] as const)
      await remotes[side]?.needAll(rows.map((row) => this.lines.rowAt(row)[side]).filter((node) => node >= 0));
  }

  private shown(row: number): TextRowShown {
    const at = this.lines.rowAt(row);
    const { program } = this.after;
    const { before } = this;
    const side = (of: ProgramData, node: number, words: SideText["words"]): SideText => ({ node: nodeName(indexOf(of), node), words });
    if (!before) return { kind: at.kind, row, after: side(program, at.after, unmarked(nodeWords(program, at.after))) };
    const listed = listedRow(before.side.program, program, before.diff, at);
    return {
      kind: at.kind,
      row,
      ...(at.before < 0 ? {} : { before: side(before.side.program, at.before, listed.before) }),
      ...(at.after < 0 ? {} : { after: side(program, at.after, listed.after) }),
    };
  }

  private findRows(): { before: Int32Array; after: Int32Array } {
    const before = new Int32Array(this.before?.side.program.nodeCount ?? 0).fill(-1);
    const after = new Int32Array(this.after.program.nodeCount).fill(-1);
    for (let row = this.lines.rowCount - 1; row >= 0; row--) {
      const at = this.lines.rowAt(row);
      if (at.before >= 0) before[at.before] = row;
      if (at.after >= 0) after[at.after] = row;
    }
    return { before, after };
  }
}
