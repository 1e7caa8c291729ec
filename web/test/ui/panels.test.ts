import { describe, expect, it } from "vitest";
import { between, type Camera, centred, fit as fitted, zoomAt } from "../../src/core/base/camera";
import { fitWhole, initialCamera } from "../../src/core/view/initial/camera";
import { between as mixed } from "../../src/core/base/colour";
import { clipped } from "../../src/ui/panels/outline";
import { pretty } from "../../src/ui/panels/pretty";
import { COMMANDS } from "../../src/ui/panels/commands";

describe("values for people", () => {
  it("puts JSON into lines, also JSON in a text, and leaves the rest alone", () => {
    expect(pretty({ a: { b: 1 } })).toBe('{\n  "a": {\n    "b": 1\n  }\n}');
    expect(pretty('{"a":[{"b":1}]}')).toContain("\n");
    expect(pretty([1, 2, 3])).toBe("[1,2,3]");
    expect(pretty("{not json")).toBe("{not json");
    expect(pretty("plain")).toBe("plain");
    expect(pretty(null)).toBe("null");
  });

  it("cuts what is too long for a line", () => {
    expect(clipped("abc", 2)).toBe("ab…");
    expect(clipped("abc", 3)).toBe("abc");
  });
});

describe("the camera", () => {
  const rect = { x: 100, y: 200, w: 400, h: 300 };

  it("zooms about a point that stays", () => {
    const camera = zoomAt({ x: 5, y: 6, scale: 1 }, 40, 30, 2);
    expect([camera.x + 40 / camera.scale, camera.y + 30 / camera.scale]).toEqual([45, 36]);
  });

  it("fits a rectangle into the screen, not larger than life", () => {
    expect(fitted(rect, 2000, 2000).scale).toBe(1);
    const small = fitted(rect, 200, 200);
    expect((rect.x - small.x) * small.scale).toBeGreaterThan(0);
    expect((rect.x + rect.w - small.x) * small.scale).toBeLessThan(200);
  });

  it("keeps a picture clear of the hint in the corner, as large and as near to the middle as that allows", () => {
    const hint = { width: 280, height: 100 };
    const left = (camera: Camera) => (rect.x - camera.x) * camera.scale;
    const top = (camera: Camera) => (rect.y - camera.y) * camera.scale;
    expect(fitted(rect, 1400, 900, 1, hint)).toEqual(fitted(rect, 1400, 900));
    const beside = fitted(rect, 800, 400, 1, hint);
    expect([left(beside), beside.scale]).toEqual([280, 1]);
    const below = fitted(rect, 440, 380, 1, hint);
    expect(top(below)).toBeCloseTo(100);
    expect(top(below) + rect.h * below.scale).toBeLessThan(380);
    const tall = { ...rect, h: 5000 };
    expect(left(initialCamera(tall, rect, "TB", 900, 400, undefined, hint))).toBeCloseTo(300);
    expect(left(initialCamera(tall, rect, "TB", 800, 400, undefined, hint))).toBeCloseTo(280);
    expect(top(initialCamera(tall, rect, "TB", 440, 400, undefined, hint))).toBeCloseTo(100);
    expect(left(initialCamera({ ...rect, w: 5000 }, rect, "LR", 800, 320, undefined, hint))).toBeCloseTo(280);
  });

  it("first looks at the whole, or at the beginning of what is too large", () => {
    expect(initialCamera(rect, rect, "TB", 1000, 800)).toEqual(fitted(rect, 1000, 800));
    const long = { x: 0, y: 0, w: 5000, h: 900_000 };
    const camera = initialCamera(long, { x: 3000, y: 20, w: 100, h: 40 }, "TB", 1000, 800);
    expect((3050 - camera.x) * camera.scale).toBeCloseTo(500);
    expect((20 - camera.y) * camera.scale).toBeLessThan(100);
    expect(camera.scale).toBe(0.75);
  });

  it("fits a graph larger than life only on a large screen, and into it", () => {
    const scale = (h: number, width: number, height: number) => fitWhole({ x: 0, y: 0, w: 300, h }, width, height).scale;
    expect([scale(700, 1024, 860), scale(700, 3300, 2080), scale(1600, 3300, 2080)]).toEqual([1, 1.5, (2080 - 48) / 1600]);
    expect(initialCamera({ x: 0, y: 0, w: 300, h: 700 }, undefined, "TB", 3300, 2080).scale).toBe(1.5);
  });

  it("begins at the edge of what is too wide while its first box is seen from there", () => {
    const wide = { x: 0, y: 0, w: 3000, h: 500 };
    const left = (x: number) => -initialCamera(wide, { x, y: 0, w: 100, h: 40 }, "TB", 900, 700).x * 0.75;
    expect([left(700), left(1100)]).toEqual([24, 450 - 1150 * 0.75]);
    const tall = { x: 0, y: 0, w: 1600, h: 1500 };
    expect(initialCamera(tall, { x: 0, y: 600, w: 100, h: 40 }, "LR", 900, 700).y * 0.75).toBe(-24);
  });

  it("never begins below 75 %, and keeps in the middle what fits across", () => {
    const tall = { x: 0, y: 0, w: 600, h: 1500 };
    const camera = initialCamera(tall, { x: 20, y: 20, w: 100, h: 40 }, "TB", 1000, 800);
    expect(camera.scale).toBe(0.75);
    expect((300 - camera.x) * camera.scale).toBeCloseTo(500);
    expect((0 - camera.y) * camera.scale).toBeGreaterThan(0);
    const wide = initialCamera({ x: 0, y: 0, w: 3000, h: 400 }, { x: 20, y: 300, w: 100, h: 40 }, "LR", 1000, 800);
    expect([wide.scale, (200 - wide.y) * wide.scale]).toEqual([0.75, 400]);
  });

  it("first looks at what was asked for by name, in the middle and large enough to read, where the whole is too small", () => {
    const named = { x: 3000, y: 450_000, w: 100, h: 40 };
    const camera = initialCamera({ x: 0, y: 0, w: 5000, h: 900_000 }, rect, "TB", 1000, 800, named);
    expect((3050 - camera.x) * camera.scale).toBeCloseTo(500);
    expect(Math.abs((450_020 - camera.y) * camera.scale - 400)).toBeLessThan(40);
    expect(camera.scale).toBeGreaterThan(0.5);
    expect(initialCamera(rect, rect, "TB", 1000, 800, rect)).toEqual(fitted(rect, 1000, 800));
  });

  it("flies from one place to another without leaving the way", () => {
    const a = centred(0, 0, 1, 100, 100),
      b = centred(10, 0, 4, 100, 100);
    expect(between(a, b, 0, 100, 100)).toEqual(a);
    expect(between(a, b, 1, 100, 100)).toEqual(b);
    const middle = between(a, b, 0.5, 100, 100);
    expect(middle.scale).toBeCloseTo(2);
    expect(middle.x + 50 / middle.scale).toBeGreaterThan(0);
    expect(middle.x + 50 / middle.scale).toBeLessThan(10);
  });
});

it("mixes colours", () => {
  expect(mixed("#000000", "#FFFFFF", 0.5)).toBe("#808080");
});

it("gives every key one meaning", () => {
  const presses = COMMANDS.flatMap(({ press }) => (press ? [press] : []));
  expect(new Set(presses).size).toBe(presses.length);
});
