/** Before and after side by side as data for a printer: lines with their differing words, and folds. */
import type { PassDiff } from "../program/recording/types";
import type { ProgramData } from "../program/types";
import { nodeLine } from "./nodeLine";
import { type RowKind, sideBySide, stretches, type TextRow } from "./sideBySide";
import { differingWords, type Piece } from "./words";

export interface ListedRow {
  readonly kind: RowKind;
  readonly before: readonly Piece[];
  readonly after: readonly Piece[];
}

export interface ListedGraph {
  readonly name: string;
  readonly lines: number;
  /** Rows, and numbers of folded rows; empty if nothing in the graph changed. */
  readonly rows: readonly (ListedRow | number)[];
}

export function listedGraphs(before: ProgramData, after: ProgramData, diff: PassDiff, whole: boolean): ListedGraph[] {
  const listed = (rows: readonly TextRow[]): (ListedRow | number)[] =>
    stretches(rows).flatMap(({ first, end, folded }): (ListedRow | number)[] =>
      folded && !whole ? [end - first] : rows.slice(first, end).map((row) => listedRow(before, after, diff, row)),
    );
  return sideBySide(before, after, diff).map(({ name, rows, changed }) => ({
    name,
    lines: rows.length,
    rows: changed || whole ? listed(rows) : [],
  }));
}

/** The lines of a row. The words in which two lines differ are marked if one became the other; of a pair that did not change, none are. */
export function listedRow(before: ProgramData, after: ProgramData, diff: PassDiff, { kind, before: old, after: now }: TextRow): ListedRow {
  const fields = new Set((diff.changes.get(now) ?? []).map(({ field }) => field.replace(/^attrs\./, "")));
  const left = old < 0 ? "" : nodeLine(before, old, fields),
    right = now < 0 ? "" : nodeLine(after, now, fields);
  if (kind !== "changed") return { kind, before: whole(left), after: whole(right) };
  const [was, is] = differingWords(left, right);
  return { kind, before: was, after: is };
}

const whole = (text: string): Piece[] => (text ? [{ text, differs: false }] : []);
