/** Small texts on edges: none is written over another, over the title of a group, or (words) over a box. */
import { once } from "../base/memoized";
import { Occupied, Places } from "../base/occupied";
import { textWidth } from "../text/measure";
import { boxTexts, TINY, titlePlate } from "./boxText";
import { type Scene, type SceneLabel, Shape } from "./types";

/** A shorter line would disappear under its label. */
const ROOM = 26;
/** Where on its segment a label may be, best first. */
const PLACES = [0.5, 0.66, 0.36, 0.8];
/** Words are sums that have to be complete: where all of these are taken, they may be anywhere on the line. */
const MORE_PLACES = [0.25, 0.88, 0.12, 0.58, 0.43, 0.73, 0.3, 0.94, 0.06];
const HEIGHT = 13;
/** After a bend a label is as near to it as possible, away from the boxes. */
const BEND = 8;
/** The space around the digits of a number; a count has its own margin. */
const AROUND = 2;

interface LabelOptions {
  /** The words that the view has for an edge. */
  readonly words: (e: number) => string | undefined;
  /** The operand that each edge of the view is, or -1; undefined: the order of operands does not matter anywhere. */
  readonly operand: Int32Array | undefined;
  /** Number the operands; undefined: only in small pictures. */
  readonly showOperands: boolean | undefined;
}

/** The labels of a scene in addition to the numbers of cut edges, which it has. */
export function edgeLabels(scene: Scene, { words, operand, showOperands }: LabelOptions): SceneLabel[] {
  // In a large picture nothing is labelled but cut edges, of which it has very many.
  const occupied = once(() => aroundNumbers(scene));
  const numbers = operand ? operandLabels(scene, operand, showOperands, occupied) : [];
  return [...countLabels(scene, words, occupied), ...numbers];
}

function aroundNumbers({ labels }: Scene): Occupied {
  const occupied = new Occupied();
  for (const { x, y, text } of labels) takeAround(occupied, x, y, textWidth(text, TINY) + AROUND, HEIGHT);
  return occupied;
}

/** "×3" on lines that represent several edges (or words), near the source and on its background. One that does not fit is only in the tooltip. */
function countLabels(scene: Scene, words: LabelOptions["words"], taken: () => Occupied): SceneLabel[] {
  const { curve, curveStart, edgeMerged, edgeSource } = scene;
  const isLine = (e: number) => curveStart[e + 1] - curveStart[e] >= 4 && edgeSource[e] >= 0;
  const labelled: number[] = [];
  const written = new Map<number, string>();
  for (let e = 0; e < scene.edgeCount; e++) {
    const text = isLine(e) ? words(e) : undefined;
    if (text) written.set(e, text);
    if (isLine(e) && (text || edgeMerged[e] > 1)) labelled.push(e);
  }
  if (labelled.length === 0) return [];
  const occupied = taken();
  occupyTitles(scene, occupied);
  if (written.size > 0) occupyBoxes(scene, occupied);
  const lines = linesOf(scene, [...written.keys()]);
  const labels: SceneLabel[] = [];
  for (const e of labelled) {
    const sentence = written.get(e);
    const text = sentence ?? `×${edgeMerged[e]}`;
    const wide = textWidth(text, TINY) + 8;
    const spots = sentence ? wordSpots(scene, e, wide, lines) : spotsOn(curve, curveStart[e], curveStart[e], wide, ROOM);
    const spot = spots.find(({ x, y }) => takeAround(occupied, x, y, wide, HEIGHT));
    if (spot) labels.push({ edge: e, ...spot, text, kind: "count", ground: groundAt(scene, e, spot) });
  }
  return labels;
}

interface Spot {
  readonly x: number;
  readonly y: number;
}

