/**
 * The text of a box and the size that it needs. One description serves both: `planBox` gives the size (once per box, before
 * the layout) and, with a list to fill, the lines of text at their places (when the box is painted).
 */
import type { Rect } from "../base/camera";
import { elideFlow, elideMiddle, elideOperation, elideParts, textWidth } from "../text/measure";
import { BoxKind, type LabelRow, type Visible } from "../program/types";
import { countText } from "../text/quantities";
import { type Scene, Shape, type TextRun } from "./types";

export const TITLE = 12;
export const SMALL = 10.5;
export const TINY = 9.5;
const PAD = 12;
const LINE_TITLE = 15;
const LINE_SMALL = 13.5;
const PILL_HEIGHT = 16;
const PILL_PAD = 6;
const PILL_GAP = 4;
const MIN_WIDTH = 60;
/** What goes on one line if it fits in this: a group's name and contents, inlined operands. */
const ONE_LINE = 216;
/** No card is wider than this inside its padding; longer text is elided in the middle. */
const MOST_TEXT = 264;
/** What remains of a name next to a long type. */
const LEAST_NAME = 120;
/** A value is there for its name: long ones stay whole. */
const MOST_VALUE_TEXT = 380;
/** The most that a frame requests for its title line; it uses the width of its content. */
const MOST_FRAME_TEXT = 300;
const MOST_PILL_ROWS = 2;
const LINE_LABEL = 12.5;
const LABEL_GAP = 10;
const MOST_LABEL_NAME = 160;
/** A value of 50 characters, torchviz's limit, fits. */
const MOST_LABEL_VALUE = 320;
const MOST_LABELS = 40;
/** How far the second and third card of a stack stick out, each. */
export const STACK_STEP = 3;
export const FRAME_TITLE_HEIGHT = 30;
const FRAME_PAD = 14;
const SUBTITLE_GAP = 6;
/** A shorter part of a text is useless. */
const LEAST_TEXT = 24;
/** A single word is shown whole or not at all. */
const WORD = 12;

export interface BoxContent {
  readonly shape: Shape;
  readonly title: string;
  readonly subtitle: string;
  readonly notes: readonly string[] | undefined;
  readonly rows?: readonly LabelRow[] | undefined;
  readonly expandable: boolean;
  /** Groups have name and contents on one line; operations have name and type on two. */
  readonly group: boolean;
  readonly repeat: number;
  /** A value drawn as a box. */
  readonly value?: boolean;
  /** How much larger than usual it is, text included; a frame is as large as its content. */
  readonly growth?: number | undefined;
  /** Frames: the available width, once it is known. */
  readonly room?: number;
}

export interface BoxSize {
  width: number;
  height: number;
}

/**
 * Groups, and stacks of groups, have their text on one line; an operation, even an expandable one or a stack, has name and type on
 * two.
 */
export const isGroup = (visible: Visible, box: number): boolean =>
  visible.kind[box] === BoxKind.Group || (visible.kind[box] === BoxKind.Stack && visible.node[box] < 0);

/** The texts of an item, at their places in the picture. */
export function boxTexts(scene: Scene, item: number): TextRun[] {
  const box = scene.box[item];
  const runs: TextRun[] = [];
  const size: BoxSize = { width: 0, height: 0 };
  const continued = item !== box;
  const shape = scene.shape[item];
  const corner = scene.corners?.[box] ?? "";
  const subtitle = continued ? "continued" : scene.subtitle[box];
  planBox(
    {
      shape,
      title: scene.title[box],
      subtitle: shape === Shape.Frame ? [corner, subtitle].filter(Boolean).join(" · ") : subtitle,
      notes: scene.notes[box],
      rows: scene.rows?.[box],
      growth: scene.growth?.[box],
      expandable: scene.expandable[box] === 1,
      group: scene.group[box] === 1,
      repeat: scene.repeat[box],
      value: scene.kind[box] === BoxKind.Value,
      room: scene.w[item],
    },
    size,
    runs,
  );
  // A box may be wider than its text needs, because many edges enter it.
  const left = scene.x[item] + (shape === Shape.Frame ? 0 : (scene.w[item] - size.width) / 2);
  const placed = runs.map((run) => ({ ...run, x: run.x + left, y: run.y + scene.y[item] }));
  if (corner && (shape === Shape.Card || shape === Shape.Stack)) placed.push(cornerText(scene, item, corner));
  return placed;
}

