import { lastAtMost } from "../base/arrays";

/** Texts by number, as one text and where each begins: transferring a million characters costs one copy, not 100,000 objects. */
export interface PackedTexts {
  readonly text: string;
  readonly start: Int32Array;
  /** Which text each index has; undefined: they are in order. */
  readonly number?: Int32Array;
}

/** Texts are joined as soon as there are so many, so that a million of them do not have to be in memory at once. */
const CHUNK = 4096;

export function packTexts(count: number, text: (index: number) => string): PackedTexts {
  const start = new Int32Array(count + 1);
  const joined: string[] = [];
  let chunk: string[] = [];
  for (let i = 0, at = 0; i < count; i++) {
    const each = text(i);
    chunk.push(each);
    at += each.length;
    start[i + 1] = at;
    if (chunk.length < CHUNK) continue;
    joined.push(chunk.join(""));
    chunk = [];
  }
  joined.push(chunk.join(""));
  return { text: joined.join(""), start };
}

/** Texts of which few are different, such as the titles of operations: each is there once. */
export function packDistinct(count: number, text: (index: number) => string): PackedTexts {
  const numbers = new Map<string, number>();
  const number = new Int32Array(count);
  const distinct: string[] = [];
  for (let i = 0; i < count; i++) {
    const each = text(i);
    let at = numbers.get(each);
    if (at === undefined) {
      at = distinct.push(each) - 1;
      numbers.set(each, at);
    }
    number[i] = at;
  }
  return { ...packTexts(distinct.length, (i) => distinct[i]), number };
}

export function textAt({ text, start, number }: PackedTexts, index: number): string {
  const at = number ? number[index] : index;
  return text.slice(start[at], start[at + 1]);
}

/** The first index with this text, among texts in order, or -1. */
export function findText({ text, start }: PackedTexts, wanted: string): number {
  if (wanted === "") return -1;
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + 1)) {
    const index = lastAtMost(start.length - 1, (i) => start[i], at);
    if (start[index] === at && start[index + 1] === at + wanted.length) return index;
  }
  return -1;
}

export const textCount = ({ start, number }: PackedTexts): number => (number ? number.length : start.length - 1);
