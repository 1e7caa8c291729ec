/** Before and after side by side as data for a printer or a page: lines with their differing words, and folds. */
import type { PassDiff } from "../program/recording/types";
import type { ProgramData } from "../program/types";
import { nodeWords, type Word } from "./nodeLine";
import { type RowKind, sideBySide, stretches, type TextRow } from "./sideBySide";
import { differingWords, type Piece } from "./words";

/** A piece of a line that is of one kind. */
export interface ListedWord extends Word, Piece {}

export interface ListedRow {
  readonly kind: RowKind;
  readonly before: readonly ListedWord[];
  readonly after: readonly ListedWord[];
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
  const left = old < 0 ? [] : nodeWords(before, old, fields),
    right = now < 0 ? [] : nodeWords(after, now, fields);
  if (kind !== "changed") return { kind, before: unmarked(left), after: unmarked(right) };
  const [was, is] = differingWords(textOf(left), textOf(right));
  return { kind, before: marked(left, was), after: marked(right, is) };
}

export const unmarked = (words: readonly Word[]): ListedWord[] => words.map((word) => ({ ...word, differs: false }));

export const textOf = (words: readonly Word[]): string => words.map(({ text }) => text).join("");

/** The words of a line, cut where the marks of the same line begin and end. */
function marked(words: readonly Word[], pieces: readonly Piece[]): ListedWord[] {
  const cut: ListedWord[] = [];
  let piece = 0,
    used = 0;
  for (const { text, kind } of words) {
    for (let at = 0; at < text.length; ) {
      const length = Math.min(text.length - at, pieces[piece].text.length - used);
      cut.push({ text: text.slice(at, at + length), kind, differs: pieces[piece].differs });
      at += length;
      used += length;
      if (used === pieces[piece].text.length) {
        piece++;
        used = 0;
      }
    }
  }
  return cut;
}
