/** The cards of the strip, for the module of the chosen pass: one per pass that changed something, one for each run of passes that did not. */
import type { PassRow } from "../../core/program/recording/types";

export type Card =
  | { readonly kind: "pass"; readonly pass: number; readonly x: number; readonly width: number }
  | {
      readonly kind: "fold";
      readonly first: number;
      readonly last: number;
      readonly count: number;
      readonly x: number;
      readonly width: number;
    };

/** A pipeline over the cards of its passes. */
export interface Band {
  readonly name: string;
  readonly level: number;
  readonly x: number;
  readonly width: number;
}

export const PASS_WIDTH = 132;
/** Of a module whose passes have seconds: "148 ms · 118,234 nodes" is wider than the number of nodes alone. */
export const TIMED_PASS_WIDTH = 166;
export const FOLD_WIDTH = 88;
export const GAP = 8;
export interface CardOptions {
  /** Is a pass listed? */
  readonly takes: (pass: number) => boolean;
  /** First passes of folds that were opened. */
  readonly unfolded: ReadonlySet<number>;
  readonly chosen: number;
}

/**
 * Whether a pass changed something: nodes, or only their names, order or annotations. Before changes are counted, a different program
 * counts as a change.
 */
export function didSomething(row: PassRow, rows: readonly PassRow[]): boolean {
  if (row.added === undefined) return row.before >= 0 && rows[row.before].content !== row.content;
  return row.added + (row.removed ?? 0) + (row.changed ?? 0) + (row.merged ?? 0) + (row.copied ?? 0) > 0 || !!row.aside;
}

/** By how much a pass raised the peak of memory; negative if it lowered it, 0 also if the peaks are not known. */
export function peakRise({ before, peak }: PassRow, rows: readonly PassRow[]): number {
  return (peak ?? 0) - (rows[before]?.peak ?? peak ?? 0);
}

/** The first of a module: its initial program. */
export function isStart(row: PassRow): boolean {
  return row.before < 0;
}

export function cardsOf(
  rows: readonly PassRow[],
  { takes, unfolded, chosen }: CardOptions,
): { cards: Card[]; bands: Band[]; width: number } {
  const cards: Card[] = [];
  const { module } = rows[chosen];
  const passWidth = rows.some((row) => row.module === module && row.seconds !== null) ? TIMED_PASS_WIDTH : PASS_WIDTH;
  let x = 0;
  const put = (card: { kind: "pass"; pass: number } | { kind: "fold"; first: number; last: number; count: number }, width: number) => {
    cards.push({ ...card, x, width });
    x += width + GAP;
  };
  const flush = (run: readonly number[]) => {
    if (run.length === 0) return;
    if (unfolded.has(run[0])) for (const pass of run) put({ kind: "pass", pass }, passWidth);
    else put({ kind: "fold", first: run[0], last: run[run.length - 1], count: run.length }, FOLD_WIDTH);
  };
  let run: number[] = [];
  rows.forEach((row, pass) => {
    if (row.module !== module || !takes(pass)) return;
    if (!didSomething(row, rows) && !isStart(row) && pass !== chosen) {
      run.push(pass);
      return;
    }
    flush(run);
    run = [];
    put({ kind: "pass", pass }, passWidth);
  });
  flush(run);
  return { cards, bands: bandsOf(rows, cards), width: Math.max(0, x - GAP) };
}

/** Pipelines as bands: one level for the outer pipeline and one for those nested in it. */
function bandsOf(rows: readonly PassRow[], cards: readonly Card[]): Band[] {
  const path = (card: Card): readonly string[] => {
    const { pipeline } = rows[card.kind === "pass" ? card.pass : card.first];
    return pipeline.length > 2 ? [pipeline[0], pipeline.slice(1).join(" › ")] : pipeline;
  };
  const bands: Band[] = [];
  for (const level of [0, 1]) {
    let open: { name: string; key: string; x: number; end: number } | undefined;
    const close = () => {
      if (open) bands.push({ name: open.name, level, x: open.x, width: open.end - open.x });
      open = undefined;
    };
    for (const card of cards) {
      const names = path(card);
      const key = names.slice(0, level + 1).join("\n");
      if (names.length <= level) close();
      else if (open?.key === key) open.end = card.x + card.width;
      else {
        close();
        open = { name: names[level], key, x: card.x, end: card.x + card.width };
      }
    }
    close();
  }
  return bands;
}

/** The next pass of the same module in a direction that changed something, or undefined at the end. */
export function nextChange(
  rows: readonly PassRow[],
  from: number,
  by: 1 | -1,
  takes: (pass: number) => boolean = () => true,
): number | undefined {
  for (let pass = from + by; pass >= 0 && pass < rows.length; pass += by) {
    if (rows[pass].module === rows[from].module && (didSomething(rows[pass], rows) || isStart(rows[pass])) && takes(pass)) return pass;
  }
  return undefined;
}
