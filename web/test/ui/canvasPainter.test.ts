import { expect, it } from "vitest";
import { CanvasPainter } from "../../src/ui/canvas/canvasPainter";

/** A canvas that remembers which lines were really stroked: those of the path at that time. */
function canvas() {
  const stroked: number[] = [];
  let path: number[] = [];
  const context = {
    beginPath: () => {
      path = [];
    },
    moveTo: (x: number) => {
      path.push(x);
    },
    lineTo: () => undefined,
    bezierCurveTo: () => undefined,
    closePath: () => undefined,
    setLineDash: () => undefined,
    fill: () => undefined,
    stroke: () => {
      stroked.push(...path);
    },
  };
  return { context: context as unknown as CanvasRenderingContext2D, stroked };
}

it("strokes every line, whatever the colours of the heads between them", () => {
  const { context, stroked } = canvas();
  const painter = new CanvasPainter(context, 1);
  const colours = ["#111111", "#222222", "#222222", "#111111"];
  colours.forEach((colour, i) => {
    painter.curve(Float64Array.of(10 * i, 0, 0, 0, 0, 0, 0, 9), 0, 4, colour, 1, colour === "#222222" ? "dotted" : "solid");
    painter.triangle(0, 0, 1, 1, 2, 2, colour);
  });
  painter.flush();
  expect(stroked).toEqual([0, 10, 20, 30]);
});
