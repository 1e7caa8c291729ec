/** Paints the kernel lane: a row for each stream, with the kernels of one step as bars over time. */
import type { Theme } from "../../core/scene/theme";
import { quantityText } from "../../core/text/quantities";
import type { LaneView } from "../engine/laneProtocol";

const AXIS = 18;
const LABEL = 13;
const MOST_ROW = 90;
const NANOSECONDS = 1e-9;
/** A mark about every so many pixels. */
const MARKS = 110;
/** A bar narrower than this has no name on it. */
const READABLE = 34;

/** The shown part of the step, in nanoseconds. */
export type Span = readonly [from: number, to: number];

export interface LaneSize {
  readonly width: number;
  readonly height: number;
}

function rowHeight({ streams }: LaneView, { height }: LaneSize): number {
  return Math.min(MOST_ROW, (height - AXIS) / Math.max(1, streams.length));
}

/** Where a piece is, in pixels. */
function barOf(lane: LaneView, piece: number, [from, to]: Span, size: LaneSize): readonly [x: number, y: number, w: number, h: number] {
  const row = rowHeight(lane, size);
  const scale = size.width / Math.max(1, to - from);
  const x = (lane.start[piece] - from) * scale;
  return [x, AXIS + lane.stream[piece] * row + LABEL, Math.max(1, lane.duration[piece] * scale), Math.max(3, row - LABEL - 2)];
}

/** The piece under a point, or -1; of several, the longest. */
export function pieceAt(lane: LaneView, x: number, y: number, span: Span, size: LaneSize): number {
  let best = -1;
  for (let piece = 0; piece < lane.start.length; piece++) {
    const [left, top, wide, high] = barOf(lane, piece, span, size);
    const isHit = x >= left - 1 && x <= left + wide + 1 && y >= top - LABEL && y <= top + high + 2;
    if (isHit && (best < 0 || lane.duration[piece] > lane.duration[best])) best = piece;
  }
  return best;
}

export function paintLane(
  context: CanvasRenderingContext2D,
  lane: LaneView,
  span: Span,
  marks: { readonly chosen: (piece: number) => boolean; readonly pointed: number },
  theme: Theme,
  size: LaneSize,
): void {
  const { width, height } = size;
  context.clearRect(0, 0, width, height);
  context.font = '10px "Opscope Sans", Inter, sans-serif';
  context.textBaseline = "alphabetic";
  context.textAlign = "left";
  paintAxis(context, span, theme, size);
  const strong: number[] = [];
  for (let piece = 0; piece < lane.start.length; piece++) {
    const [x, y, w, h] = barOf(lane, piece, span, size);
    if (x + w < 0 || x > width) continue;
    const paint = lane.paint[piece] < 0 ? undefined : theme.paints[lane.paint[piece]];
    context.fillStyle = paint?.fill ?? theme.background;
    context.fillRect(x, y, w, h);
    context.strokeStyle = paint?.stroke ?? theme.faintEdge;
    context.lineWidth = 1;
    if (w > 3) context.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1);
    else {
      context.fillStyle = context.strokeStyle;
      context.fillRect(x, y, w, h);
    }
    if (w > READABLE) paintName(context, lane.names[piece] || lane.kernels[lane.kernel[piece]], x + 4, y + h / 2 + 3.5, w - 8, theme);
    if (marks.chosen(piece) || piece === marks.pointed) strong.push(piece);
  }
  context.strokeStyle = theme.selection;
  for (const piece of strong) {
    const [x, y, w, h] = barOf(lane, piece, span, size);
    context.lineWidth = piece === marks.pointed ? 1 : 2;
    context.strokeRect(x - 0.5, y - 1.5, Math.max(2, w + 1), h + 3);
  }
  context.fillStyle = theme.secondary;
  for (const [i, stream] of lane.streams.entries()) context.fillText(stream, 6, AXIS + i * rowHeight(lane, size) + LABEL - 3);
}

function paintName(context: CanvasRenderingContext2D, name: string, x: number, y: number, room: number, theme: Theme): void {
  let shown = name;
  while (shown && context.measureText(shown).width > room) shown = shown.slice(0, Math.floor(shown.length * 0.8));
  if (!shown) return;
  context.fillStyle = theme.text;
  context.fillText(shown, x, y);
}

/** Round times, with their distance from the beginning of the step. */
function paintAxis(context: CanvasRenderingContext2D, [from, to]: Span, theme: Theme, { width, height }: LaneSize): void {
  const rough = ((to - from) * MARKS) / Math.max(1, width);
  const power = 10 ** Math.floor(Math.log10(Math.max(1, rough)));
  const step = power * ([1, 2, 5, 10].find((factor) => power * factor >= rough) ?? 10);
  for (let time = Math.ceil(from / step) * step; time <= to; time += step) {
    const x = ((time - from) / Math.max(1, to - from)) * width;
    context.fillStyle = theme.line;
    context.fillRect(x, 0, 1, height);
    context.fillStyle = theme.secondary;
    context.fillText(quantityText(time * NANOSECONDS, "s"), x + 4, 11);
  }
}
