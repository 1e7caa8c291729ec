/** Paints the memory lane: bytes by kind, stacked, over the order of the run. */
import type { Usage } from "../../core/memory/usage";
import type { Theme } from "../../core/scene/theme";
import { bytesText } from "../../core/text/quantities";
import type { LaneUsage, MemorySummary, NodeSpans } from "../engine/memoryProtocol";
import { kindShade } from "./kinds";
import type { Range } from "./memoryLane";

type Context = CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D;

/** Room above the highest bar for its label. */
const TOP = 16;
/** Room below for when the selected node's buffers are alive. */
const BOTTOM = 8;

export interface LaneSize {
  readonly width: number;
  readonly height: number;
}

/** Where a position begins, in pixels; the inverse is `positionAt`. */
export function xOf(position: number, [from, to]: Range, width: number): number {
  return ((position - from) / Math.max(1, to - from)) * width;
}

export function positionAt(x: number, [from, to]: Range, width: number): number {
  const position = Math.floor(from + (x / Math.max(1, width)) * (to - from));
  return Math.max(from, Math.min(to - 1, position));
}

/** The part that changes only with the program, the range, the size and the theme. */
export function paintUsage(context: Context, usage: LaneUsage, summary: MemorySummary, theme: Theme, { width, height }: LaneSize): void {
  context.clearRect(0, 0, width, height);
  const top = Math.max(summary.mostBytes, 1);
  const y = (bytes: number) => TOP + (1 - bytes / top) * (height - TOP - BOTTOM);
  const { columns, stack } = usage;
  const kinds = summary.kinds.length;
  const below = new Float64Array(columns);
  for (let kind = 0; kind < kinds; kind++) {
    let isEmpty = true;
    context.beginPath();
    context.moveTo(0, y(below[0]));
    const above = below.slice();
    for (let column = 0; column < columns; column++) {
      const bytes = stack[column * kinds + kind];
      if (bytes > 0) isEmpty = false;
      above[column] += bytes;
      context.lineTo((column / columns) * width, y(above[column]));
      context.lineTo(((column + 1) / columns) * width, y(above[column]));
    }
    if (isEmpty) continue;
    for (let column = columns - 1; column >= 0; column--) {
      context.lineTo(((column + 1) / columns) * width, y(below[column]));
      context.lineTo((column / columns) * width, y(below[column]));
    }
    context.closePath();
    context.fillStyle = kindShade(summary.kinds[kind])[theme.name];
    context.fill();
    below.set(above);
  }
  context.fillStyle = theme.line;
  context.fillRect(0, y(0), width, 1);
  if (usage.changed) paintChanged(context, usage.changed, theme, width, y);
  paintPeak(context, usage, summary, theme, width, y(summary.mostBytes));
}

/** The bytes in use with the changes of a what-if question: a line over the old curve. */
function paintChanged(context: Context, changed: Float64Array, theme: Theme, width: number, y: (bytes: number) => number): void {
  context.beginPath();
  changed.forEach((bytes, column) => {
    context.lineTo((column / changed.length) * width, y(bytes));
    context.lineTo(((column + 1) / changed.length) * width, y(bytes));
  });
  context.strokeStyle = theme.panel;
  context.lineWidth = 4;
  context.stroke();
  context.strokeStyle = theme.text;
  context.lineWidth = 2;
  context.stroke();
}

function paintPeak(context: Context, usage: Usage, summary: MemorySummary, theme: Theme, width: number, y: number): void {
  const range: Range = [usage.from, usage.to];
  context.font = '11px "Opscope Sans", Inter, sans-serif';
  context.textBaseline = "alphabetic";
  context.fillStyle = theme.secondary;
  const text = `peak ${bytesText(summary.mostBytes)}`;
  if (summary.peak < usage.from || summary.peak >= usage.to) {
    context.textAlign = "left";
    context.fillText(`${text} is ${summary.peak < usage.from ? "before" : "after"} this part`, 6, y - 5);
    return;
  }
  const x = (xOf(summary.peak, range, width) + xOf(summary.peak + 1, range, width)) / 2;
  context.beginPath();
  context.moveTo(x - 4, y - 6);
  context.lineTo(x + 4, y - 6);
  context.lineTo(x, y - 1);
  context.closePath();
  context.fillStyle = theme.text;
  context.fill();
  const room = context.measureText(text).width + 12;
  context.textAlign = x + room > width ? "right" : "left";
  context.fillText(text, x + room > width ? x - 8 : x + 8, y - 4);
}

/** What is on top of it and moves: the point, the pointer, what is brushed, and the selected node. */
export function paintMarks(
  context: Context,
  range: Range,
  marks: {
    readonly position: number;
    readonly hovered: number | undefined;
    readonly brushed: Range | undefined;
    readonly spans: NodeSpans | undefined;
  },
  theme: Theme,
  { width, height }: LaneSize,
): void {
  const line = (position: number, colour: string, thickness: number) => {
    const from = xOf(position, range, width);
    const to = xOf(position + 1, range, width);
    if (to < 0 || from > width) return;
    context.fillStyle = colour;
    // A wide step is framed by its own width, a narrow one is a line.
    if (to - from > 2 * thickness) {
      context.globalAlpha = 0.18;
      context.fillRect(from, 0, to - from, height);
      context.globalAlpha = 1;
      context.fillRect(from, 0, thickness, height);
      context.fillRect(to - thickness, 0, thickness, height);
    } else context.fillRect((from + to - thickness) / 2, 0, thickness, height);
  };
  if (marks.brushed) {
    const from = xOf(marks.brushed[0], range, width);
    context.fillStyle = `${theme.accent}33`;
    context.fillRect(from, 0, Math.max(1, xOf(marks.brushed[1], range, width) - from), height);
  }
  if (marks.hovered !== undefined) line(marks.hovered, theme.secondary, 1);
  line(marks.position, theme.accent, 2);
  if (!marks.spans) return;
  context.fillStyle = theme.text;
  for (const [born, last] of marks.spans.spans) {
    const from = xOf(born, range, width);
    context.fillRect(from, height - 4, Math.max(2, xOf(last + 1, range, width) - from), 3);
  }
  if (marks.spans.position >= 0) line(marks.spans.position, theme.text, 1);
}
