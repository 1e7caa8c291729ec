/** Paints the kernel lane on a canvas, and marks what is selected or pointed at. */
import { barOf, type KernelLane, paintKernels, type Span } from "../../core/scene/kernelLane";
import type { Theme } from "../../core/scene/theme";
import { CanvasPainter } from "../canvas/canvasPainter";

export function paintLane(
  context: CanvasRenderingContext2D,
  lane: KernelLane,
  span: Span,
  marks: { readonly chosen: (piece: number) => boolean; readonly pointed: number },
  theme: Theme,
  size: { readonly width: number; readonly height: number },
): void {
  context.clearRect(0, 0, size.width, size.height);
  const area = { x: 0, y: 0, ...size };
  const painter = new CanvasPainter(context, 1);
  paintKernels(painter, lane, span, theme, area);
  painter.flush();
  context.strokeStyle = theme.selection;
  for (let piece = 0; piece < lane.start.length; piece++) {
    if (piece !== marks.pointed && !marks.chosen(piece)) continue;
    const [x, y, w, h] = barOf(lane, piece, span, area);
    context.lineWidth = piece === marks.pointed ? 1 : 2;
    context.strokeRect(x - 0.5, y - 1.5, Math.max(2, w + 1), h + 3);
  }
}
