import { bucketBy } from "../../base/csr";
import type { Elements } from "../elements";
import type { Separations } from "./separation";

/** A drawing wider than this, most of a screen, is as narrow as its order allows: lines bend, but no staircase leads through nothing. */
export const WIDEST = 1200;

/** How far from the left and from the right border an element is if everything beside it is packed. */
interface Packings {
  readonly fromLeft: Float64Array;
  readonly fromRight: Float64Array;
  /** The least width of a drawing in this order. */
  readonly width: number;
}

export function packings(
  { count, boxCount }: Elements,
  { left, right }: Separations,
  distance: Float64Array,
  position: Int32Array,
  width: Float64Array,
): Packings {
  const fromLeft = new Float64Array(count);
  for (let v = 0; v < boxCount; v++) fromLeft[v] = width[v] / 2;
  const fromRight = fromLeft.slice();
  const rightwards = bucketBy(
    left.map((v) => position[v]),
    count,
  ).value;
  for (let k = 0; k < rightwards.length; k++) {
    const i = rightwards[k];
    fromLeft[right[i]] = Math.max(fromLeft[right[i]], fromLeft[left[i]] + distance[i]);
  }
  const leftwards = bucketBy(
    right.map((v) => position[v]),
    count,
  ).value.reverse();
  for (let k = 0; k < leftwards.length; k++) {
    const i = leftwards[k];
    fromRight[left[i]] = Math.max(fromRight[left[i]], fromRight[right[i]] + distance[i]);
  }
  let least = 0;
  for (let v = 0; v < count; v++) least = Math.max(least, fromLeft[v] + fromRight[v]);
  return { fromLeft, fromRight, width: least };
}

/**
 * Moves elements into a window that has room for all of them, if they are wider than a screen. Boxes that follow each other port by port
 * drift to one side, rank by rank, and a drawing of wide boxes becomes a staircase that is empty but for its steps.
 *
 * An element goes no further than the packing to the left and the one to the right would put it. Both respect all distances, so places
 * that are limited by them do, too.
 */
export function squeeze(
  elements: Elements,
  separations: Separations,
  distance: Float64Array,
  position: Int32Array,
  width: Float64Array,
  x: Float64Array,
): void {
  const { count, boxCount } = elements;
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let v = 0; v < count; v++) {
    const half = v < boxCount ? width[v] / 2 : 0;
    low = Math.min(low, x[v] - half);
    high = Math.max(high, x[v] + half);
  }
  if (high - low <= WIDEST) return;
  const { fromLeft, fromRight, width: least } = packings(elements, separations, distance, position, width);
  const window = Math.max(WIDEST, least);
  if (high - low <= window) return;
  const start = x.slice(0, boxCount).sort()[boxCount >> 1] - window / 2;
  for (let v = 0; v < count; v++) x[v] = Math.min(Math.max(x[v], start + fromLeft[v]), start + window - fromRight[v]);
}
