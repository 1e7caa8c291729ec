import { labelColumns } from "../../src/core/scene/labelColumns";
import { expect, it } from "vitest";
import { layoutCompound } from "../../src/core/layout";
import { buildScene, measure, THEMES, unwrapped } from "../../src/core/scene";
import { PAINT_ADDED } from "../../src/core/scene/types";
import { ScenePainter } from "../../src/ui/canvas/scenePainter";
import { buildSpatial } from "../../src/ui/canvas/spatial";
import { NO_PROGRAM, visibleOf } from "../scene/fixtures";

/** A canvas that remembers what it is asked to draw, in order. */
function canvas() {
  const calls: string[] = [];
  const context = new Proxy({} as Record<string, unknown>, {
    get:
      (_, name) =>
      (...given: unknown[]) =>
        calls.push([name, ...given].join(" ")),
    set: () => true,
  }) as unknown as CanvasRenderingContext2D;
  const lastLine = () => calls.map((call) => call.split(" ")[0]).lastIndexOf("stroke");
  return { context, calls, lastLine };
}

const visible = visibleOf([{ id: "a" }, { id: "b" }], [["a", "b"]]);
const layout = layoutCompound(measure(visible), { direction: "TB" });
const bare = buildScene(NO_PROGRAM, visible, unwrapped(visible, layout), { direction: "TB" });
const nothing = new Float32Array(0);
const empty = buildSpatial(nothing, nothing, nothing, nothing);
const sight = { camera: { x: 0, y: 0, scale: 1 }, width: 4000, height: 4000, ratio: 1 };

it("puts the label of an edge above the highlighted line", () => {
  const scene = { ...bare, labels: labelColumns([{ edge: 0, x: bare.x[0], y: bare.y[0], text: "saved", kind: "count" }]) };
  const { context, calls, lastLine } = canvas();
  new ScenePainter({ scene, boxIndex: empty, edgeIndex: empty }).highlight(context, THEMES.light, sight, [], [0], true);
  const label = calls.findIndex((call) => call.startsWith("fillText saved"));
  expect(lastLine()).toBeGreaterThan(-1);
  expect(label).toBeGreaterThan(lastLine());
});

it("puts the sign of a change above the border of what is selected", () => {
  const scene = { ...bare, paint: bare.paint.map((paint, item) => (item === 1 ? PAINT_ADDED : paint)) };
  const { context, calls, lastLine } = canvas();
  new ScenePainter({ scene, boxIndex: empty, edgeIndex: empty }).highlight(context, THEMES.light, sight, [1], [], true);
  const sign = calls.findIndex((call) => call.startsWith("fillText +"));
  expect(lastLine()).toBeGreaterThan(-1);
  expect(sign).toBeGreaterThan(lastLine());
});

it.each([1, 0.5])("puts the title of a group above the highlighted line, at a zoom of %s", (scale) => {
  const inside = visibleOf([{ id: "a" }, { id: "layer", open: true }, { id: "b", parent: "layer" }], [["a", "b"]]);
  const scene = buildScene(NO_PROGRAM, inside, unwrapped(inside, layoutCompound(measure(inside), { direction: "TB" })), {
    direction: "TB",
  });
  const [left, top] = [scene.x, scene.y].map((places) => Float32Array.from(places));
  const [right, bottom] = [left.map((x, i) => x + scene.w[i]), top.map((y, i) => y + scene.h[i])];
  const { context, calls, lastLine } = canvas();
  const painter = new ScenePainter({ scene, boxIndex: buildSpatial(left, top, right, bottom), edgeIndex: empty });
  painter.highlight(context, THEMES.light, { ...sight, camera: { x: 0, y: 0, scale } }, [], [0], true);
  expect(lastLine()).toBeGreaterThan(-1);
  expect(calls.findIndex((call) => call.startsWith("fillText layer"))).toBeGreaterThan(lastLine());
});
