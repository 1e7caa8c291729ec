/** Regular expressions from a stranger's file end soon, or are refused. */
import { describe, expect, it } from "vitest";
import { readExpression } from "../../src/core/base/expression";

describe("expressions from files", () => {
  it("match as JavaScript's do", () => {
    for (const pattern of [
      "conv|dot",
      "^aten\\.(add|mul)\\.",
      "layers\\.\\d+\\.attn",
      "(ab)+c?",
      "[(+*]+x",
      "(?:q|k|v)_proj$",
      "a{2}b{1,3}",
    ])
      for (const text of ["aten.add.Tensor", "layers.12.attn.k_proj", "ababc", "(+x", "aabb", ""])
        expect(readExpression(pattern, "i").test(text), `${pattern} on ${text}`).toBe(new RegExp(pattern, "i").test(text));
  });

  it("are refused if a repetition is inside a repetition", () => {
    for (const pattern of ["(a+)+b", "^(([a-z])+.)+[A-Z]([a-z])+$", "(a|aa)*b", "(?:a?)*b", "((ab)*c)+", "(.*){2,}x", "(x|[a-z])+y"])
      expect(() => readExpression(pattern), pattern).toThrow("can take forever");
  });

  it("are refused with more repetitions or options than can be tried", () => {
    expect(() => readExpression("a*a*a*a*b")).toThrow("can take forever");
    expect(() => readExpression("a?".repeat(30) + "a".repeat(30))).toThrow("can take forever");
    expect(readExpression("a*a*a*b").test("a".repeat(100_000))).toBe(false);
  });

  it("say what is wrong with what is not an expression", () => {
    expect(() => readExpression("(")).toThrow(/unterminated/i);
  });
});
