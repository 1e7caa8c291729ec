import { describe, expect, it } from "vitest";
import { layoutCompound } from "../../src/core/layout";
import type { Visible } from "../../src/core/program/types";
import { boxTexts } from "../../src/core/scene/boxText";
import { buildScene, measure, type Scene, Shape, THEMES, unwrapped } from "../../src/core/scene";
import { frameNameSize, nameIn, NAMES_ONLY, nameSize, nameSizes } from "../../src/ui/canvas/names";
import { ScenePainter } from "../../src/ui/canvas/scenePainter";
import { buildSpatial } from "../../src/ui/canvas/spatial";
import { NO_PROGRAM, visibleOf } from "../scene/fixtures";

function sceneOf(visible: Visible): Scene {
  const layout = layoutCompound(measure(visible), { direction: "TB" });
  return buildScene(NO_PROGRAM, visible, unwrapped(visible, layout), { direction: "TB" });
}

/** A small network: short and long names, with and without types, a parameter and repeats. */
const NETWORK = visibleOf(
  [
    { id: "block", open: true, repeat: 12 },
    { id: "relu", parent: "block" },
    { id: "batch_norm", parent: "block", subtitle: "f32[1, 64, 112, 112]" },
    { id: "layers", repeat: 24, expandable: true, subtitle: "114 ops · 50 k parameters" },
    { id: "weight", category: "parameter", subtitle: "f32[64, 3, 7, 7]" },
    { id: "bias", category: "parameter" },
    { id: "a_name_that_is_far_too_long_for_its_own_good_and_for_any_box_that_holds_it" },
  ],
  [
    ["weight", "relu"],
    ["bias", "relu"],
    ["relu", "batch_norm"],
    ["batch_norm", "layers"],
  ],
);

/** What is written on a canvas at a scale: text and size of letters in pixels of the screen. */
function written(scene: Scene, scale: number): Map<string, number> {
  const texts = new Map<string, number>();
  let transform = 1;
  const context = new Proxy({ font: "" } as Record<string, unknown>, {
    get: (target, name) =>
      name === "fillText"
        ? (text: string) => texts.set(text, (Number.parseFloat(String(target.font).split(" ")[1]) * transform) as number)
        : name === "setTransform"
          ? (by: number) => {
              transform = by;
            }
          : (target[name as string] ?? (() => undefined)),
  });
  const nothing = new Float32Array(0);
  const painter = new ScenePainter({
    scene,
    boxIndex: buildSpatial(
      Float32Array.from(scene.x),
      Float32Array.from(scene.y),
      Float32Array.from(scene.x, (x, i) => x + scene.w[i]),
      Float32Array.from(scene.y, (y, i) => y + scene.h[i]),
    ),
    edgeIndex: buildSpatial(nothing, nothing, nothing, nothing),
  });
  const sight = { camera: { x: 0, y: 0, scale }, width: 4000, height: 4000, ratio: 1 };
  painter.paint(context as unknown as CanvasRenderingContext2D, THEMES.light, sight);
  return texts;
}

describe("names when zoomed out", () => {
  const scene = sceneOf(NETWORK);

  it.each([0.74, 0.6, 0.45, 0.3])("are all there at %s, boxes of one kind in one size, no larger than 13 pixels", (scale) => {
    const texts = written(scene, scale);
    expect([...texts.keys()]).toEqual(expect.arrayContaining(["relu", "batch_norm", "weight", "bias", "block", "×12", "layers", "×24"]));
    expect(texts.get("relu")).toBeCloseTo(texts.get("batch_norm")!);
    expect(texts.get("relu")).toBeCloseTo(texts.get("layers")!);
    expect(texts.get("weight")).toBeCloseTo(texts.get("bias")!);
    for (const size of texts.values()) expect(size).toBeLessThanOrEqual(13.01);
    expect([...texts.keys()].some((text) => text.includes("f32"))).toBe(false);
  });

  it("are as large as the boxes allow, so that they can be read far away", () => {
    const tall = visibleOf(
      ["relu", "tanh"].map((id) => ({ id, subtitle: "f32[1, 64, 112, 112]" })),
      [["relu", "tanh"]],
    );
    expect([...written(sceneOf(tall), 0.19).keys()]).toEqual(["relu", "tanh"]);
    expect([...written(scene, 0.19).keys()]).not.toContain("relu"); // cards of one line are too low
  });

  it("are the whole text from 75 % on", () => {
    expect([...written(scene, NAMES_ONLY).keys()]).toContain("f32[64, 3, 7, 7]");
  });

  it("are elided where they do not fit, and stay inside their boxes", () => {
    const texts = (item: number) => boxTexts(scene, item);
    const sizes = nameSizes(scene, texts);
    for (let item = 0; item < scene.boxCount; item++) {
      if (scene.shape[item] === Shape.Frame) continue;
      const size = nameSize(sizes, scene.shape[item], 0.5);
      const name = nameIn(texts(item), size, scene.w[item] - 4)!;
      expect(name.width).toBeLessThanOrEqual(scene.w[item] - 4 + 1e-6);
      expect(size).toBeLessThan(scene.h[item]);
    }
    expect(frameNameSize(0.1)).toBe(8);
    expect(frameNameSize(0.74)).toBe(13);
  });
});
