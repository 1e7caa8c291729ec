/** The text that the page shows: of a program, or of both sides of a pass. */
import { listedRow, unmarked } from "../../core/listing/listed";
import { nodeLine, nodeWords } from "../../core/listing/nodeLine";
import { sideBySide, type TextRow } from "../../core/listing/sideBySide";
import { TextLines } from "../../core/listing/textLines";
import { indexOf } from "../../core/program/programIndex";
import type { PassDiff } from "../../core/program/recording/types";
import type { ProgramData } from "../../core/program/types";
import { nodeName } from "./names";
import type { PassProgram } from "./passes";
import type { SideText, TextPlace, TextRowShown, TextSummary } from "./textProtocol";

/** The program before a pass, and what the pass did. */
export interface Before {
  readonly side: PassProgram;
  readonly diff: PassDiff;
}

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
    await Promise.all(lines.flatMap((line) => (line.kind === "row" ? this.need(this.lines.rowAt(line.row)) : [])));
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

  async find(text: string): Promise<Int32Array> {
    const { after, before } = this;
    await Promise.all([after, before?.side].map((side) => side?.remote?.need(0, side.program.nodeCount)));
    const wanted = text.toLowerCase();
    const has = (program: ProgramData, node: number) => node >= 0 && nodeLine(program, node).toLowerCase().includes(wanted);
    const rows: number[] = [];
    for (let row = 0; row < this.lines.rowCount; row++) {
      const { before: old, after: now } = this.lines.rowAt(row);
      if (has(after.program, now) || (before && has(before.side.program, old))) rows.push(row);
    }
    return Int32Array.from(rows);
  }

  /** Fetches the attributes of the nodes of a row, where they did not come with the program. */
  private need({ before, after }: TextRow): (Promise<void> | undefined)[] {
    return [
      after < 0 ? undefined : this.after.remote?.need(after, after + 1),
      before < 0 ? undefined : this.before?.side.remote?.need(before, before + 1),
    ];
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