/** The innermost frame around one of the ends of an edge that a place on it lies in, or -1. */
function groundAt({ x, y, w, h, parent, depth, edgeSource, edgeTarget }: Scene, e: number, at: Spot): number {
  const holds = (frame: number) => at.x >= x[frame] && at.x <= x[frame] + w[frame] && at.y >= y[frame] && at.y <= y[frame] + h[frame];
  let found = -1;
  for (const end of [edgeSource[e], edgeTarget[e]]) {
    let frame = end < 0 ? -1 : parent[end];
    while (frame >= 0 && !holds(frame)) frame = parent[frame];
    if (frame >= 0 && (found < 0 || depth[frame] > depth[found])) found = frame;
  }
  return found;
}

/** The straight parts of these edges, which own them. */
function linesOf({ curve, curveStart }: Scene, edges: readonly number[]): Places {
  const lines = new Places();
  for (const edge of edges) {
    for (let p = curveStart[edge]; p + 3 < curveStart[edge + 1]; p += 3) {
      const [x0, y0, x1, y1] = [curve[2 * p], curve[2 * p + 1], curve[2 * p + 6], curve[2 * p + 7]];
      lines.add(Math.min(x0, x1), Math.min(y0, y1), Math.abs(x1 - x0), Math.abs(y1 - y0), edge);
    }
  }
  return lines;
}

/** Where the words of an edge may be: where no other edge with words passes, the longest segment first; else on any. */
function wordSpots({ curve, curveStart }: Scene, e: number, wide: number, lines: Places): Spot[] {
  const segments: number[] = [];
  for (let p = curveStart[e]; p + 3 < curveStart[e + 1]; p += 3) segments.push(p);
  segments.sort((a, b) => chord(curve, b) - chord(curve, a));
  const on = (places: readonly number[]) =>
    segments.flatMap((p) => spotsOn(curve, p, curveStart[e], wide, isUpright(curve, p) ? ROOM : wide, places));
  const isAlone = ({ x, y }: Spot) => !lines.meets(x - wide / 2, y - HEIGHT / 2, wide, HEIGHT, e);
  const [spots, more] = [on(PLACES), on(MORE_PLACES)];
  return [...spots.filter(isAlone), ...more.filter(isAlone), ...spots, ...more];
}

/** Places on the segment that starts at point p, best first; none if it is shorter than `least`. */
function spotsOn(curve: Float64Array, p: number, start: number, wide: number, least: number, places = PLACES as readonly number[]): Spot[] {
  const length = chord(curve, p);
  if (length < least) return [];
  const afterBend = p > start ? [((isUpright(curve, p) ? HEIGHT : wide) / 2 + BEND) / length] : [];
  return [...afterBend, ...places].map((t) => ({ x: pointAt(curve, p, 0, t), y: pointAt(curve, p, 1, t) }));
}

function occupyTitles(scene: Scene, occupied: Occupied): void {
  for (let i = 0; i < scene.frameCount; i++) {
    const item = scene.order[i];
    const plate = titlePlate(scene, item, boxTexts(scene, item));
    if (plate) occupied.add(plate.x, plate.y, plate.w, plate.h);
  }
}

function occupyBoxes(scene: Scene, occupied: Occupied): void {
  for (let item = 0; item < scene.boxCount; item++) {
    if (scene.shape[item] === Shape.Frame) continue;
    occupied.add(scene.x[item], scene.y[item], scene.w[item], scene.h[item]);
  }
}

const DIGITS = 8;
/** Places next to an arrow head, best first: how far beside its line, and how far back. A straight line has room further back too. */
const SPOTS = [
  [6, 5],
  [-6, 5],
  [6, 6 + DIGITS],
  [-6, 6 + DIGITS],
] as const;
/** More numbers than this are clutter, unless they are asked for. */
const MOST_OPERANDS = 120;
/** Arrow heads closer than this have numbers that run into each other: at a loop, "1", "8" and "0" read as 180. */
const LEAST_APART = 14;

/**
 * The operand number of an edge, next to its head: on the side that its line does not come from or, if that is taken, on the other. Straight
 * lines have no better side, so they come last.
 */
