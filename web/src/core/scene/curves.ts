/**
 * Smooth curves through the layout's polylines. Along the flow (y downwards, or x for left-to-right pictures) a line is a function
 * of the other coordinate, so a monotone cubic through its points never swings out beyond them, and it leaves and enters every
 * box at a right angle.
 */

/** Length and half width of an arrow head. */
export const HEAD_LENGTH = 7;
export const HEAD_HALF = 3.2;

export interface Curves {
  readonly curve: Float64Array;
  readonly curveStart: Int32Array;
  readonly tip: Float64Array;
}

/** Cubics for every polyline. `across` says which way lines flow: true for left to right. */
export function smooth(points: Float64Array, pointStart: Int32Array, across: boolean, withHead: (edge: number) => boolean): Curves {
  const count = pointStart.length - 1;
  const curveStart = new Int32Array(count + 1);
  for (let e = 0; e < count; e++) {
    const n = pointStart[e + 1] - pointStart[e];
    curveStart[e + 1] = curveStart[e] + (n > 1 ? 3 * (n - 1) + 1 : 0);
  }
  const curve = new Float64Array(2 * curveStart[count]);
  const tip = new Float64Array(2 * count).fill(Number.NaN);
  const u = across ? 1 : 0;
  const v = 1 - u;
  for (let e = 0; e < count; e++) {
    const first = pointStart[e];
    const last = pointStart[e + 1] - 1;
    if (last <= first) continue;
    drawInto(curve, 2 * curveStart[e], points, first, last, u, v, withHead(e) ? tip : undefined, e);
  }
  return { curve, curveStart, tip };
}

/** u is the sideways coordinate and v the one along the flow. */
function drawInto(
  curve: Float64Array, at: number, points: Float64Array, first: number, last: number, u: number, v: number,
  tip: Float64Array | undefined, e: number,
): void {
  const endU = points[2 * last + u];
  let endV = points[2 * last + v];
  if (tip) {
    tip[2 * e + u] = endU;
    tip[2 * e + v] = endV;
    const run = endV - points[2 * (last - 1) + v];
    endV -= Math.sign(run || 1) * Math.min(HEAD_LENGTH, Math.abs(run) * 0.6 || HEAD_LENGTH);
  }
  curve[at + u] = points[2 * first + u];
  curve[at + v] = points[2 * first + v];
  let slope = 0;
  for (let p = first; p < last; p++, at += 6) {
    const u0 = points[2 * p + u];
    const v0 = points[2 * p + v];
    const u1 = points[2 * p + 2 + u];
    const v1 = p + 1 === last ? endV : points[2 * p + 2 + v];
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

/** Sideways per step along the flow at an inner point: the harmonic mean of both sides, 0 where they disagree. */
function slopeAt(points: Float64Array, p: number, u: number, v: number): number {
  const v0 = points[2 * p + v] - points[2 * p - 2 + v];
  const v1 = points[2 * p + 2 + v] - points[2 * p + v];
  if (v0 * v1 <= 0) return 0;
  const before = (points[2 * p + u] - points[2 * p - 2 + u]) / v0;
  const after = (points[2 * p + 2 + u] - points[2 * p + u]) / v1;
  return before * after <= 0 ? 0 : (2 * before * after) / (before + after);
}
