import { expect, it } from "vitest";
import { layoutCompound } from "../../src/core/layout";
import { buildScene, measure, THEMES, unwrapped } from "../../src/core/scene";
import type { Scene } from "../../src/core/scene/types";
import { ScenePainter } from "../../src/ui/canvas/scenePainter";
import { buildSpatial } from "../../src/ui/canvas/spatial";
import { NO_PROGRAM, visibleOf } from "../scene/fixtures";

const SCALE = 0.05;
const names = ["first_of_the_blocks", "second_of_the_blocks"];
const visible = visibleOf(
  names.flatMap((id) => [
    { id, open: true },
    { id: `${id}.dot`, parent: id, category: "matmul" },
  ]),
  [],
);
const plain = buildScene(NO_PROGRAM, visible, unwrapped(visible, layoutCompound(measure(visible), { direction: "TB" })), {
  direction: "TB",
});
const [first, second] = names.map((name) => visible.title.indexOf(name));

/** The map with two blocks side by side, as far apart as said, or one `below` the other, of this size on the screen: every text, and where the plate below it is. */
function drawn(width: number, height: number, gap: number, shown = plain, below = 0) {
  const place = (of: Scene["x"], values: readonly [number, number]) => {
    const placed = of.slice();
    [first, second].forEach((item, i) => {
      placed[item] = values[i] / SCALE;
    });
    return placed;
  };
  const scene = {
    ...shown,
    x: place(plain.x, [0, below ? 0 : width + gap]),
    y: place(plain.y, [0, below]),
    w: place(plain.w, [width, width]),
    h: place(plain.h, [height, height]),
  };
  const texts: { text: string; left: number; right: number; upright: boolean }[] = [];
  let transform: number[] = [];
  let plate: number[] = [];
  const known: Record<string, (...given: never[]) => void> = {
    setTransform: (...given: number[]) => {
      transform = given;
    },
    fillRect: (...given: number[]) => {
      plate = given;
    },
    fillText: (text: string) => {
      const upright = transform[0] === 0;
      const [left, extent] = upright ? [transform[4] + plate[1], plate[3]] : [transform[4] + plate[0], plate[2]];
      texts.push({ text, left, right: left + extent, upright });
    },
  };
  const context = new Proxy({}, { get: (_, name) => known[String(name)] ?? (() => undefined), set: () => true });
  const [left, top] = [scene.x, scene.y].map((places) => Float32Array.from(places));
  const [right, bottom] = [left.map((x, i) => x + scene.w[i]), top.map((y, i) => y + scene.h[i])];
  const boxIndex = buildSpatial(left, top, right, bottom);
  const none = new Float32Array(0);
  const painter = new ScenePainter({ scene, boxIndex, edgeIndex: buildSpatial(none, none, none, none) });
  const sight = { camera: { x: 0, y: 0, scale: SCALE }, width: 1000, height: 600, ratio: 1 };
  painter.items(context as CanvasRenderingContext2D, THEMES.light, sight, scene, [first, second], new Int32Array(0), undefined, 1);
  return texts.map((text) => ({ ...text, isOverOther: text.text === names[0] ? text.right > width + gap : text.left < width }));
}

it("writes the name of a wide block into its middle", () => {
  expect(drawn(300, 40, 0)).toMatchObject(names.map((text) => ({ text, upright: false, isOverOther: false })));
});

it("writes the name of a narrow and high block upwards", () => {
  expect(drawn(40, 300, 0)).toMatchObject(names.map((text) => ({ text, upright: true, isOverOther: false })));
});

it("writes a name beside one of the small blocks that have it", () => {
  const alike = { ...plain, title: plain.title.map((title, item) => (item === second ? names[0] : title)) };
  expect(drawn(40, 40, 0, plain, 100)).toMatchObject(names.map((text) => ({ text, left: 42 })));
  expect(drawn(40, 40, 0, alike, 100)).toMatchObject([{ text: names[0] }]);
  expect(drawn(300, 40, 0, alike)).toMatchObject([{ text: names[0] }, { text: names[0] }]);
});

it("writes the name of a small block beside it, but not over another block", () => {
  expect(drawn(40, 40, 300)).toMatchObject(names.map((text) => ({ text, upright: false, isOverOther: false })));
  expect(drawn(40, 40, 0)).toMatchObject([{ text: names[1], upright: false, isOverOther: false }]);
});
