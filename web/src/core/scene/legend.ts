/** Which colours mean what (only those that the picture uses), and what a person should know about it, in rows under it. */
import { textWidth } from "../text/measure";
import { CATEGORIES } from "../types";
import { SMALL } from "./boxText";
import { type LegendEntry, PAINT_ADDED, PAINT_CHANGED, PAINT_REMOVED, Shape } from "./types";

/** Of one row. */
export const LEGEND_HEIGHT = 24;
export const SWATCH = 10;
export const TEXT_AT = 16;
const GAP = 18;
export const NO_SWATCH = -1;

const NAMES: Record<(typeof CATEGORIES)[number], string> = {
  other: "other", elementwise: "elementwise", matmul: "matmul, conv", reduce: "reduce", shape: "shape", communication: "communication",
  control: "control flow", data: "data movement", parameter: "parameter", constant: "constant", custom: "custom call",
  output: "input, output", random: "random", function: "autograd function", leaf: "leaf with a gradient", saved: "kept for backward",
  base: "base of a view", cut: "end of the gradient",
};

/** Entries and remarks at their places from (0, 0), no wider than the picture where that is possible. */
export function legendOf(
  paint: Uint8Array, shape: Uint8Array, width: number, remarks: readonly string[], mixShares: Float32Array = new Float32Array(0),
): { entries: LegendEntry[]; rows: number } {
  const used = new Set<number>();
  for (let i = 0; i < mixShares.length; i++) if (mixShares[i] > 0) used.add(i % CATEGORIES.length);
  for (let piece = 0; piece < paint.length; piece++) if (shape[piece] !== Shape.Frame) used.add(paint[piece]);
  const texts = new Map<number, string>(CATEGORIES.map((category, row) => [row, NAMES[category]]));
  texts.set(PAINT_ADDED, "added").set(PAINT_REMOVED, "removed").set(PAINT_CHANGED, "changed");
  const entries: LegendEntry[] = [];
  let x = 0;
  let y = 0;
  for (const [row, text] of texts) {
    if (!used.has(row)) continue;
    const wide = TEXT_AT + textWidth(text, SMALL);
    if (x > 0 && x + wide > width) {
      x = 0;
      y += LEGEND_HEIGHT;
    }
    entries.push({ paint: row, text, x, y });
    x += wide + GAP;
  }
  if (entries.length) y += LEGEND_HEIGHT;
  for (const text of remarks) {
    entries.push({ paint: NO_SWATCH, text, x: 0, y });
    y += LEGEND_HEIGHT;
  }
  return { entries, rows: y / LEGEND_HEIGHT };
}
