/**
 * Regular expressions in time proportional to the text. JavaScript matches by trying: `.*a.*a.*a.*b` takes the fourth power of a text's length, and `(a+)+b` for ever.
 * Here all ways are followed at once, as sets of states (Thompson's construction), and what follows a set is computed once (a lazy automaton).
 * What one character matches is asked of JavaScript's own expressions, so classes, escapes and flags mean what they mean there.
 */
import { parse, type Tree } from "./expressionTree";

const MOST_STATES = 500;
const MOST_SETS = 2000;

/** A state goes over a character that its test accepts, past a place in the text, or to several states. The last one accepts. */
interface State {
  readonly test?: RegExp;
  readonly place?: string;
  readonly next: number[];
}

/** The states after a character, before those that need no character are followed; `before` is that character, if it belongs to a word. */
interface Reached {
  readonly states: readonly number[];
  readonly before: Before;
  readonly next: Map<string, Reached | true>;
}

type Before = "start" | "word" | "other";

/** Undefined if states are not enough: it looks ahead or behind, or refers to what it matched. Throws an error if it has too many. */
export function automaton(pattern: string, flags: string): ((text: string) => boolean) | undefined {
  const tree = parse(pattern, flags);
  if (!tree) return undefined;
  const states: State[] = [];
  const [first, ends] = build(tree, states);
  connect(states, ends, states.length);
  return new Automaton(states, first, flags).test;
}

function connect(states: readonly State[], ends: readonly number[], to: number): void {
  for (const end of ends) states[end].next.push(to);
}

/** The first state of a part, and those which lead out of it. */
function build(tree: Tree, states: State[]): [first: number, ends: number[]] {
  const add = (state: State): number => {
    if (states.length >= MOST_STATES) throw new Error("the regular expression is too long, or repeats a part too often");
    return states.push(state) - 1;
  };
  if ("test" in tree || "place" in tree) {
    const only = add({ ...tree, next: [] });
    return [only, [only]];
  }
  const first = add({ next: [] });
  let ends = [first];
  const append = (part: Tree, optional: boolean): void => {
    const [start, after] = build(part, states);
    connect(states, ends, start);
    ends = optional ? [...ends, ...after] : after;
  };
  if ("either" in tree) {
    const parts = tree.either.map((part) => build(part, states));
    for (const [start] of parts) states[first].next.push(start);
    return [first, parts.flatMap(([, after]) => after)];
  }
  if ("sequence" in tree) {
    for (const part of tree.sequence) append(part, false);
    return [first, ends];
  }
  for (let i = 0; i < tree.low; i++) append(tree.part, false);
  if (tree.high < Infinity) for (let i = tree.low; i < tree.high; i++) append(tree.part, true);
  else {
    const loop = add({ next: [] });
    connect(states, ends, loop);
    const [start, after] = build(tree.part, states);
    states[loop].next.push(start);
    connect(states, after, loop);
    ends = [loop];
  }
  return [first, ends];
}

class Automaton {
  private sets = new Map<string, Reached>();
  private readonly word: RegExp;
  private readonly isUnicode: boolean;

  constructor(
    private readonly states: readonly State[],
    private readonly first: number,
    flags: string,
  ) {
    this.word = new RegExp("^\\w$", flags);
    this.isUnicode = flags.includes("u");
  }

  readonly test = (text: string): boolean => {
    let reached: Reached | true = this.set(new Set([this.first]), "start");
    let at = 0;
    while (at <= text.length) {
      const character = this.isUnicode && at < text.length ? String.fromCodePoint(text.codePointAt(at)!) : text.charAt(at);
      const known: Reached | true | undefined = reached.next.get(character);
      reached = known ?? this.step(reached, character);
      if (reached === true) return true;
      at += character.length || 1;
    }
    return false;
  };

  /** What follows over a character, or over the end of the text, which is empty. True if the expression has matched before it. */
  private step(reached: Reached, character: string): Reached | true {
    const isWord = this.word.test(character);
    const follow = [...reached.states];
    const seen = new Set(follow);
    const after = new Set<number>();
    while (follow.length) {
      const at = follow.pop()!;
      if (at === this.states.length) {
        reached.next.set(character, true);
        return true;
      }
      const { test, place, next } = this.states[at];
      if (test) {
        if (character && test.test(character)) for (const each of next) after.add(each);
      } else if (place === undefined || holds(place, reached.before, character, isWord))
        for (const each of next)
          if (!seen.has(each)) {
            seen.add(each);
            follow.push(each);
          }
    }
    after.add(this.first);
    const result = this.set(after, isWord ? "word" : "other");
    reached.next.set(character, result);
    return result;
  }

  private set(states: ReadonlySet<number>, before: Before): Reached {
    const sorted = [...states].sort((a, b) => a - b);
    const key = `${before} ${sorted.join()}`;
    let set = this.sets.get(key);
    if (!set) {
      if (this.sets.size >= MOST_SETS) this.sets = new Map();
      set = { states: sorted, before, next: new Map() };
      this.sets.set(key, set);
    }
    return set;
  }
}

function holds(place: string, before: Before, after: string, isWord: boolean): boolean {
  if (place === "^") return before === "start";
  if (place === "$") return after === "";
  return ((before === "word") !== isWord) === (place === "\\b");
}
