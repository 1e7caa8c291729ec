import { expect, it } from "vitest";
import { STICKY_LINE, stickyTitles } from "../../src/ui/canvas/stickyTitles";

/** Frames as [x, y, width, height, parent], from the outside in. */
function scene(...frames: readonly (readonly [number, number, number, number, number])[]) {
  const column = (i: number) => Float64Array.from(frames, (frame) => frame[i]);
  return {
    x: column(0),
    y: column(1),
    w: column(2),
    h: column(3),
    parent: Int32Array.from(frames, (frame) => frame[4]),
    order: Int32Array.from(frames, (_, i) => i),
    frameCount: frames.length,
  };
}

const nested = scene([0, 0, 1000, 3000, -1], [100, 500, 800, 1000, 0], [120, 1600, 400, 800, 0]);
const at = (x: number, y: number, scale = 1) =>
  stickyTitles(nested, { x, y, scale }, 900, 600).map(({ item, x: left, y: top, width }) => [item, left, top, width]);

it("leaves titles that are on the screen alone", () => {
  expect(at(-20, -20, 0.2)).toEqual([]);
  expect(at(0, 0)).toEqual([]);
});

it("sticks the titles of the groups around the upper edge below each other", () => {
  expect(at(0, 700)).toEqual([
    [0, 0, 0, 900],
    [1, 100, STICKY_LINE, 800],
  ]);
  expect(at(0, 490).map(([item]) => item)).toEqual([0, 1]);
});

it("lets a title go when its group ends below it", () => {
  expect(at(0, 1500 - 2 * STICKY_LINE).map(([item]) => item)).toEqual([0, 1]);
  expect(at(0, 1501 - 2 * STICKY_LINE).map(([item]) => item)).toEqual([0]);
});

it("keeps a title on the screen that is left of it", () => {
  expect(at(300, 400)).toEqual([
    [0, 0, 0, 700],
    [1, 0, 100, 600],
  ]);
});

it("takes at most a fifth of the screen", () => {
  const deep = scene(...Array.from({ length: 9 }, (_, i) => [i, i, 800 - 2 * i, 3000 - 2 * i, i - 1] as const));
  const titles = stickyTitles(deep, { x: 0, y: 400, scale: 1 }, 900, 5 * 3 * STICKY_LINE);
  expect(titles.map(({ item, y }) => [item, y])).toEqual([0, 1, 2].map((item) => [item, item * STICKY_LINE]));
});