/** A pill on the lower right corner of a box, below its text: no arrow ends there, in either direction. */
function cornerText(scene: Scene, item: number, text: string): TextRun {
  const size = TINY * (scene.growth?.[scene.box[item]] ?? 1);
  const width = textWidth(text, size);
  const x = scene.x[item] + scene.w[item] - width - PILL_PAD / 2;
  const y = scene.y[item] + scene.h[item] + 0.75 * size;
  return { x, y, text, size, bold: false, colour: "text", anchor: "start", width, pill: true };
}

/** The background of a frame's title, which hides passing edges; undefined without a title. */
export function titlePlate(scene: Scene, item: number, runs: readonly TextRun[]): Rect | undefined {
  const last = runs.at(-1);
  return last && { x: runs[0].x - 3, y: scene.y[item] + 7, w: last.x + last.width - runs[0].x + 6, h: 17 };
}

/** The size of a leaf box; the minimum width of a frame and the height of its title line. Fills `runs`, relative to the top-left corner. */
export function planBox(content: BoxContent, size: BoxSize, runs?: TextRun[]): void {
  planUsual(content, size, runs);
  const { growth = 1, shape } = content;
  if (growth === 1 || shape === Shape.Frame) return;
  size.width = Math.ceil(size.width * growth);
  size.height = Math.ceil(size.height * growth);
  const grown = runs?.map((run) => ({
    ...run,
    x: run.x * growth,
    y: run.y * growth,
    size: run.size * growth,
    width: run.width * growth,
  }));
  if (grown) runs?.splice(0, runs.length, ...grown);
}

function planUsual(content: BoxContent, size: BoxSize, runs?: TextRun[]): void {
  switch (content.shape) {
    case Shape.Frame:
      planFrame(content, size, runs);
      return;
    case Shape.Pill:
      planPill(content, size, runs);
      return;
    case Shape.Stack:
      planCard(content, size, runs, 0, 2 * STACK_STEP);
      size.width += 2 * STACK_STEP;
      size.height += 2 * STACK_STEP;
      return;
    default:
      planCard(content, size, runs, 0, 0);
  }
}

/** Parts of one line, set side by side. */
interface Part {
  readonly text: string;
  readonly size: number;
  readonly bold: boolean;
  readonly colour: TextRun["colour"];
  readonly gap: number;
}

const chevron = (open: boolean): Part => ({ text: open ? "▾" : "▸", size: 13, bold: false, colour: "secondary", gap: 0 });
const times = (repeat: number): Part => ({ text: `×${countText(repeat)}`, size: TITLE, bold: true, colour: "accent", gap: 6 });

function lineWidth(parts: readonly Part[]): number {
  let width = 0;
  for (const part of parts) width += part.gap + textWidth(part.text, part.size, part.bold);
  return width;
}

/** Sets parts side by side from x; `whole` are the texts before they were elided. */
function setLine(runs: TextRun[], parts: readonly Part[], whole: readonly string[], x: number, baseline: number): void {
  for (let i = 0; i < parts.length; i++) {
    const { text, size, bold, colour, gap } = parts[i];
    const width = textWidth(text, size, bold);
    x += gap;
    runs.push({ x, y: baseline, text, size, bold, colour, anchor: "start", width, full: whole[i] === text ? undefined : whole[i] });
    x += width;
  }
}

function headParts(content: BoxContent): Part[] {
  const open = content.shape === Shape.Frame;
  const parts: Part[] = open || content.expandable ? [chevron(open)] : [];
  parts.push({ text: content.title, size: TITLE, bold: true, colour: "text", gap: parts.length ? 4 : 0 });
  if (content.repeat > 1) parts.push(times(content.repeat));
  return parts;
}

/** Shortens the parts at the given places, in this order, each to no less than its width there, until the line fits. */
function shorten(parts: Part[], most: number, flexible: readonly (readonly [at: number, least: number])[]): void {
  for (const [at, least] of flexible) {
    const over = lineWidth(parts) - most;
    if (over <= 0) return;
    const part = parts[at];
    const room = Math.max(textWidth(part.text, part.size, part.bold) - over, least);
    parts[at] = { ...part, text: elideMiddle(part.text, room, part.size, part.bold) };
  }
}

