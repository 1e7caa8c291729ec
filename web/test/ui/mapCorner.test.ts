import { describe, expect, it } from "vitest";
import { Shape } from "../../src/core/scene/types";
import { freeCorner, type MapCorner, mapAt } from "../../src/ui/canvas/mapCorner";
import type { Shown } from "../../src/ui/canvas/shown";
import { buildSpatial } from "../../src/ui/canvas/spatial";

const CANVAS = { width: 1000, height: 600 };
const WHOLE = { width: 2000, height: 1000 };

/** A picture with boxes as [x, y, mark] of 40 × 20, on a frame that has changed, too. */
function picture(...boxes: readonly (readonly [number, number, number])[]): Pick<Shown, "scene" | "result" | "boxIndex" | "bounds"> {
  const all = [...boxes, [0, 0, 1] as const];
  const [x, y] = [0, 1].map((i) => Float32Array.from(all, (box) => box[i]));
  const frame = boxes.length;
  const w = Float32Array.from(all, (_, i) => (i === frame ? WHOLE.width : 40)),
    h = Float32Array.from(all, (_, i) => (i === frame ? WHOLE.height : 20));
  const shape = Uint8Array.from(all, (_, i) => (i === frame ? Shape.Frame : Shape.Card));
  return {
    scene: { shape } as unknown as Shown["scene"],
    result: { marks: Uint8Array.from(all, (box) => box[2]) } as unknown as Shown["result"],
    boxIndex: buildSpatial(
      x,
      y,
      x.map((left, i) => left + w[i]),
      y.map((top, i) => top + h[i]),
    ),
    bounds: { x: 0, y: 0, w: WHOLE.width, h: WHOLE.height },
  };
}

const corner = (shown: ReturnType<typeof picture>, selected: readonly number[] = [], at?: MapCorner, scale = 1) =>
  freeCorner(shown, selected, { x: 0, y: 0, scale }, CANVAS, at);

const [LOWER_RIGHT, UPPER_RIGHT, LOWER_LEFT] = [
  [900, 550],
  [900, 30],
  [40, 550],
] as const;

describe("the map of the whole", () => {
  it("has the proportions of the graph and is inside its corner", () => {
    expect(mapAt("lower right", WHOLE, CANVAS)).toEqual({ corner: "lower right", scale: 0.08, x: 828, y: 508, w: 160, h: 80 });
    expect(mapAt("upper right", WHOLE, CANVAS)).toMatchObject({ x: 828, y: 12 });
    expect(mapAt("lower left", WHOLE, CANVAS)).toMatchObject({ x: 12, y: 508 });
  });

  it("is in the lower right corner at first, unless another covers fewer boxes", () => {
    expect(corner(picture())).toBe("lower right");
    expect(corner(picture([...LOWER_RIGHT, 0]))).toBe("upper right");
    expect(corner(picture([...LOWER_RIGHT, 0], [...UPPER_RIGHT, 0]))).toBe("lower left");
    expect(corner(picture([...LOWER_RIGHT, 0], [...UPPER_RIGHT, 1], [...LOWER_LEFT, 1]))).toBe("lower right");
  });

  it("leaves a corner with changed or selected boxes", () => {
    expect(corner(picture([...LOWER_RIGHT, 1]))).toBe("upper right");
    expect(corner(picture([...LOWER_RIGHT, 0]), [0])).toBe("upper right");
    expect(corner(picture([...LOWER_RIGHT, 1], [...UPPER_RIGHT, 2]))).toBe("lower left");
    expect(corner(picture([LOWER_RIGHT[0] / 2, LOWER_RIGHT[1] / 2, 1]), [], "lower right", 2)).toBe("upper right");
  });

  it("covers as few of them as possible", () => {
    const crowded = [LOWER_RIGHT, UPPER_RIGHT, LOWER_LEFT].flatMap(([x, y]) => [[x, y, 1] as const, [x + 10, y, 1] as const]);
    expect(corner(picture(...crowded.slice(0, 5)))).toBe("lower left");
    expect(corner(picture(...crowded))).toBe("lower right");
  });

  it("stays where it is while that is as good", () => {
    expect(corner(picture(), [], "upper right")).toBe("upper right");
    expect(corner(picture([...UPPER_RIGHT, 0]), [], "upper right")).toBe("upper right");
    expect(corner(picture([...UPPER_RIGHT, 1]), [], "upper right")).toBe("lower right");
  });
});
