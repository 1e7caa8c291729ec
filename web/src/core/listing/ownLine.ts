/** A line of the text that a program was read from (HLO, MLIR, FX code, a jaxpr), in coloured parts. */
import type { Word, WordKind } from "./nodeLine";

/** What is defined comes first: `ROOT %dot.3 = …`, `x: "f32[2]" = …`. */
const DEFINED = /^((?:[A-Z]+ )?)([%\w.$-]+(?:, [%\w.$-]+)*)(?=(?::\d+)?\s*(?::[^=]*)?=\s)/;
/** Texts in quotes, attributes, types, and what is called. */
const PART =
  /"(?:[^"\\]|\\.)*"|([A-Za-z_][\w.]*)(?==(?!=))|((?:[a-z]+\d+\w*|pred|bool|token|tensor|memref)(?:\[[^\]]*\](?:\{[^}]*\})?|<[^>]*>))|([A-Za-z_][\w.:-]*(?=\()|(?<== )[a-z_][\w.]*(?=[ [])|^[a-z_]\w*(?=\[))/g;
const SOURCE = /\bmetadata=\{(?:"(?:[^"\\]|\\.)*"|[^"}])*\}/g;

export function ownWords(line: string): Word[] {
  const words: Word[] = [];
  const add = (kind: WordKind, text: string) => {
    if (text) words.push({ kind, text });
  };
  const [defined = "", keyword = "", name = ""] = DEFINED.exec(line) ?? [];
  add("other", keyword);
  add("name", name);
  const rest = line.slice(defined.length);
  let end = 0,
    isCalled = false;
  for (const match of rest.matchAll(PART)) {
    const [text, attribute, type, called] = match;
    add("other", rest.slice(end, match.index));
    add(attribute ? "attribute" : type ? "type" : called && !isCalled ? "op" : "other", text);
    isCalled ||= called !== undefined;
    end = match.index + text.length;
  }
  add("other", rest.slice(end));
  return words;
}

/** Where an operation comes from says nothing about what it does, and fills the line. */
export function withoutSource(line: string): string {
  return line.replace(SOURCE, "metadata={…}");
}
