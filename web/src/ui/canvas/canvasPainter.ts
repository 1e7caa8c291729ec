/** The core's painter on a 2D canvas. Lines of one style are collected and stroked together: that is where the time goes. */
import type { Dash, Painter } from "../../core/scene/painter";
import type { TextRun } from "../../core/scene/types";
import { BOLD_WEIGHT, FONT_STACK } from "../../core/text/measure";

export type Context = CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D;

/** Smallest text on screen that is worth drawing, in pixels. */
export const LEGIBLE = 4.2;
/** Thinnest line on screen. */
const HAIRLINE = 0.75;
/** One path for many lines is quick to build but slow to fill in when it gets long. */
const BATCH = 200;
const DASHES: Record<Dash, readonly number[]> = { solid: [], dotted: [1.5, 3], dashed: [5, 3] };

export class CanvasPainter implements Painter {
  private font = "";
  private stroke = "";
  private width = 0;
  private dash: Dash = "solid";
  private lines = 0;
  private heads: number[] = [];
  private headFill = "";
  /** Below this scale corners are square and heads are omitted. */
  plain = false;

  constructor(
    private readonly context: Context,
    private readonly scale: number,
  ) {
    context.textBaseline = "alphabetic";
    context.textAlign = "start";
    context.fontKerning = "none";
    context.lineJoin = "round";
  }

  begin(): void {}
  end(): void {}

  rect(x: number, y: number, w: number, h: number, radius: number, fill: string, stroke: string, width: number, dash: Dash): void {
    const { context } = this;
    if (this.plain) {
      if (fill) {
        context.fillStyle = fill;
        context.fillRect(x, y, w, h);
      }
      if (stroke) {
        context.strokeStyle = stroke;
        context.lineWidth = Math.max(width, HAIRLINE / this.scale);
        context.strokeRect(x, y, w, h);
      }
      return;
    }
    context.beginPath();
    context.roundRect(x, y, w, h, Math.min(radius, h / 2, w / 2));
    if (fill) {
      context.fillStyle = fill;
      context.fill();
    }
    if (stroke) {
      context.strokeStyle = stroke;
      context.lineWidth = Math.max(width, HAIRLINE / this.scale);
      if (dash !== "solid") context.setLineDash(DASHES[dash] as number[]);
      context.stroke();
      if (dash !== "solid") context.setLineDash([]);
    }
  }

  curve(curve: Float64Array, from: number, to: number, stroke: string, width: number, dash: Dash): void {
    const { context } = this;
    if (this.lines >= BATCH || stroke !== this.stroke || width !== this.width || dash !== this.dash) {
      this.flushLines();
      this.stroke = stroke;
      this.width = width;
      this.dash = dash;
    }
    if (this.lines++ === 0) context.beginPath();
    let p = 2 * from;
    const end = 2 * to;
    context.moveTo(curve[p], curve[p + 1]);
    for (p += 2; p + 5 < end; p += 6) context.bezierCurveTo(curve[p], curve[p + 1], curve[p + 2], curve[p + 3], curve[p + 4], curve[p + 5]);
  }

  triangle(x0: number, y0: number, x1: number, y1: number, x2: number, y2: number, fill: string): void {
    if (this.plain) return;
    if (fill !== this.headFill) {
      this.flush(); // the lines too: heads begin a new path
      this.headFill = fill;
    }
    this.heads.push(x0, y0, x1, y1, x2, y2);
  }

  text(run: TextRun, colour: string): void {
    if (run.size * this.scale < LEGIBLE) return;
    const { context } = this;
    const font = `${run.bold ? BOLD_WEIGHT : 400} ${run.size}px ${FONT_STACK}`;
    if (font !== this.font) {
      this.font = font;
      context.font = font;
    }
    context.fillStyle = colour;
    const left = run.anchor === "start" ? run.x : run.anchor === "middle" ? run.x - run.width / 2 : run.x - run.width;
    context.fillText(run.text, left, run.y);
  }

  /** Draws the collected lines. Call it before drawing anything that must lie above them. */
  flush(): void {
    this.flushLines();
    this.flushHeads();
  }

  private flushLines(): void {
    if (this.lines === 0) return;
    const { context } = this;
    context.strokeStyle = this.stroke;
    context.lineWidth = Math.max(this.width, HAIRLINE / this.scale);
    if (this.dash !== "solid") context.setLineDash(DASHES[this.dash] as number[]);
    context.stroke();
    if (this.dash !== "solid") context.setLineDash([]);
    this.lines = 0;
  }

  private flushHeads(): void {
    const { context, heads } = this;
    if (heads.length === 0) return;
    context.fillStyle = this.headFill;
    context.beginPath();
    for (let i = 0; i < heads.length; i += 6) {
      context.moveTo(heads[i], heads[i + 1]);
      context.lineTo(heads[i + 2], heads[i + 3]);
      context.lineTo(heads[i + 4], heads[i + 5]);
      context.closePath();
    }
    context.fill();
    this.heads = [];
  }
}
