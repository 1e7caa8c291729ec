/** Which colours mean what: only those that the picture uses. */
import { CATEGORIES } from "../types";
import { type LegendEntry, PAINT_ADDED, PAINT_CHANGED, PAINT_REMOVED, Shape } from "./types";

export const LEGEND_HEIGHT = 30;

const NAMES: Record<(typeof CATEGORIES)[number], string> = {
  other: "other", elementwise: "elementwise", matmul: "matmul, conv", reduce: "reduce", shape: "shape", communication: "communication",
  control: "control flow", data: "data movement", parameter: "parameter", constant: "constant", custom: "custom call",
  output: "input, output", random: "random",
};

export function legendOf(paint: Uint8Array, shape: Uint8Array): LegendEntry[] {
  const used = new Set<number>();
  for (let box = 0; box < paint.length; box++) if (shape[box] !== Shape.Frame) used.add(paint[box]);
  const texts = new Map<number, string>(CATEGORIES.map((category, row) => [row, NAMES[category]]));
  texts.set(PAINT_ADDED, "added").set(PAINT_REMOVED, "removed").set(PAINT_CHANGED, "changed");
  return [...texts].filter(([row]) => used.has(row)).map(([row, text]) => ({ paint: row, text }));
}
