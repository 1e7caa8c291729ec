import { type Buckets, bucketBy } from "./arrays";
import type { Elements } from "./elements";

/**
 * The streams that one follows with the eye: from a box to the one below from which most is still to come, where that one in
 * turn has most behind it here. The trunk of a model is one such stream from top to bottom; it should be straight.
 */
export interface Streams {
  /** The element above or below in the same stream, or -1. */
  readonly above: Int32Array;
  readonly below: Int32Array;
}

export function findStreams(elements: Elements): Streams {
  const { count, linkUpper, linkLower } = elements;
  const { fromSource, toSink } = reaches(elements);
  const above = new Int32Array(count).fill(-1);
  const below = new Int32Array(count).fill(-1);
  for (let u = 0; u < count; u++) {
    const l = farthest(elements.below, linkLower, u, toSink);
    if (l < 0) continue;
    const v = linkLower[l];
    if (farthest(elements.above, linkUpper, v, fromSource) !== l) continue;
    above[v] = u;
    below[u] = v;
  }
  return { above, below };
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

/** How many boxes (parameters apart) lie on the longest way from any source to each element, and from it to any sink. */
function reaches({ count, boxCount, rankCount, top, above, below, isLeaf, linkUpper, linkLower }: Elements): {
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
    if (v < boxCount && !isLeaf[v]) fromSource[v]++;
    const w = order[count - 1 - i];
    for (let k = below.start[w]; k < below.start[w + 1]; k++) {
      toSink[w] = Math.max(toSink[w], toSink[linkLower[below.items[k]]]);
    }
    if (w < boxCount) toSink[w]++;
  }
  return { fromSource, toSink };
}
