/**
 * Regular expressions from files that strangers made, and from links to a page. JavaScript matches by trying, and a few characters such as `(a+)+b` make it try for
 * ever, in a page or in a picture. So a repetition inside a repetition is refused, and so are more repetitions than can be tried quickly.
 */

/** A text of `LONGEST` characters can be split among so many repetitions, from any place on, in some ten million ways. */
const MOST_REPETITIONS = 3;
const MOST_OPTIONS = 10;
const LONGEST = 128;

export interface Expression {
  test(text: string): boolean;
}

/** Throws an error with a message for the person. */
export function readExpression(pattern: string, flags = ""): Expression {
  const compiled = new RegExp(pattern, flags);
  const { repetitions, options } = count(pattern);
  if (repetitions < 2 && options < 2) return compiled;
  if (repetitions > MOST_REPETITIONS || options > MOST_OPTIONS)
    throw new Error(
      `the regular expression can take forever; at most ${MOST_REPETITIONS} parts may repeat, and ${MOST_OPTIONS} may be left out`,
    );
  return { test: (text) => compiled.test(text.slice(0, LONGEST)) };
}

/** Throws an error if a repeated part can itself match in several ways: such an expression, also of a person, may never end. */
export function refuseEndless(pattern: string): void {
  count(pattern);
}

interface Group {
  /** Parts that repeat: `a*`, `a+`, `a{2,}`. */
  repetitions: number;
  /** Parts that may be left out: `a?`. */
  options: number;
  /** Where its current alternative starts, and the first letters of those before it. */
  start: number;
  letters: string[];
}

/** Counts what makes an expression slow. Throws an error if a repeated part can itself match in several ways. */
function count(pattern: string): Group {
  const groups: Group[] = [{ repetitions: 0, options: 0, start: 0, letters: [] }];
  let at = 0;
  while (at < pattern.length) {
    const group = groups[groups.length - 1];
    const sign = pattern[at];
    let inner: Group | undefined;
    if (sign === "(") {
      const opening = /^\((\?(:|=|!|<=|<!|<[^>]*>))?/.exec(pattern.slice(at, at + 80))![0];
      at += opening.length;
      groups.push({ repetitions: 0, options: 0, start: at, letters: [] });
      continue;
    }
    if (sign === "|") {
      group.letters.push(first(pattern, group.start, at));
      group.start = ++at;
      continue;
    }
    if (sign === ")") {
      inner = groups.pop()!;
      inner.letters.push(first(pattern, inner.start, at));
      at++;
    } else if (sign === "[") at = classEnd(pattern, at);
    else at += sign === "\\" ? 2 : 1;
    const quantifier = /^(?:[*+?]|\{\d+(?:,\d*)?\})/.exec(pattern.slice(at, at + 24))?.[0];
    const outer = groups[groups.length - 1] ?? group;
    if (quantifier) {
      at += quantifier.length;
      if (pattern[at] === "?") at++;
      if (quantifier === "?") outer.options++;
      else if (inner && (inner.repetitions > 0 || inner.options > 0 || !areDistinct(inner.letters)))
        throw new Error("the regular expression repeats a part that can itself match in several ways, which can take forever");
      else if (!/^\{\d+\}$/.test(quantifier)) outer.repetitions++;
    }
    if (inner) {
      outer.repetitions += inner.repetitions;
      outer.options += inner.options;
    }
  }
  return groups[0];
}

/** The first letter of an alternative; empty if it does not begin with one. */
function first(pattern: string, start: number, end: number): string {
  const letter = pattern.slice(start, end).slice(0, 1).toLowerCase();
  return /\w/.test(letter) ? letter : "";
}

/** Whether at most one of several alternatives can match at any place. */
function areDistinct(letters: readonly string[]): boolean {
  return letters.length < 2 || (!letters.includes("") && new Set(letters).size === letters.length);
}

function classEnd(pattern: string, start: number): number {
  let at = start + 1;
  while (at < pattern.length && pattern[at] !== "]") at += pattern[at] === "\\" ? 2 : 1;
  return at + 1;
}
