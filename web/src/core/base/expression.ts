/**
 * Regular expressions of people, of files that strangers made, and of links to a page: the one place that decides how they are matched. Where JavaScript's
 * own way could take more than the square of a text's length, `automaton` does it in one pass.
 */
import { automaton } from "./automaton";

/** JavaScript tries each place of a text, and from there each length of a repetition: so many characters take no time that anybody notices. */
const LONGEST = 1000;

export interface Expression {
  test(text: string): boolean;
}

/** Throws an error with a message for the person. */
export function readExpression(pattern: string, flags = ""): Expression {
  const compiled = new RegExp(pattern, flags);
  const plain = pattern.replace(/\\.|\[(?:\\.|[^\]\\])*\]/gs, "x").replace(/\(\?(?:<[^=!>]*>)?/g, "(");
  const repetitions = plain.match(/[*+?]\??|\{\d+(?:,\d*)?\}\??/g) ?? [];
  if (!repetitions.length) return compiled;
  const linear = automaton(pattern, flags);
  const isQuick = repetitions.length === 1 && !/\)[*+?{]/.test(plain);
  if (linear) return isQuick ? { test: (text) => (text.length > LONGEST ? linear(text) : compiled.test(text)) } : { test: linear };
  if (isQuick) return { test: (text) => compiled.test(text.slice(0, LONGEST)) };
  throw new Error("the regular expression looks around or refers back, and repeats several parts, which can take forever");
}