function operandLabels(scene: Scene, operand: Int32Array, show: boolean | undefined, taken: () => Occupied): SceneLabel[] {
  if (show === false) return [];
  const { curve, curveStart, tip, edge } = scene;
  const numbered: number[] = [];
  for (let e = 0; e < scene.edgeCount; e++) if (operand[edge[e]] >= 0 && !Number.isNaN(tip[2 * e])) numbered.push(e);
  if (show === undefined && numbered.length > MOST_OPERANDS) return [];
  const legible = show ? numbered : withRoom(scene, numbered);
  if (legible.length === 0) return [];
  const occupied = taken();
  const heads = legible.map((e) => {
    const base = 2 * (curveStart[e + 1] - 1);
    const [x, y] = [curve[base], curve[base + 1]];
    const length = Math.hypot(tip[2 * e] - x, tip[2 * e + 1] - y) || 1;
    const [alongX, alongY] = [(tip[2 * e] - x) / length, (tip[2 * e + 1] - y) / length];
    const bend = Math.abs(alongY) * (curve[base - 6] - x) - Math.abs(alongX) * (curve[base - 5] - y);
    return { e, x, y, alongX, alongY, side: bend > BEND ? -1 : 1, isStraight: Math.abs(bend) <= BEND };
  });
  const labels: SceneLabel[] = [];
  for (const { e, x, y, alongX, alongY, side, isStraight } of [
    ...heads.filter((head) => !head.isStraight),
    ...heads.filter((head) => head.isStraight),
  ]) {
    const text = `${operand[edge[e]]}`;
    for (const [away, back] of SPOTS.slice(0, isStraight ? undefined : 2)) {
      const at = { x: x - alongX * back + Math.abs(alongY) * away * side, y: y - alongY * back - Math.abs(alongX) * away * side };
      if (!takeAround(occupied, at.x, at.y, textWidth(text, TINY) + (isStraight ? AROUND : 0), DIGITS)) continue;
      labels.push({ edge: e, ...at, text, kind: "operand" });
      break;
    }
  }
  return labels;
}

/** Those of the edges whose target has room for all of its numbers: a part of them would be read as the order of all. */
function withRoom({ edgeTarget, tip }: Scene, edges: readonly number[]): number[] {
  const ends = new Map<number, { count: number; least: number; most: number }>();
  for (const e of edges) {
    const [x, y] = [tip[2 * e], tip[2 * e + 1]];
    const end = ends.get(edgeTarget[e]) ?? { count: 0, least: x + y, most: x + y };
    ends.set(edgeTarget[e], { count: end.count + 1, least: Math.min(end.least, x + y), most: Math.max(end.most, x + y) });
  }
  return edges.filter((e) => {
    const { count, least, most } = ends.get(edgeTarget[e])!;
    return count < 3 || most - least >= LEAST_APART * (count - 1);
  });
}

function chord(curve: Float64Array, p: number): number {
  return Math.hypot(curve[2 * p + 6] - curve[2 * p], curve[2 * p + 7] - curve[2 * p + 1]);
}

function isUpright(curve: Float64Array, p: number): boolean {
  return Math.abs(curve[2 * p + 7] - curve[2 * p + 1]) > Math.abs(curve[2 * p + 6] - curve[2 * p]);
}

/** A coordinate of the cubic that starts at point p. */
function pointAt(curve: Float64Array, p: number, axis: 0 | 1, t: number): number {
  const at = (i: number) => curve[2 * (p + i) + axis];
  const s = 1 - t;
  return s * s * s * at(0) + 3 * s * s * t * at(1) + 3 * s * t * t * at(2) + t * t * t * at(3);
}

/** Takes the place whose middle is (x, y), if it is free. */
function takeAround(occupied: Occupied, x: number, y: number, w: number, h: number): boolean {
  return occupied.take(x - w / 2, y - h / 2, w, h);
}
