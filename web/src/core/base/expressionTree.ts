/** The parts of a regular expression that JavaScript has accepted. */

export type Tree =
  | { readonly test: RegExp }
  | { readonly place: string }
  | { readonly sequence: readonly Tree[] }
  | { readonly either: readonly Tree[] }
  | { readonly part: Tree; readonly low: number; readonly high: number };

const MOST_CHARACTERS = 1000;

/** Undefined if it looks ahead or behind, refers to what it matched, or has flags other than `i` and `u`. */
export function parse(pattern: string, flags: string): Tree | undefined {
  if (pattern.length > MOST_CHARACTERS) throw new Error(`the regular expression is longer than ${MOST_CHARACTERS} characters`);
  if (/[^iu]/.test(flags)) return undefined;
  try {
    return new Parser(pattern, flags).either();
  } catch (error) {
    if (error instanceof NotRegular) return undefined;
    throw error;
  }
}

class NotRegular extends Error {}

class Parser {
  private at = 0;

  constructor(
    private readonly pattern: string,
    private readonly flags: string,
  ) {}

  either(): Tree {
    const either = [this.sequence()];
    while (this.pattern[this.at] === "|") {
      this.at++;
      either.push(this.sequence());
    }
    return either.length === 1 ? either[0] : { either };
  }

  private sequence(): Tree {
    const sequence: Tree[] = [];
    while (this.at < this.pattern.length && !"|)".includes(this.pattern[this.at])) {
      const part = this.atom();
      const quantifier = /^(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})\??/.exec(this.pattern.slice(this.at, this.at + 40));
      this.at += quantifier?.[0].length ?? 0;
      if (!quantifier) sequence.push(part);
      else {
        const [, sign, least, comma, most] = quantifier;
        const low = sign ? Number(sign === "+") : Number(least);
        const high = sign ? (sign === "?" ? 1 : Infinity) : comma ? Number(most || Infinity) : low;
        sequence.push({ part, low, high });
      }
    }
    return { sequence };
  }

  private atom(): Tree {
    const rest = this.pattern.slice(this.at, this.at + 80);
    if (rest.startsWith("(")) {
      const opening = /^\((?:\?:|\?<(?![=!])[^>]*>|(?!\?))/.exec(rest);
      if (!opening) throw new NotRegular();
      this.at += opening[0].length;
      const inner = this.either();
      this.at++;
      return inner;
    }
    if (/^\\(?:[1-9]|k<)/.test(rest)) throw new NotRegular();
    const start = this.at;
    if (rest.startsWith("[")) this.at = this.classEnd();
    else if (rest.startsWith("\\"))
      this.at += /^\\(?:u\{[^}]*\}|[pP]\{[^}]*\}|u[\da-fA-F]{4}|x[\da-fA-F]{2}|c[A-Za-z]|.)/su.exec(rest)?.[0].length ?? 1;
    else this.at += this.flags.includes("u") ? String.fromCodePoint(rest.codePointAt(0)!).length : 1;
    const atom = this.pattern.slice(start, this.at);
    return /^(?:\^|\$|\\[bB])$/.test(atom) ? { place: atom } : { test: new RegExp(`^(?:${atom})$`, this.flags) };
  }

  private classEnd(): number {
    let at = this.at + 1;
    while (at < this.pattern.length && this.pattern[at] !== "]") at += this.pattern[at] === "\\" ? 2 : 1;
    return at + 1;
  }
}
