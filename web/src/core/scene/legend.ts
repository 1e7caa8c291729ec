/** The legend below a picture: the colours that it uses, and notes about it. */
import { textWidth } from "../text/measure";
import { CATEGORIES } from "../program/types";
import { SMALL } from "./boxText";
import { type CustomPaint, type LegendEntry, type LegendRow, PAINT_ADDED, PAINT_CHANGED, PAINT_REMOVED, PAINT_VALUE, Shape } from "./types";

/** The minimum width of a line of text, however small the picture. */
const NARROWEST = 420;
/** The height of one row. */
export const LEGEND_HEIGHT = 24;
export const SWATCH = 10;
export const TEXT_AT = 16;
const GAP = 18;
export const NO_SWATCH = -1;

const NAMES: Record<(typeof CATEGORIES)[number], string> = {
  other: "other",
  elementwise: "elementwise",
  matmul: "matmul, conv",
  reduce: "reduce",
  shape: "shape",
  communication: "communication",
  control: "control flow",
  data: "data movement",
  parameter: "parameter",
  constant: "constant",
  custom: "custom call",
  output: "input, output",
  random: "random",
  function: "autograd function",
  leaf: "leaf with a gradient",
  saved: "saved for backward",
  base: "base of a view",
  cut: "end of the gradient",
  result: "output",
};

/** The categories that the picture uses. A box with a custom fill shows none. */
export function categoryRows(
  paint: Uint8Array,
  shape: Uint8Array,
  custom: Int16Array,
  customs: readonly CustomPaint[] = [],
  mixShares: Float32Array = new Float32Array(0),
): LegendRow[] {
  const used = new Set<number>();
  for (let i = 0; i < mixShares.length; i++) if (mixShares[i] > 0) used.add(i % CATEGORIES.length);
  for (let item = 0; item < paint.length; item++) {
    const covered = custom[item] >= 0 && customs[custom[item]]?.fill !== undefined;
    if (shape[item] !== Shape.Frame && !covered) used.add(paint[item]);
  }
  const texts = new Map<number, string>(CATEGORIES.map((category, row) => [row, NAMES[category]]));
  texts.set(PAINT_VALUE, "tensor").set(PAINT_ADDED, "added").set(PAINT_REMOVED, "removed").set(PAINT_CHANGED, "changed");
  return [...texts].filter(([row]) => used.has(row)).map(([row, text]) => ({ paint: row, text }));
}

/** Rows and remarks at their places from (0, 0), no wider than the picture if possible. Texts without a colour have their own line. */
export function placeLegend(
  rows: readonly LegendRow[],
  width: number,
  remarks: readonly string[],
): { entries: LegendEntry[]; rows: number } {
  const entries: LegendEntry[] = [];
  const sentences = [...rows.filter((row) => row.paint === undefined && !row.shade).map((row) => row.text), ...remarks];
  let x = 0;
  let y = 0;
  for (const { paint = NO_SWATCH, shade, text, scale } of rows) {
    if (paint === NO_SWATCH && !shade) continue;
    const wide = TEXT_AT + textWidth(text, SMALL);
    if (x > 0 && x + wide > width) {
      x = 0;
      y += LEGEND_HEIGHT;
    }
    entries.push({ paint, ...(shade ? { shade } : {}), text, x, y });
    x += scale && text === "" ? SWATCH + 2 : wide + (scale ? SWATCH : GAP);
  }
  if (entries.length) y += LEGEND_HEIGHT;
  for (const text of sentences.flatMap((sentence) => lines(sentence, Math.max(width, NARROWEST)))) {
    entries.push({ paint: NO_SWATCH, text, x: 0, y });
    y += LEGEND_HEIGHT;
  }
  return { entries, rows: y / LEGEND_HEIGHT };
}

/** A sentence in lines no wider than the room, broken between words. */
function lines(sentence: string, room: number): string[] {
  const result: string[] = [];
  for (const word of sentence.split(" ")) {
    const longer = result.length ? `${result[result.length - 1]} ${word}` : word;
    if (result.length && textWidth(longer, SMALL) <= room) result[result.length - 1] = longer;
    else result.push(word);
  }
  return result;
}