function planCard(content: BoxContent, size: BoxSize, runs: TextRun[] | undefined, left: number, top: number): void {
  const head = headParts(content);
  const titleAt = content.expandable ? 1 : 0;
  const [subtitle, flow = ""] = content.group ? content.subtitle.split("\n") : [content.subtitle];
  const oneLine = content.group && subtitle !== "";
  if (oneLine) head.push({ text: subtitle, size: SMALL, bold: false, colour: "secondary", gap: 6 });
  const sameLine = oneLine && lineWidth(head) <= ONE_LINE;
  if (oneLine && !sameLine) head.pop();
  const second = sameLine ? "" : subtitle;
  const whole = head.map((part) => part.text);
  shorten(head, content.value ? MOST_VALUE_TEXT : MOST_TEXT, [[titleAt, LEAST_TEXT]]);

  const shownSecond = second && (content.group ? elideParts : elideOperation)(second, MOST_TEXT, SMALL);
  const lines = [
    { text: shownSecond, whole: second },
    { text: elideFlow(flow, MOST_TEXT, SMALL), whole: flow },
  ].filter(({ text }) => text);
  let inner = Math.max(lineWidth(head), ...lines.map(({ text }) => textWidth(text, SMALL)));
  const rows = pillRows(content.notes);
  for (const row of rows) inner = Math.max(inner, row.width);
  const table = labelTable(content.rows);
  inner = Math.max(inner, table.width);

  const width = Math.max(MIN_WIDTH, Math.ceil(inner) + 2 * PAD);
  const tall = content.group && !lines.length ? 38 : 13 + LINE_TITLE;
  const foot = content.expandable && lines.length && !rows.length ? 4 : 0;
  const tableHeight = table.rows.length ? LABEL_GAP / 2 + table.rows.length * LINE_LABEL : 0;
  const height = foot + tall + lines.length * LINE_SMALL + rows.length * (PILL_HEIGHT + PILL_GAP) + tableHeight;
  size.width = width;
  size.height = Math.round(height);
  if (!runs) return;

  const middle = left + width / 2;
  let baseline = top + (content.group && !lines.length ? 23.5 : 18);
  setLine(runs, head, whole, middle - lineWidth(head) / 2, baseline);
  for (const { text, whole: full } of lines) {
    baseline += LINE_SMALL;
    runs.push({
      x: middle,
      y: baseline,
      text,
      size: SMALL,
      bold: false,
      colour: "secondary",
      anchor: "middle",
      width: textWidth(text, SMALL),
      full: text === full ? undefined : full,
    });
  }
  let y = baseline + 8;
  for (const row of rows) {
    let x = middle - row.width / 2;
    for (const pill of row.pills) {
      const wide = textWidth(pill.text, TINY);
      runs.push({
        x: x + PILL_PAD,
        y: y + 11.5,
        text: pill.text,
        size: TINY,
        bold: false,
        colour: "secondary",
        anchor: "start",
        width: wide,
        full: pill.full,
        pill: true,
      });
      x += wide + 2 * PILL_PAD + PILL_GAP;
    }
    y += PILL_HEIGHT + PILL_GAP;
  }
  setTable(runs, table, middle - inner / 2, middle + inner / 2, y + (rows.length ? 0 : LABEL_GAP / 2 - 4));
}

interface LabelTable {
  readonly width: number;
  readonly rows: readonly { readonly name: string; readonly value: string; readonly full?: string }[];
}

/** Names on the left, values on the right, as wide as the longest of each; rows beyond the limit are counted. */
function labelTable(labels: readonly LabelRow[] | undefined): LabelTable {
  if (!labels?.length) return { width: 0, rows: [] };
  const rows = labels.slice(0, MOST_LABELS).map(([name, whole]) => {
    const value = elideMiddle(whole, MOST_LABEL_VALUE, TINY);
    return { name: elideMiddle(name, MOST_LABEL_NAME, TINY), value, ...(value === whole ? {} : { full: whole }) };
  });
  if (labels.length > MOST_LABELS) rows.push({ name: `+${labels.length - MOST_LABELS}`, value: "" });
  const widest = (texts: readonly string[]) => Math.max(...texts.map((text) => textWidth(text, TINY)));
  return { width: widest(rows.map(({ name }) => name)) + LABEL_GAP + widest(rows.map(({ value }) => value)), rows };
}

