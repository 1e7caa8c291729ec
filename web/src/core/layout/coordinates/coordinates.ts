import { Aligner } from "./alignment";
import { bucketBy } from "../../base/csr";
import { type Elements, placesOf } from "../elements";
import { findSeparations, type Separations } from "./separation";
import { findMainPaths } from "./mainPath";
import { squeeze } from "./squeeze";
import { type Attachments, straighten } from "./straighten";
import type { FlatGraph, Places } from "../types";

/** Bounds the straightening of huge graphs; some thousands of elements need far less. */
const STRAIGHTEN_WORK = 10_000_000;
/** The same after expanding or collapsing something, when someone waits: the larger the graph, the less. */
const RESUME_WORK = 2_000_000;
const FULL_WORK_ELEMENTS = 8000;
const LARGE_WORK = 1_500_000;

/** Room between neighbours of a rank. */
export interface Gaps {
  readonly betweenBoxes: number;
  readonly besideSegment: number;
  readonly betweenSegments: number;
}

/**
 * Gives every element its x. Four extreme layouts after Brandes and Köpf (aligned from above or below, packed to the left or
 * to the right) are combined, and each element takes the middle of its four places. Packing works on the graph of
 * blocks, so the two flaws that the authors' erratum corrects cannot arise.
 */
export function assignX(
  elements: Elements,
  position: Int32Array,
  { width, pin }: FlatGraph,
  gaps: Gaps,
  attachments: Attachments,
  resumed: boolean,
  hurried: boolean,
): Float64Array {
  const separations = findSeparations(elements, position);
  const distance = distances(elements, separations, width, gaps, pin);
  const mainPaths = findMainPaths(elements, position, pin);
  const aligner = new Aligner(elements, position, mainPaths);
  const layouts: Float64Array[] = [];
  const share = Math.min(1, FULL_WORK_ELEMENTS / elements.count);
  for (const fromAbove of hurried || (resumed && share < 1) ? [true] : [true, false]) {
    for (const fromLeft of [true, false]) {
      const blockOf = aligner.align(fromAbove, fromLeft);
      layouts.push(pack(elements.count, separations, distance, blockOf, fromLeft));
    }
  }
  const x = middleOf(layouts, width, elements);
  const work = resumed ? RESUME_WORK * share * share : share < 1 ? Math.min(LARGE_WORK, STRAIGHTEN_WORK * share) : STRAIGHTEN_WORK;
  straighten(elements, separations, distance, mainPaths, attachments, x, work);
  squeeze(elements, separations, distance, position, width, x);
  return x;
}

/**
 * Leaves everything in place, and separates what has become too close: once by moving everything to its right, once by moving
 * everything to its left. Both respect all distances, and so does the mean of the two.
 */
export function keepX(elements: Elements, position: Int32Array, { width, pin }: FlatGraph, gaps: Gaps, places: Places): Float64Array {
  const { count } = elements;
  const separations = findSeparations(elements, position);
  const distance = distances(elements, separations, width, gaps, pin);
  const { left, right } = separations;
  const byLeft = bucketBy(
    left.map((v) => position[v]),
    count,
  ).value;
  const x = placesOf(elements, places);
  const moved = x.slice();
  for (const i of byLeft) moved[right[i]] = Math.max(moved[right[i]], moved[left[i]] + distance[i]);
  const byRight = bucketBy(
    right.map((v) => position[v]),
    count,
  ).value;
  for (let k = byRight.length - 1; k >= 0; k--) {
    const i = byRight[k];
    x[left[i]] = Math.min(x[left[i]], x[right[i]] - distance[i]);
  }
  for (let v = 0; v < count; v++) x[v] = (x[v] + moved[v]) / 2;
  return x;
}

/** Least distance between the centres of neighbours. A boundary port is where a line passes a frame, so it needs no more than a line. */
export function distances(elements: Elements, separations: Separations, width: Float64Array, gaps: Gaps, pin?: Uint8Array): Float64Array {
  const { boxCount } = elements;
  const distance = new Float64Array(separations.count);
  for (let i = 0; i < separations.count; i++) {
    const a = separations.left[i];
    const b = separations.right[i];
    const half = ((a < boxCount ? width[a] : 0) + (b < boxCount ? width[b] : 0)) / 2;
    const boxes = (a < boxCount && !pin?.[a] ? 1 : 0) + (b < boxCount && !pin?.[b] ? 1 : 0);
    if (a >= boxCount && b >= boxCount && carrySame(elements, a, b)) continue;
    distance[i] = half + (boxes === 2 ? gaps.betweenBoxes : boxes === 1 ? gaps.besideSegment : gaps.betweenSegments);
  }
  return distance;
}

