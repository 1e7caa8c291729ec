/** How the memory lane is drawn, on the page and in files: bytes by kind, stacked, over the order of the run. */
import type { Usage } from "../memory/usage";
import { kindShade } from "../memory/kinds";
import { bytesText } from "../text/quantities";
import { textWidth } from "../text/measure";
import { straightLines } from "./curves";
import type { Painter } from "./painter";
import type { Theme } from "./theme";
import type { TextRun } from "./types";

/** Room above the highest bar for its label. */
const TOP = 16;
/** Room below, in which the page shows when the selected node's buffers are alive. */
const BOTTOM = 8;
const SIZE = 11;

export interface LaneArea {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  /** Columns begin at whole pixels, so that no line is seen between them: pixels per unit. */
  readonly pixels: number;
}

/** What the lane is about. */
export interface LaneFacts {
  readonly kinds: readonly string[];
  readonly peak: number;
  /** The most bytes in use at one point, and the most that are reserved. */
  readonly mostBytes: number;
  readonly mostHeld: number;
}

export function paintLane(painter: Painter, usage: Usage, facts: LaneFacts, theme: Theme, area: LaneArea, changed?: Float64Array): void {
  const top = Math.max(facts.mostBytes, facts.mostHeld, 1);
  const y = (bytes: number) => area.y + TOP + (1 - bytes / top) * (area.height - TOP - BOTTOM);
  const x = (column: number) => area.x + Math.round((column / usage.columns) * area.width * area.pixels) / area.pixels;
  paintStack(painter, usage, facts.kinds, theme, x, y);
  painter.rect(area.x, y(0), area.width, 1, 0, theme.line, "", 0, "solid");
  if (changed) paintChanged(painter, changed, theme, x, y);
  paintPeak(painter, usage, facts, theme, area, y(facts.mostBytes));
}

/** Columns that are equal are one rectangle. */
function paintStack(
  painter: Painter,
  { columns, stack }: Usage,
  kinds: readonly string[],
  theme: Theme,
  x: (column: number) => number,
  y: (bytes: number) => number,
): void {
  const below = new Float64Array(columns);
  kinds.forEach((kind, k) => {
    const fill = kindShade(kind)[theme.name];
    const bytesAt = (column: number) => stack[column * kinds.length + k];
    for (let from = 0; from < columns; ) {
      const bytes = bytesAt(from);
      const base = below[from];
      let to = from + 1;
      while (to < columns && bytesAt(to) === bytes && below[to] === base) to++;
      const above = y(base + bytes);
      if (bytes > 0) painter.rect(x(from), above, x(to) - x(from), y(base) - above, 0, fill, "", 0, "solid");
      below.fill(base + bytes, from, to);
      from = to;
    }
  });
}

/** The bytes in use with the changes of a what-if question: a line over the old curve. */
function paintChanged(
  painter: Painter,
  changed: Float64Array,
  theme: Theme,
  x: (column: number) => number,
  y: (bytes: number) => number,
): void {
  const corners = [...changed].flatMap((bytes, column): [number, number][] => [
    [x(column), y(bytes)],
    [x(column + 1), y(bytes)],
  ]);
  const curve = straightLines(corners);
  painter.curve(curve, 0, curve.length / 2, theme.panel, 4, "solid");
  painter.curve(curve, 0, curve.length / 2, theme.text, 2, "solid");
}

function paintPeak(painter: Painter, usage: Usage, { peak, mostBytes }: LaneFacts, theme: Theme, area: LaneArea, y: number): void {
  const text = `peak ${bytesText(mostBytes)}`;
  const right = area.x + area.width;
  if (peak < usage.from || peak >= usage.to) {
    const where = peak < usage.from ? "before" : "after";
    painter.text(label(`${text} is ${where} this part`, area.x + 6, y - 5), theme.secondary);
    return;
  }
  const at = area.x + ((peak + 0.5 - usage.from) / Math.max(1, usage.to - usage.from)) * area.width;
  painter.triangle(at - 4, y - 6, at + 4, y - 6, at, y - 1, theme.text);
  const fits = at + textWidth(text, SIZE) + 12 <= right;
  painter.text(label(text, fits ? at + 8 : at - 8, y - 4, fits ? "start" : "end"), theme.text);
}

/** A line of small text. */
export function label(text: string, x: number, y: number, anchor: TextRun["anchor"] = "start", bold = false): TextRun {
  return { x, y, text, size: SIZE, bold, colour: "text", anchor, width: textWidth(text, SIZE, bold) };
}
