/** Regular expressions match as JavaScript's do, in bounded time. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { automaton } from "../../src/core/base/automaton";
import { readExpression } from "../../src/core/base/expression";

const PATTERNS = [
  "conv|dot",
  "^aten\\.(add|mul)\\.",
  "layers\\.\\d+\\.attn",
  "(ab)+c?",
  "[(+*]+x",
  "(?:q|k|v)_proj$",
  "a{2}b{1,3}",
  "a{2,}b?",
  "(a|b*)*c",
  "(a+)+b",
  "\\bq|k\\B",
  "^$",
  "|x",
  "()",
  "a??b",
  "[^\\]a]b",
  "[\\d-]+",
  "(?<name>a|ab)(c|bcd)",
  ".a.",
  "x{",
  "a|",
  "\\x61+\\u0062*",
  "ä+.",
  "(a?){3}b",
  "^(?:a|b)*$",
  "\\.*",
]; // prettier-ignore
const TEXTS = [
  "aten.add.Tensor",
  "layers.12.attn.k_proj",
  "ababc",
  "(+x",
  "aabb",
  "",
  "q k",
  "a\nb",
  "ÄÄ😀",
  "ſK",
  "x{",
  "abcd",
  "]b",
  "12-3",
  "...",
];

describe("expressions", () => {
  it("match as JavaScript's do", () => {
    for (const flags of ["", "i", "u", "iu"])
      for (const pattern of PATTERNS) {
        if (flags.includes("u") && pattern === "x{") continue;
        for (const text of TEXTS) {
          const expected = new RegExp(pattern, flags).test(text);
          expect(readExpression(pattern, flags).test(text), `/${pattern}/${flags} on ${JSON.stringify(text)}`).toBe(expected);
          expect(automaton(pattern, flags)!(text), `automaton: /${pattern}/${flags} on ${JSON.stringify(text)}`).toBe(expected);
        }
      }
  });

  it("match as JavaScript's do, whatever they are", () => {
    const one = fc.constantFrom("a", "b", ".", "[ab]", "[^a]", "\\w", "\\d");
    const times = fc.constantFrom("", "", "*", "+", "?", "{2}", "{0,2}", "{1,}", "*?");
    const place = fc.constantFrom("\\b", "\\B", "^", "$");
    const { whole } = fc.letrec<{ whole: string; group: string; part: string }>((tie) => ({
      whole: fc.array(tie("part"), { minLength: 1, maxLength: 4 }).map((parts) => parts.join("")),
      group: fc.tuple(fc.constantFrom("(", "(?:"), tie("whole"), tie("whole")).map(([open, a, b]) => `${open}${a}|${b})`),
      part: fc.oneof(
        { depthSize: "small" },
        place,
        fc.tuple(fc.oneof({ depthSize: "small" }, one, tie("group")), times).map((both) => both.join("")),
      ),
    }));
    const text = fc.array(fc.constantFrom("a", "b", "c", "1", " "), { maxLength: 8 }).map((letters) => letters.join(""));
    let matched = 0;
    fc.assert(
      fc.property(whole, text, (pattern, text) => {
        const expected = new RegExp(pattern).test(text);
        matched += Number(expected);
        expect(automaton(pattern, "")!(text), `/${pattern}/ on ${JSON.stringify(text)}`).toBe(expected);
      }),
      { numRuns: 2000 },
    );
    expect(matched).toBeGreaterThan(200);
    expect(matched).toBeLessThan(1800);
  });

  it("end on long texts, where JavaScript's never do", () => {
    const text = "a".repeat(100_000);
    for (const pattern of [
      "(a+)+b",
      ".*a.*a.*a.*a.*a.*b",
      "(a|aa)*b",
      "a*b",
      "(?:a?)*b",
      "((ab)*c)+",
      "(.*){2,}x",
      `${"a?".repeat(30)}${"a".repeat(30)}b`,
    ])
      expect(readExpression(pattern).test(text), pattern).toBe(false);
    expect(readExpression("a.*a.*a.*c$").test(`${text}c`)).toBe(true);
  });

  it("that look around are tried, if they repeat one part", () => {
    expect(readExpression("(?<!b)a+").test("ba aa")).toBe(true);
    expect(readExpression("^(?!.*bwd)dot").test("dot_bwd")).toBe(false);
    for (const pattern of ["(?=.*a)(?=.*b)", "(a+)+\\1b", "((?=x)a)*"])
      expect(() => readExpression(pattern), pattern).toThrow("can take forever");
  });

  it("have a size", () => {
    expect(() => readExpression("((a{30}){30})*")).toThrow("repeats a part too often");
    expect(() => readExpression("a*".repeat(501))).toThrow("longer than 1000 characters");
  });

  it("say what is wrong with what is not an expression", () => {
    expect(() => readExpression("(")).toThrow(/unterminated/i);
  });
});
