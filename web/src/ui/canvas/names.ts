/**
 * Names when zoomed out: a box then shows nothing but its name, and all boxes of one kind have one size of letters, so that size never
 * says anything that is not meant. A longer name is elided.
 */
import { type Scene, Shape, type TextRun } from "../../core/scene/types";
import { BOLD_WEIGHT, elideMiddle, FONT_STACK, textWidth } from "../../core/text/measure";

/** Below this scale, which is displayed as 75 %, small text cannot be read: boxes and frames show only their names. */
export const NAMES_ONLY = 0.745;
/** The largest letters of a name then, in pixels of the screen, and the smallest: rather than less, names are elided. */
export const LARGEST = 13;
const SMALLEST = 7;
const SMALLEST_FRAME = 8;
/** Height of a frame's title in the scene. */
const TITLE_LINE = 30;
/** Letters are at most this much of a box's height. */
const OF_HEIGHT = 0.7;
/** The part of the names that fit whole. */
const WHOLE = 0.9;
/** Boxes that are measured; of very many boxes a sample is enough. */
const MOST_MEASURED = 2000;
/** The space beside a name in its box, in units of the scene. */
export const NAME_MARGIN = 2;
const GAP = 0.4;

export const fontOf = (size: number, bold: boolean) => `${bold ? BOLD_WEIGHT : 400} ${size}px ${FONT_STACK}`;

/** A name on one line, as it is drawn: what fits of it, and "×12" behind it. */
export interface Name {
  readonly text: string;
  readonly times: string;
  readonly bold: boolean;
  readonly width: number;
  /** Where `times` begins, from the left. */
  readonly timesAt: number;
}

/** The size of letters at which nine in ten names fit into the boxes of a kind, in units of the scene. */
interface Fitting {
  readonly width: number;
  readonly height: number;
}

/** By kind of box. */
export interface NameSizes {
  readonly card: Fitting;
  readonly pill: Fitting;
}

export function nameSizes(scene: Scene, texts: (item: number) => readonly TextRun[]): NameSizes {
  const sizes = { card: { width: [] as number[], height: [] as number[] }, pill: { width: [] as number[], height: [] as number[] } };
  const step = Math.max(1, Math.floor(scene.boxCount / MOST_MEASURED));
  for (let item = 0; item < scene.boxCount; item += step) {
    if (scene.shape[item] === Shape.Frame) continue;
    const { name, times } = partsOf(texts(item));
    if (!name) continue;
    const perUnit = name.width / name.size + (times ? times.width / times.size + GAP : 0);
    const { width, height } = sizes[scene.shape[item] === Shape.Pill ? "pill" : "card"];
    width.push((scene.w[item] - 2 * NAME_MARGIN) / Math.max(perUnit, 0.01));
    height.push(OF_HEIGHT * scene.h[item]);
  }
  const most = (fitting: number[]) => fitting.sort((a, b) => a - b)[Math.floor(fitting.length * (1 - WHOLE))] ?? 0;
  const both = ({ width, height }: typeof sizes.card) => ({ width: most(width), height: most(height) });
  return { card: both(sizes.card), pill: both(sizes.pill) };
}

/** The size of a box's name at a scale, in units of the scene. */
export function nameSize(sizes: NameSizes, shape: Shape, scale: number): number {
  const { width, height } = shape === Shape.Pill ? sizes.pill : sizes.card;
  return Math.min(LARGEST / scale, height, Math.max(width, SMALLEST / scale));
}

/** The size of all frames' names at a scale, in pixels of the screen. */
export function frameNameSize(scale: number): number {
  return Math.min(LARGEST, Math.max(SMALLEST_FRAME, TITLE_LINE * scale - 3));
}

/** The size of a block's name on a map, in pixels of the screen; 0: there is no room for one. */
export function blockNameSize(height: number): number {
  return height < SMALLEST_FRAME * 1.3 ? 0 : Math.min(LARGEST, Math.max(SMALLEST_FRAME, height * 0.5));
}

/** The name of an item in letters of this size, in at most this width; undefined where it has none. */
export function nameIn(runs: readonly TextRun[], size: number, room: number): Name | undefined {
  const { name, times } = partsOf(runs);
  if (!name) return undefined;
  const after = times ? (times.width / times.size + GAP) * size : 0;
  const whole = (name.width * size) / name.size;
  const text = whole + after <= room ? name.text : elideMiddle(name.text, room - after, size, name.bold);
  const width = text === name.text ? whole : textWidth(text, size, name.bold);
  return { text, times: times?.text ?? "", bold: name.bold, width: width + after, timesAt: width + GAP * size };
}

/** A box's name and its count of repeats, among its texts. */
function partsOf(runs: readonly TextRun[]): { readonly name: TextRun | undefined; readonly times: TextRun | undefined } {
  return {
    name: runs.find((run) => run.bold && run.colour === "text") ?? runs.find((run) => run.colour === "text"),
    times: runs.find((run) => run.colour === "accent"),
  };
}
