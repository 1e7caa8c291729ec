import { type Buckets, bucketBy } from "./arrays";
import type { Elements } from "./elements";
import type { Separations } from "./separation";
import { improve, type Problem } from "./simplex";

/** Where a link is fastened to its two elements: offsets from their centres. */
export interface Fastenings {
  readonly upper: Float64Array;
  readonly lower: Float64Array;
}

/**
 * Moves elements, within their order, so that the links' sideways ways are least in total. Each link gets a helper that stays
 * left of both its ends and is drawn to them, which makes the sum of the two ways the distance between the ends.
 */
export function straighten(
  elements: Elements,
  separations: Separations,
  distance: Float64Array,
  fastenings: Fastenings,
  x: Float64Array,
  work: number,
): number {
  const { count, linkUpper, linkLower } = elements;
  const links = linkUpper.length;
  const arcs = separations.count + 2 * links;
  const problem: Problem = {
    count: count + links,
    tail: new Int32Array(arcs),
    head: new Int32Array(arcs),
    length: new Float64Array(arcs),
    weight: new Float64Array(arcs),
  };
  const { tail, head, length, weight } = problem;
  tail.set(separations.left);
  head.set(separations.right);
  length.set(distance);
  const places = new Float64Array(count + links);
  places.set(x);
  const wish = importance(elements);
  let a = separations.count;
  for (let l = 0; l < links; l++) {
    const helper = count + l;
    const u = linkUpper[l];
    const v = linkLower[l];
    places[helper] = Math.min(x[u] + fastenings.upper[l], x[v] + fastenings.lower[l]);
    tail[a] = helper;
    head[a] = u;
    length[a] = -fastenings.upper[l];
    weight[a++] = wish[l];
    tail[a] = helper;
    head[a] = v;
    length[a] = -fastenings.lower[l];
    weight[a++] = wish[l];
  }
  const left = improve(problem, places, work);
  x.set(places.subarray(0, count));
  return left;
}

/** How much a link wants to be upright. */
const STREAM = 8;
const PLAIN = 1;
const LEAF = 0.3;

/**
 * The stream that one follows with the eye, from each box to the one from which most is still to come, should be straight
 * before all else; lines to parameters matter least, or many of them on one side would bend it.
 */
function importance(elements: Elements): Float64Array {
  const { boxCount, linkUpper, linkLower, above, below } = elements;
  const { fromSource, toSink } = reaches(elements);
  const weight = new Float64Array(linkUpper.length).fill(PLAIN);
  for (let l = 0; l < weight.length; l++) {
    const u = linkUpper[l];
    const v = linkLower[l];
    if (u >= boxCount || v >= boxCount) continue;
    if (above.start[u + 1] === above.start[u] && below.start[u + 1] - below.start[u] === 1) weight[l] = LEAF;
    if (farthest(below, linkLower, u, toSink) === l && farthest(above, linkUpper, v, fromSource) === l) weight[l] = STREAM;
  }
  return weight;
}

/** The first of an element's links whose other end reaches farthest. */
function farthest(links: Buckets, end: Int32Array, v: number, reach: Int32Array): number {
  let best = -1;
  let most = -1;
  for (let k = links.start[v]; k < links.start[v + 1]; k++) {
    const l = links.items[k];
    if (reach[end[l]] > most) {
      most = reach[end[l]];
      best = l;
    }
  }
  return best;
}

/** How many boxes lie on the longest way from any source to each element, and from it to any sink. */
function reaches({ count, boxCount, rankCount, top, above, below, linkUpper, linkLower }: Elements): {
  fromSource: Int32Array;
  toSink: Int32Array;
} {
  const order = bucketBy(top, rankCount).items;
  const fromSource = new Int32Array(count);
  const toSink = new Int32Array(count);
  for (let i = 0; i < count; i++) {
    const v = order[i];
    for (let k = above.start[v]; k < above.start[v + 1]; k++) {
      fromSource[v] = Math.max(fromSource[v], fromSource[linkUpper[above.items[k]]]);
    }
    if (v < boxCount) fromSource[v]++;
    const w = order[count - 1 - i];
    for (let k = below.start[w]; k < below.start[w + 1]; k++) {
      toSink[w] = Math.max(toSink[w], toSink[linkLower[below.items[k]]]);
    }
    if (w < boxCount) toSink[w]++;
  }
  return { fromSource, toSink };
}
