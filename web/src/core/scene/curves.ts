/**
 * Smooth curves through the layout's polylines. Along the flow (y downwards, or x for left-to-right pictures) a line is a function
 * of the other coordinate, so a monotone cubic through its points never overshoots them, and it leaves and enters every
 * box at a right angle.
 */

/** Length and half width of an arrow head. */
export const HEAD_LENGTH = 7;
export const HEAD_HALF = 3.2;
const CORNER = 10;
/** How far towards the corner the control points of a quarter circle lie. */
const ROUND = 0.5522847498;

export interface Curves {
  readonly curve: Float64Array;
  readonly curveStart: Int32Array;
  readonly tip: Float64Array;
}

/** Cubics for every polyline. `across` says which way lines flow: true for left to right. */
export function smooth(points: Float64Array, pointStart: Int32Array, across: boolean, withHead: (edge: number) => boolean): Curves {
  const count = pointStart.length - 1;
  const u = across ? 1 : 0;
  const v = 1 - u;
  const turns = new Uint8Array(count);
  const curveStart = new Int32Array(count + 1);
  for (let e = 0; e < count; e++) {
    const segments = pointStart[e + 1] - pointStart[e] - 1;
    if (segments > 1) turns[e] = flowsOn(points, pointStart[e], pointStart[e + 1] - 1, v) ? 0 : 1;
    curveStart[e + 1] = curveStart[e] + (segments > 0 ? 3 * (turns[e] ? 2 * segments - 1 : segments) + 1 : 0);
  }
  const curve = new Float64Array(2 * curveStart[count]);
  const tip = new Float64Array(2 * count).fill(Number.NaN);
  for (let e = 0; e < count; e++) {
    const first = pointStart[e];
    const last = pointStart[e + 1] - 1;
    if (last <= first) continue;
    const end = [points[2 * last], points[2 * last + 1]];
    if (withHead(e)) {
      tip[2 * e] = end[0];
      tip[2 * e + 1] = end[1];
      const level = end[v] === points[2 * (last - 1) + v] && end[u] !== points[2 * (last - 1) + u];
      const along = level ? u : v;
      const run = end[along] - points[2 * (last - 1) + along];
      end[along] -= Math.sign(run || 1) * Math.min(HEAD_LENGTH, Math.abs(run) * 0.6 || HEAD_LENGTH);
    }
    const at = 2 * curveStart[e];
    if (turns[e]) roundCorners(curve, at, points, first, last, end);
    else followFlow(curve, at, points, first, last, end, u, v);
  }
  return { curve, curveStart, tip };
}

/** Do all segments go along the flow, or all against it (a backward half flows upwards)? Those of edges in cycles do neither. */
function flowsOn(points: Float64Array, first: number, last: number, v: number): boolean {
  const way = Math.sign(points[2 * last + v] - points[2 * first + v]);
  for (let p = first; p < last; p++) if ((points[2 * p + 2 + v] - points[2 * p + v]) * way <= 0) return false;
  return true;
}

/** u is the sideways coordinate and v the one along the flow. */
function followFlow(
  curve: Float64Array,
  at: number,
  points: Float64Array,
  first: number,
  last: number,
  end: readonly number[],
  u: number,
  v: number,
): void {
  curve[at + u] = points[2 * first + u];
  curve[at + v] = points[2 * first + v];
  let slope = 0;
  for (let p = first; p < last; p++, at += 6) {
    const u0 = points[2 * p + u];
    const v0 = points[2 * p + v];
    const u1 = p + 1 === last ? end[u] : points[2 * p + 2 + u];
    const v1 = p + 1 === last ? end[v] : points[2 * p + 2 + v];
    const next = p + 1 === last ? 0 : slopeAt(points, p + 1, u, v);
    const reach = v1 - v0;
    const out = slope === 0 ? 0.5 : 1 / 3;
    const into = next === 0 ? 0.5 : 1 / 3;
    curve[at + 2 + u] = u0 + slope * reach * out;
    curve[at + 2 + v] = v0 + reach * out;
    curve[at + 4 + u] = u1 - next * reach * into;
    curve[at + 4 + v] = v1 - reach * into;
    curve[at + 6 + u] = u1;
    curve[at + 6 + v] = v1;
    slope = next;
  }
}

/** The slope at an inner point: the harmonic mean of both sides, 0 where they disagree. */
function slopeAt(points: Float64Array, p: number, u: number, v: number): number {
  const v0 = points[2 * p + v] - points[2 * p - 2 + v];
  const v1 = points[2 * p + 2 + v] - points[2 * p + v];
  const before = (points[2 * p + u] - points[2 * p - 2 + u]) / v0;
  const after = (points[2 * p + 2 + u] - points[2 * p + u]) / v1;
  return before * after <= 0 ? 0 : (2 * before * after) / (before + after);
}

/** Straight segments with rounded corners, for edges that close a cycle. */
function roundCorners(curve: Float64Array, at: number, points: Float64Array, first: number, last: number, end: readonly number[]): void {
  const place = (p: number): readonly number[] => (p === last ? end : [points[2 * p], points[2 * p + 1]]);
  let [x, y] = place(first);
  curve[at] = x;
  curve[at + 1] = y;
  for (let p = first + 1; p <= last; p++) {
    const [cornerX, cornerY] = place(p);
    const length = Math.hypot(cornerX - x, cornerY - y) || 1;
    let back = 0;
    let [nextX, nextY, radius] = [cornerX, cornerY, 0];
    if (p < last) {
      const [toX, toY] = place(p + 1);
      const onward = Math.hypot(toX - cornerX, toY - cornerY) || 1;
      radius = Math.min(CORNER, length / 2, onward / 2);
      back = radius / length;
      nextX = cornerX + ((toX - cornerX) * radius) / onward;
      nextY = cornerY + ((toY - cornerY) * radius) / onward;
    }
    const stopX = cornerX - (cornerX - x) * back;
    const stopY = cornerY - (cornerY - y) * back;
    curve.set([x + (stopX - x) / 3, y + (stopY - y) / 3, stopX - (stopX - x) / 3, stopY - (stopY - y) / 3, stopX, stopY], at + 2);
    at += 6;
    if (p < last) {
      curve.set(
        [
          stopX + (cornerX - stopX) * ROUND,
          stopY + (cornerY - stopY) * ROUND,
          nextX + (cornerX - nextX) * ROUND,
          nextY + (cornerY - nextY) * ROUND,
          nextX,
          nextY,
        ],
        at + 2,
      );
      at += 6;
    }
    x = nextX;
    y = nextY;
  }
}

/** Straight lines from corner to corner as a curve: the control points of each part are its ends. */
export function straightLines(corners: readonly (readonly [number, number])[]): Float64Array {
  return Float64Array.from(corners.flatMap(([x, y], i) => (i === 0 ? [x, y] : [...corners[i - 1], x, y, x, y])));
}
