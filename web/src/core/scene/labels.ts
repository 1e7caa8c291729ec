/** Small texts on edges. */
import { textWidth } from "../text/measure";
import { TINY } from "./boxText";
import type { Curves } from "./curves";
import type { SceneLabel } from "./types";

/** A shorter line would disappear under its label. */
const ROOM = 26;
/** Where on its first segment a label may be, best first. */
const PLACES = [0.5, 0.66, 0.36, 0.8];
const HEIGHT = 13;
/** After a bend a label is as near to it as possible, away from the boxes. */
const BEND = 8;
const CELL = 64;
/** The space around the digits of a number in a wrapped picture; a count has its own margin. */
const AROUND = 2;

/**
 * "×3" on lines that represent several edges (or the text that the view has for them): near the source, on the same background, and
 * clear of the other labels and of those that are already placed. One that does not fit is only in the tooltip.
 */
export function countLabels(
  merged: Int32Array,
  source: Int32Array,
  parent: Int32Array,
  curve: Float64Array,
  curveStart: Int32Array,
  texts: (e: number) => string | undefined = () => undefined,
  placedLabels: readonly SceneLabel[] = [],
): SceneLabel[] {
  const labels: SceneLabel[] = [];
  const occupied = new Occupied();
  for (const { x, y, text } of placedLabels) occupied.claim(x, y, textWidth(text, TINY) + AROUND, HEIGHT);
  for (let e = 0; e < merged.length; e++) {
    const viewText = texts(e);
    if ((merged[e] < 2 && !viewText) || curveStart[e + 1] - curveStart[e] < 4 || source[e] < 0) continue;
    const text = viewText ?? `×${merged[e]}`;
    const wide = textWidth(text, TINY) + 8;
    const p = viewText ? longestSegment(curve, curveStart[e], curveStart[e + 1]) : curveStart[e];
    if (chord(curve, p) < (viewText ? wide : ROOM)) continue;
    const afterBend = p > curveStart[e] ? [(wide / 2 + BEND) / chord(curve, p)] : [];
    for (const t of [...afterBend, ...PLACES]) {
      const x = pointAt(curve, p, 0, t);
      const y = pointAt(curve, p, 1, t);
      if (!occupied.claim(x, y, wide, HEIGHT)) continue;
      labels.push({ edge: e, x, y, text, kind: "count", ground: parent[source[e]] });
      break;
    }
  }
  return labels;
}

/** The place next to the arrow head. */
const AWAY = 6.5;
const BACK = 5;
/** More numbers than this are clutter, unless they are asked for. */
const MOST_OPERANDS = 120;

/** The operand number of an edge, next to its head. `show` undefined: only in small pictures. */
export function operandLabels(operand: Int32Array, edge: Int32Array, curves: Curves, show: boolean | undefined): SceneLabel[] {
  if (show === false) return [];
  const labels: SceneLabel[] = [];
  const { curve, curveStart, tip } = curves;
  for (let e = 0; e < edge.length; e++) {
    if (operand[edge[e]] < 0 || Number.isNaN(tip[2 * e])) continue;
    if (show === undefined && labels.length === MOST_OPERANDS) return [];
    const base = 2 * (curveStart[e + 1] - 1);
    const alongX = tip[2 * e] - curve[base];
    const alongY = tip[2 * e + 1] - curve[base + 1];
    const length = Math.hypot(alongX, alongY) || 1;
    const x = curve[base] - (alongX * BACK - Math.abs(alongY) * AWAY) / length;
    const y = curve[base + 1] - (alongY * BACK + Math.abs(alongX) * AWAY) / length;
    labels.push({ edge: e, x, y, text: `${operand[edge[e]]}`, kind: "operand" });
  }
  return labels;
}

function chord(curve: Float64Array, p: number): number {
  return Math.hypot(curve[2 * p + 6] - curve[2 * p], curve[2 * p + 7] - curve[2 * p + 1]);
}

/** Where the longest segment of a line begins: words need more room than a number. */
function longestSegment(curve: Float64Array, from: number, to: number): number {
  let longest = from;
  for (let p = from; p + 3 < to; p += 3) if (chord(curve, p) > chord(curve, longest)) longest = p;
  return longest;
}

/** A coordinate of the cubic that starts at point p. */
function pointAt(curve: Float64Array, p: number, axis: 0 | 1, t: number): number {
  const at = (i: number) => curve[2 * (p + i) + axis];
  const s = 1 - t;
  return s * s * s * at(0) + 3 * s * s * t * at(1) + 3 * s * t * t * at(2) + t * t * t * at(3);
}

/** Occupied places, by cells of a coarse grid. */
class Occupied {
  private readonly cells = new Map<string, { x: number; y: number; w: number; h: number }[]>();

  /** Takes the place around (x, y), unless it is occupied. */
  claim(x: number, y: number, w: number, h: number): boolean {
    const place = { x, y, w, h };
    const [column, line] = [Math.floor(x / CELL), Math.floor(y / CELL)];
    for (let i = column - 1; i <= column + 1; i++) {
      for (let j = line - 1; j <= line + 1; j++) {
        for (const other of this.cells.get(`${i},${j}`) ?? []) {
          if (2 * Math.abs(other.x - x) < other.w + w && 2 * Math.abs(other.y - y) < other.h + h) return false;
        }
      }
    }
    const key = `${column},${line}`;
    const cell = this.cells.get(key);
    if (cell) cell.push(place);
    else this.cells.set(key, [place]);
    return true;
  }
}