function setTable(runs: TextRun[], { rows }: LabelTable, left: number, right: number, top: number): void {
  rows.forEach(({ name, value, full }, i) => {
    const y = top + (i + 1) * LINE_LABEL - 2;
    const run = { y, size: TINY, bold: false } as const;
    runs.push({ ...run, x: left, text: name, colour: "secondary", anchor: "start", width: textWidth(name, TINY) });
    if (value) runs.push({ ...run, x: right, text: value, colour: "text", anchor: "end", width: textWidth(value, TINY), full });
  });
}

interface PillRow {
  width: number;
  readonly pills: { text: string; full?: string }[];
}

/** Inlined operands as small pills in at most two rows; what does not fit is counted. */
function pillRows(notes: readonly string[] | undefined): PillRow[] {
  if (!notes?.length) return [];
  const rows: PillRow[] = [];
  const most = ONE_LINE;
  for (let i = 0; i < notes.length; i++) {
    const text = elideMiddle(notes[i], most - 2 * PILL_PAD, TINY);
    const width = textWidth(text, TINY) + 2 * PILL_PAD;
    let row = rows.at(-1);
    if (!row || row.width + PILL_GAP + width > most) {
      if (rows.length === MOST_PILL_ROWS) {
        const rest = notes.length - i;
        const more = { text: `+${rest}`, full: notes.slice(i).join(", ") };
        row!.pills.push(more);
        row!.width += PILL_GAP + textWidth(more.text, TINY) + 2 * PILL_PAD;
        return rows;
      }
      row = { width: -PILL_GAP, pills: [] };
      rows.push(row);
    }
    row.width += PILL_GAP + width;
    row.pills.push({ text, full: text === notes[i] ? undefined : notes[i] });
  }
  return rows;
}

/** Parameters, constants and stubs: one line, name and type. */
function planPill(content: BoxContent, size: BoxSize, runs?: TextRun[]): void {
  const parts: Part[] = [{ text: content.title, size: SMALL, bold: false, colour: "text", gap: 0 }];
  if (content.subtitle) parts.push({ text: content.subtitle, size: TINY, bold: false, colour: "secondary", gap: 6 });
  if (content.repeat > 1) parts.push(times(content.repeat));
  const whole = parts.map((part) => part.text);
  const [name, type] = [
    [0, LEAST_NAME],
    [1, LEAST_TEXT],
  ] as const;
  shorten(parts, content.value ? MOST_VALUE_TEXT : MOST_TEXT, content.subtitle ? [name, type] : [name]);
  const line = lineWidth(parts);
  size.width = Math.max(36, Math.ceil(line) + 20);
  size.height = 22;
  if (runs) setLine(runs, parts, whole, (size.width - line) / 2, 14.7);
}

/** The title line of an open group: ▾ name, class and counts. What does not fit is only in the tooltip. */
function planFrame(content: BoxContent, size: BoxSize, runs?: TextRun[]): void {
  const most = content.room === undefined ? MOST_FRAME_TEXT : content.room - 2 * FRAME_PAD;
  const parts = headParts(content);
  const whole = parts.map((part) => part.text);
  shorten(parts, most, [[1, LEAST_TEXT]]);
  const rest = most - lineWidth(parts) - SUBTITLE_GAP;
  const subtitle = rest > LEAST_TEXT ? elideParts(content.subtitle, rest, SMALL) : "";
  if (subtitle && (subtitle === content.subtitle || content.subtitle.length > WORD)) {
    parts.push({ text: subtitle, size: SMALL, bold: false, colour: "secondary", gap: SUBTITLE_GAP });
    whole.push(content.subtitle);
  }
  size.width = Math.ceil(lineWidth(parts)) + 2 * FRAME_PAD;
  size.height = FRAME_TITLE_HEIGHT;
  if (runs) setLine(runs, parts, whole, FRAME_PAD, 19.5);
}
