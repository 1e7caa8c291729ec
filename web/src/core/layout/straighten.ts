import type { Elements } from "./elements";
import type { Separations } from "./separation";
import { improve, type Problem } from "./simplex";
import type { Streams } from "./stream";

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
  streams: Streams,
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
  const wish = importance(elements, streams);
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

/** How much a link wants to be upright. Lines to parameters matter least: many of them on one side would bend the stream. */
const STREAM = 8;
const PLAIN = 1;
const LEAF = 0.3;

function importance({ boxCount, linkUpper, linkLower, above, below }: Elements, streams: Streams): Float64Array {
  const weight = new Float64Array(linkUpper.length).fill(PLAIN);
  for (let l = 0; l < weight.length; l++) {
    const u = linkUpper[l];
    const v = linkLower[l];
    if (streams.below[u] === v) weight[l] = STREAM;
    else if (u < boxCount && v < boxCount) {
      if (above.start[u + 1] === above.start[u] && below.start[u + 1] - below.start[u] === 1) weight[l] = LEAF;
    }
  }
  return weight;
}