/** Long edges that leave a box at the same place carry one value: they may run as one line and split late. */
function carrySame({ above, linkUpper, tiltUpper }: Elements, a: number, b: number): boolean {
  if (above.start[a] === above.start[a + 1] || above.start[b] === above.start[b + 1]) return false;
  const first = above.value[above.start[a]];
  const second = above.value[above.start[b]];
  return linkUpper[first] === linkUpper[second] && tiltUpper[first] === tiltUpper[second];
}

/**
 * Packs blocks as far to one side as their neighbours allow, then lets each move back towards the other side up to its
 * nearest neighbour there, which closes needless gaps.
 */
function pack(count: number, separations: Separations, distance: Float64Array, blockOf: Int32Array, toLeft: boolean): Float64Array {
  const from = new Int32Array(separations.count);
  const to = new Int32Array(separations.count);
  for (let i = 0; i < separations.count; i++) {
    from[i] = blockOf[toLeft ? separations.left[i] : separations.right[i]];
    to[i] = blockOf[toLeft ? separations.right[i] : separations.left[i]];
  }
  const out = bucketBy(from, count);
  const waiting = new Int32Array(count);
  for (let i = 0; i < to.length; i++) waiting[to[i]]++;
  const order = new Int32Array(count);
  let done = 0;
  for (let v = 0; v < count; v++) if (blockOf[v] === v && waiting[v] === 0) order[done++] = v;
  const place = new Float64Array(count);
  for (let i = 0; i < done; i++) {
    const v = order[i];
    for (let k = out.start[v]; k < out.start[v + 1]; k++) {
      const c = out.value[k];
      const w = to[c];
      place[w] = Math.max(place[w], place[v] + distance[c]);
      if (--waiting[w] === 0) order[done++] = w;
    }
  }
  for (let i = done - 1; i >= 0; i--) {
    const v = order[i];
    let room = Number.POSITIVE_INFINITY;
    for (let k = out.start[v]; k < out.start[v + 1]; k++) {
      const c = out.value[k];
      room = Math.min(room, place[to[c]] - distance[c]);
    }
    if (room !== Number.POSITIVE_INFINITY) place[v] = room;
  }
  const x = new Float64Array(count);
  for (let v = 0; v < count; v++) x[v] = toLeft ? place[blockOf[v]] : -place[blockOf[v]];
  return x;
}

/** Shifts the layouts (two or four) onto the narrowest one, left- or right-bound, and takes the mean of each element's middle two. */
function middleOf(layouts: Float64Array[], width: Float64Array, elements: Elements): Float64Array {
  const { count, boxCount } = elements;
  const bounds = layouts.map((x) => {
    let low = Number.POSITIVE_INFINITY;
    let high = Number.NEGATIVE_INFINITY;
    for (let v = 0; v < count; v++) {
      const half = v < boxCount ? width[v] / 2 : 0;
      low = Math.min(low, x[v] - half);
      high = Math.max(high, x[v] + half);
    }
    return { low, high };
  });
  let narrowest = 0;
  for (let i = 1; i < bounds.length; i++) {
    if (bounds[i].high - bounds[i].low < bounds[narrowest].high - bounds[narrowest].low) narrowest = i;
  }
  const shift = bounds.map((b, i) => (i % 2 === 0 ? bounds[narrowest].low - b.low : bounds[narrowest].high - b.high));
  const result = new Float64Array(count);
  for (let v = 0; v < count; v++) {
    const a = layouts[0][v] + shift[0];
    const b = layouts[1][v] + shift[1];
    if (layouts.length === 2) {
      result[v] = (a + b) / 2;
      continue;
    }
    const c = layouts[2][v] + shift[2];
    const d = layouts[3][v] + shift[3];
    const least = Math.min(a, b, c, d);
    const most = Math.max(a, b, c, d);
    result[v] = (a + b + c + d - least - most) / 2;
  }
  return result;
}
