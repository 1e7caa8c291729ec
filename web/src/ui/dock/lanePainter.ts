/** Paints the memory lane on a canvas, and what moves on top of it. */
import { paintLane } from "../../core/scene/memoryLane";
import type { Theme } from "../../core/scene/theme";
import { CanvasPainter } from "../canvas/canvasPainter";
import type { LaneUsage, MemorySummary, NodeSpans } from "../engine/memoryProtocol";
import type { Range } from "./memoryLane";

type Context = CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D;

export interface LaneSize {
  readonly width: number;
  readonly height: number;
  /** Of the screen, per unit. */
  readonly pixels: number;
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
export function paintUsage(
  context: Context,
  usage: LaneUsage,
  summary: MemorySummary,
  theme: Theme,
  { width, height, pixels }: LaneSize,
): void {
  context.clearRect(0, 0, width, height);
  const painter = new CanvasPainter(context, 1);
  paintLane(painter, usage, summary, theme, { x: 0, y: 0, width, height, pixels }, usage.changed);
  painter.flush();
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
