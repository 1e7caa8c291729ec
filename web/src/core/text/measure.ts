/**
 * Widths of text from the bundled font's advance table: no canvas, no DOM, and identical in the browser, in V8 inside
 * Python, in resvg and in PDF (all of them draw without kerning and ligatures).
 */
import { BOLD, FONT_FAMILY, REGULAR, SPANS, UNITS_PER_EM } from "./advances";

/** The font family that painters write. The fallbacks are for programs that ignore embedded fonts. */
export const FONT_STACK = `"${FONT_FAMILY}", Inter, "Helvetica Neue", Arial, sans-serif`;
export const BOLD_WEIGHT = 600;

/** A character that is not in the font comes from another one: one em is wide enough for all of them. */
const UNKNOWN = UNITS_PER_EM;
const DENSE = 0x2600;

function dense(advances: readonly number[]): Uint16Array {
  const table = new Uint16Array(DENSE).fill(UNKNOWN);
  let at = 0;
  for (let span = 0; span < SPANS.length; span += 2) {
    for (let code = SPANS[span]; code <= SPANS[span + 1]; code++, at++) {
      if (code < DENSE) table[code] = advances[at];
    }
  }
  return table;
}

const regular = dense(REGULAR);
const bold = dense(BOLD);

/** Does the bundled font have this character? */
export function covered(code: number): boolean {
  let low = 0;
  let high = SPANS.length / 2 - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    if (code < SPANS[2 * middle]) high = middle - 1;
    else if (code > SPANS[2 * middle + 1]) low = middle + 1;
    else return true;
  }
  return false;
}

/** Width in pixels. A surrogate pair counts as one character: its second half has no width. */
export function textWidth(text: string, size: number, isBold = false): number {
  const table = isBold ? bold : regular;
  let units = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < DENSE) units += table[code];
    else if (code < 0xdc00 || code > 0xdfff) units += UNKNOWN;
  }
  return (units * size) / UNITS_PER_EM;
}

/** A shorter rest of a name says nothing. */
const SHORTEST = 40;

/**
 * The text, or as much of its beginning and end as fits with "…" between. Names differ at their ends ("layer_0/…/add.12"),
 * so both ends stay, the beginning a little longer.
 */
export function elideMiddle(text: string, most: number, size: number, isBold = false): string {
  if (textWidth(text, size, isBold) <= most) return text;
  const table = isBold ? bold : regular;
  const scale = size / UNITS_PER_EM;
  const room = most / scale - table[0x2026];
  const width = (i: number) => {
    const code = text.charCodeAt(i);
    return code < DENSE ? table[code] : code >= 0xdc00 && code <= 0xdfff ? 0 : UNKNOWN;
  };
  let head = 0;
  let used = 0;
  while (head < text.length && used + width(head) <= room * 0.58) used += width(head++);
  let tail = text.length;
  while (tail > head && used + width(tail - 1) <= room) used += width(--tail);
  if (isLowSurrogate(text, head)) head--;
  if (isLowSurrogate(text, tail)) tail++;
  return `${text.slice(0, head).trimEnd()}…${text.slice(tail).trimStart()}`;
}

/** A tuple "(s32[], f32[2, 3], …)" with as many of its first members as fit and the number of the others; other types are elided in the middle. */
export function elideType(text: string, most: number, size: number): string {
  if (!text.startsWith("(") || textWidth(text, size) <= most) return elideMiddle(text, most, size);
  const members = membersOf(text.slice(1, -1));
  for (let shown = members.length - 1; shown > 0; shown--) {
    const shorter = `(${members.slice(0, shown).join(", ")}, +${members.length - shown})`;
    if (textWidth(shorter, size) <= most) return shorter;
  }
  return elideMiddle(text, most, size);
}

/** "op · type": the type stays whole if it fits, and the name before it is elided. */
export function elideOperation(text: string, most: number, size: number): string {
  const cut = text.lastIndexOf(" · ");
  const room = cut < 0 ? 0 : most - textWidth(text.slice(cut), size);
  return room < SHORTEST ? elideType(text, most, size) : `${elideMiddle(text.slice(0, cut), room, size)}${text.slice(cut)}`;
}

/** Splits at commas outside brackets. */
function membersOf(text: string): string[] {
  const members: string[] = [];
  let [depth, from] = [0, 0];
  for (let i = 0; i < text.length; i++) {
    if ("([{".includes(text[i])) depth++;
    else if (")]}".includes(text[i])) depth--;
    else if (text[i] === "," && depth === 0) {
      members.push(text.slice(from, i));
      from = i + 1;
    }
  }
  return [...members, text.slice(from)].map((member) => member.trim());
}

/** "class · ops · parameters" with as many of its parts as fit; a single part is elided in the middle. */
export function elideParts(text: string, most: number, size: number): string {
  let shown = text;
  while (textWidth(shown, size) > most) {
    const cut = shown.lastIndexOf(" · ");
    if (cut < 0) return elideType(shown, most, size);
    shown = shown.slice(0, cut);
  }
  return shown;
}

/** "f32[8, 128] +1 → f32[8, 512]": what is too wide has the element type once if both are of it, then each side is elided in the middle. */
export function elideFlow(text: string, most: number, size: number): string {
  if (textWidth(text, size) <= most) return text;
  const [before, after] = text.split(" → ");
  const element = /^\w+(?=\[)/.exec(before)?.[0];
  const rest = element && after.startsWith(`${element}[`) ? after.slice(element.length) : after;
  const arrow = textWidth(" → ", size);
  const [left, right] = [textWidth(before, size), textWidth(rest, size)];
  const half = (most - arrow) / 2;
  const room = Math.max(half, most - arrow - Math.min(left, right));
  return `${elideMiddle(before, right <= half ? room : half, size)} → ${elideMiddle(rest, left <= half ? room : half, size)}`;
}

function isLowSurrogate(text: string, at: number): boolean {
  const code = at < text.length ? text.charCodeAt(at) : 0;
  return code >= 0xdc00 && code <= 0xdfff;
}
