/** Colours that people can read and distinguish, also with the two common kinds of colour blindness. */
import { describe, expect, it } from "vitest";
import { legible } from "../../src/core/base/colour";
import { PAINT_ADDED, PAINT_CHANGED, PAINT_REMOVED, THEMES } from "../../src/core/scene";
import { HEAT } from "../../src/core/scene/theme";
import { CATEGORIES } from "../../src/core/program/types";

type Linear = readonly [number, number, number];

function linear(hex: string): Linear {
  const channel = (at: number) => {
    const value = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return [channel(1), channel(3), channel(5)];
}

/** WCAG 2 contrast ratio. */
function contrast(a: string, b: string): number {
  const light = (hex: string) => linear(hex).reduce((sum, value, i) => sum + value * [0.2126, 0.7152, 0.0722][i], 0.05);
  const [high, low] = [light(a), light(b)].sort((x, y) => y - x);
  return high / low;
}

/** What a person sees: full colour, without red cones, without green cones (Machado, Oliveira and Fernandes 2009). */
const SIGHTS: Record<string, readonly Linear[]> = {
  normal: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
};

/** Oklab, in which equal distances look about equally different. */
function perceived(hex: string, sight: readonly Linear[]): Linear {
  const channels = linear(hex);
  const [r, g, b] = sight.map((row) => Math.min(1, Math.max(0, row[0] * channels[0] + row[1] * channels[1] + row[2] * channels[2])));
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

function distance(a: string, b: string, sight: readonly Linear[]): number {
  const [one, other] = [perceived(a, sight), perceived(b, sight)];
  return Math.hypot(one[0] - other[0], one[1] - other[1], one[2] - other[2]);
}

for (const theme of Object.values(THEMES)) {
  describe(`${theme.name} theme`, () => {
    const grounds = [
      ...theme.paints,
      // Metrics are drawn on the heat scale, with ink that is chosen for each fill.
      ...HEAT.map((shade) => ({ fill: shade[theme.name], secondary: legible(shade[theme.name], theme.secondary, theme.text) })),
      ...[...theme.frames, theme.background, theme.panel, theme.pill.fill].map((fill) => ({ fill, secondary: undefined })),
    ];

    it("has a row for every category and every special paint", () => {
      expect(theme.paints.length).toBe(CATEGORIES.length + 7);
      for (const { fill, stroke } of theme.paints) for (const colour of [fill, stroke]) expect(colour).toMatch(/^#[0-9A-F]{6}$/);
    });

    it("has text with AA contrast (4.5) on every ground", () => {
      for (const { fill, secondary = theme.secondary } of grounds) {
        expect(contrast(theme.text, fill), `text on ${fill}`).toBeGreaterThanOrEqual(4.5);
        expect(contrast(secondary, fill), `secondary on ${fill}`).toBeGreaterThanOrEqual(4.5);
      }
    });

    it("has an accent and category borders that stand out from the background (3)", () => {
      expect(contrast(theme.accent, theme.background)).toBeGreaterThanOrEqual(3);
      CATEGORIES.forEach((category, row) => {
        const least = category === "parameter" || category === "constant" ? 2.4 : 3;
        expect(contrast(theme.paints[row].stroke, theme.background), category).toBeGreaterThanOrEqual(least);
      });
    });

    it("has edges with a contrast of 3 on everything that they cross, and frames that can be seen", () => {
      for (const ground of [theme.background, ...theme.frames]) {
        for (const line of [theme.edge, theme.faintEdge, theme.linkEdge]) expect(contrast(line, ground)).toBeGreaterThanOrEqual(3);
        expect(contrast(theme.frameStroke, ground)).toBeGreaterThanOrEqual(1.8);
      }
    });

    it("has colours of selection and search that nothing else has", () => {
      const marks = [PAINT_ADDED, PAINT_REMOVED, PAINT_CHANGED];
      const others = [...CATEGORIES.keys(), ...marks].map((row) => theme.paints[row].stroke);
      for (const [own, rest] of [
        [theme.selection, [theme.match, theme.edge, ...others]],
        [theme.match, [theme.selection, theme.edge, ...others]],
      ] as const) {
        for (const ground of [theme.background, ...theme.frames])
          expect(contrast(own, ground), `${own} on ${ground}`).toBeGreaterThanOrEqual(3);
        for (const other of rest) expect(distance(own, other, SIGHTS.normal), `${own} and ${other}`).toBeGreaterThan(0.12);
      }
    });

    for (const [name, sight] of Object.entries(SIGHTS)) {
      it(`has marks of changes that differ with ${name} vision`, () => {
        const marks = [PAINT_ADDED, PAINT_REMOVED, PAINT_CHANGED].map((row) => theme.paints[row].stroke);
        for (const mark of marks) expect(contrast(mark, theme.background)).toBeGreaterThanOrEqual(3);
        for (const [i, a] of marks.entries()) {
          for (const b of marks.slice(0, i)) {
            expect(distance(a, b, sight), `${a} and ${b}`).toBeGreaterThan(0.12);
          }
        }
      });
      it(`has category borders that differ with ${name} vision`, () => {
        // Autograd graphs have separate categories, which are never in one picture with those of operations.
        const autograd = ["function", "leaf", "saved", "base", "cut", "result"];
        const rows = CATEGORIES.filter((category) => category !== "parameter" && category !== "constant");
        for (const [i, a] of rows.entries()) {
          for (const b of rows.slice(0, i)) {
            if (autograd.includes(a) !== autograd.includes(b)) continue;
            const [one, other] = [a, b].map((category) => theme.paints[CATEGORIES.indexOf(category)].stroke);
            expect(distance(one, other, sight), `${a} and ${b}`).toBeGreaterThan(0.07);
          }
        }
      });
    }
  });
}
