import { describe, expect, it } from "vitest";
import { Occupied } from "../../src/core/base/occupied";
import { draw, FILE, SCREEN } from "../../src/core/picture";
import { THEMES } from "../../src/core/scene";
import { textAt } from "../../src/core/text/packedTexts";
import type { Context } from "../../src/ui/canvas/canvasPainter";
import { paintRegionNames } from "../../src/ui/canvas/regionNames";
import { makeProgram } from "../view/program";

const COUNT = 600;

/** A chain of operations: 150 in the group head, the rest in body; of those, 200 in body/loop and 5 in body/few. */
const scopeOf = (i: number) => (i < 150 ? "head" : i < 350 ? "body/loop" : i < 355 ? "body/few" : "body");
const chain = makeProgram([
  {
    name: "main",
    nodes: Array.from({ length: COUNT }, (_, i) => ({ id: `n${i}`, scope: scopeOf(i), inputs: i ? [`n${i - 1}`] : [] })),
    outputs: [`n${COUNT - 1}`],
  },
]);
const { scene, visible } = draw(chain, { ...SCREEN, spec: { flatten: true } });
const regions = scene.regions!;

describe("the regions of a picture without frames", () => {
  it("are its groups with several boxes, the largest first, but not one that is nearly everything", () => {
    const names = Array.from(regions.count, (count, i) => [textAt(regions.names, i), count]);
    expect(names).toEqual([
      ["body", 450],
      ["loop", 200],
      ["head", 150],
    ]);
  });

  it("are named where a box of the group is", () => {
    for (let i = 0; i < regions.count.length; i++) {
      const at = scene.x.findIndex((x, item) => {
        const [y, w, h] = [scene.y[item], scene.w[item], scene.h[item]];
        return Math.abs(x + w / 2 - regions.x[i]) < 0.01 && Math.abs(y + h / 2 - regions.y[i]) < 0.01;
      });
      expect(scopeOf(visible.node[scene.box[at]]).split("/")).toContain(textAt(regions.names, i));
    }
  });

  it("are only for screens, and only where there are no frames", () => {
    expect(draw(chain, { ...FILE, spec: { flatten: true } }).scene.regions).toBeUndefined();
    expect(draw(chain, { ...SCREEN, spec: { depth: 9 } }).scene.regions).toBeUndefined();
  });

  it("have a name on a map as soon as they are large enough, and never one over another", () => {
    const written = (scale: number, occupied = new Occupied()): string[] => {
      const texts: string[] = [];
      const context = { setTransform: () => 0, fillRect: () => 0, fillText: (text: string) => texts.push(text) } as unknown as Context;
      const sight = { camera: { x: 0, y: 0, scale }, width: scene.width * scale, height: scene.height * scale, ratio: 1 };
      paintRegionNames(context, THEMES.light, scene, sight, occupied);
      return texts;
    };
    const side = Math.sqrt((scene.width * scene.height) / scene.boxCount);
    const scaleFor = (boxes: number) => 44 / (side * Math.sqrt(boxes));
    expect(written(scaleFor(451))).toEqual([]);
    expect(written(scaleFor(449))).toEqual(["body"]);
    expect(written(scaleFor(9))).toEqual(["body", "loop", "head"]);
    const taken = new Occupied();
    taken.add(0, 0, scene.width, scene.height);
    expect(written(scaleFor(449), taken)).toEqual([]);
  });
});
