/** Text is measured, fits its box, and is elided in the middle where it cannot. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { planBox } from "../../src/core/scene/boxText";
import { Shape, type TextRun } from "../../src/core/scene";
import { elideMiddle, elideParts, elideType, textWidth } from "../../src/core/text/measure";

/** Half of a surrogate pair, alone. */
const HALF = /\p{Surrogate}/u;

const anyName = fc.oneof(
  fc.string({ maxLength: 200 }),
  fc.string({ unit: "binary", maxLength: 60 }),
  fc.constantFrom("", "dot", "層", "🙂🙂🙂"),
);

describe("measuring", () => {
  it("adds advances: a text is as wide as its parts", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (a, b) => {
        expect(textWidth(a + b, 12)).toBeCloseTo(textWidth(a, 12) + textWidth(b, 12), 6);
      }),
    );
  });

  it("knows tabular digits, bold letters and strangers", () => {
    expect(textWidth("1", 10)).toBe(textWidth("8", 10));
    expect(textWidth("abc", 12, true)).toBeGreaterThan(textWidth("abc", 12));
    expect(textWidth("層", 12)).toBe(12);
    expect(textWidth("🙂", 12)).toBe(12);
  });
});

describe("eliding", () => {
  it("never exceeds the room, keeps both ends, and cuts no character in half", () => {
    fc.assert(
      fc.property(anyName, fc.double({ min: 20, max: 300, noNaN: true }), fc.boolean(), (text, room, bold) => {
        const shown = elideMiddle(text, room, 12, bold);
        expect(textWidth(shown, 12, bold)).toBeLessThanOrEqual(Math.max(room, textWidth("…", 12, bold)) + 1e-9);
        if (shown === text) return;
        const [head, tail] = shown.split("…");
        expect(text.startsWith(head)).toBe(true);
        expect(text.endsWith(tail ?? "") || shown.indexOf("…") !== shown.lastIndexOf("…")).toBe(true);
        if (!HALF.test(text)) expect(shown).not.toMatch(HALF);
      }),
    );
  });

  it("leaves what fits alone", () => {
    expect(elideMiddle("layer_0", 500, 12)).toBe("layer_0");
    expect(elideMiddle("layer_0.attention.softmax.divide.12", 120, 12)).toMatch(/^layer_0\..*…\S*12$/);
  });
});

describe("boxes", () => {
  const content = fc.record({
    shape: fc.constantFrom(Shape.Card, Shape.Pill, Shape.Stack),
    title: anyName,
    subtitle: anyName,
    notes: fc.option(fc.array(anyName, { maxLength: 12 }), { nil: undefined }),
    rows: fc.option(fc.array(fc.tuple(anyName, anyName), { maxLength: 50 }), { nil: undefined }),
    expandable: fc.boolean(),
    group: fc.boolean(),
    repeat: fc.constantFrom(1, 2, 1000),
  });

  it("are large enough for every word they show, and not too wide", () => {
    fc.assert(
      fc.property(content, (box) => {
        const size = { width: 0, height: 0 };
        planBox(box, size);
        const runs: TextRun[] = [];
        const again = { width: 0, height: 0 };
        planBox(box, again, runs);
        expect(again).toEqual(size);
        expect(size.width).toBeLessThan(box.rows?.length ? 530 : 330);
        for (const run of runs) {
          const left = run.anchor === "middle" ? run.x - run.width / 2 : run.anchor === "end" ? run.x - run.width : run.x;
          expect(run.width).toBeCloseTo(textWidth(run.text, run.size, run.bold), 6);
          expect(left).toBeGreaterThanOrEqual(0);
          expect(left + run.width).toBeLessThanOrEqual(size.width);
          expect(run.y).toBeGreaterThan(run.size * 0.7);
          expect(run.y).toBeLessThan(size.height);
        }
      }),
    );
  });

  it("say on demand what they had to leave out", () => {
    const runs: TextRun[] = [];
    const title = "a".repeat(300);
    planBox(
      { shape: Shape.Card, title, subtitle: "", notes: undefined, expandable: false, group: false, repeat: 1 },
      { width: 0, height: 0 },
      runs,
    );
    expect(runs[0].text).toContain("…");
    expect(runs[0].full).toBe(title);
  });
});

describe("names with room", () => {
  const textsOf = (shape: Shape, title: string, subtitle: string): string[] => {
    const runs: TextRun[] = [];
    planBox({ shape, title, subtitle, notes: undefined, expandable: false, group: false, repeat: 1 }, { width: 0, height: 0 }, runs);
    return runs.map(({ text }) => text);
  };

  it("stay whole", () => {
    expect(textsOf(Shape.Pill, "p_conv1_weight", "float32[64, 3, 7, 7]")).toEqual(["p_conv1_weight", "float32[64, 3, 7, 7]"]);
    const subtitle = "adaptive_avg_pool2d · float32[1, 2048, 1, 1]";
    expect(textsOf(Shape.Card, "avgpool", subtitle)).toEqual(["avgpool", subtitle]);
  });

  it("are elided before their type, and never to nothing", () => {
    const [card] = textsOf(Shape.Card, "a", `${"operation".repeat(9)} · float32[1, 2048, 1, 1]`).slice(1);
    expect(card).toMatch(/^oper.*….* · float32\[1, 2048, 1, 1\]$/);
    const [name, type] = textsOf(Shape.Pill, "w".repeat(60), "float32[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]");
    expect(textWidth(name, 10.5)).toBeGreaterThan(100);
    expect(type).toContain("…");
  });
});

describe("types of tuples", () => {
  it("show their first members whole and count the others", () => {
    const type = "(s32[], f32[2, 3], (f32[4], u8[]), pred[16, 16])";
    expect(elideType(type, 1000, 12)).toBe(type);
    expect(elideType(type, textWidth(type, 12) - 1, 12)).toBe("(s32[], f32[2, 3], (f32[4], u8[]), +1)");
    expect(elideType(type, textWidth("(s32[], f32[2, 3], +2)", 12), 12)).toBe("(s32[], f32[2, 3], +2)");
    expect(elideType("f32[1024, 1024, 1024, 64]", 60, 12)).toMatch(/^f32.*….*\]$/);
  });
});

describe("parts", () => {
  it("go one by one from the end, and the last one left is elided", () => {
    const text = "GPT2Block · 36 ops · 50 k parameters";
    expect(elideParts(text, 1000, 12)).toBe(text);
    expect(elideParts(text, textWidth("GPT2Block · 36 ops", 12), 12)).toBe("GPT2Block · 36 ops");
    expect(elideParts(text, textWidth("GPT2Block", 12) - 1, 12)).toMatch(/^GPT.*…/);
  });
});
