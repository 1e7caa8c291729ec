import { sortByKey } from "../../base/arrays";
import { type Csr, bucketBy } from "../../base/csr";
import type { Elements } from "../elements";

/**
 * The paths that the eye follows: from a box to the neighbour below with the longest way to a sink, if the longest way from a
 * source to that one leads through this box. The trunk of a model is such a path from top to bottom; it should be straight.
 */
export interface MainPaths {
  /** The element above or below on the same path, or -1. */
  readonly above: Int32Array;
  readonly below: Int32Array;
}

export function findMainPaths(elements: Elements, position: Int32Array, pin?: Uint8Array): MainPaths {
  const { count, linkUpper, linkLower } = elements;
  const { fromSource, toSink } = reaches(elements, pin);
  const above = new Int32Array(count).fill(-1);
  const below = new Int32Array(count).fill(-1);
  const upwards = new Fan(elements.above, linkUpper, fromSource, position);
  const downwards = new Fan(elements.below, linkLower, toSink, position);
  for (let u = 0; u < count; u++) {
    const l = downwards.farthest(u);
    if (l < 0) continue;
    const v = linkLower[l];
    const back = upwards.farthest(v);
    if (back < 0 || linkUpper[back] !== u) continue;
    above[v] = u;
    below[u] = v;
  }
  return { above, below };
}

/** A path longer than this is a trunk, which stays straight even if others are as long. */
const SHORT = 3;

const UNKNOWN = -2;

/** Picks how the path of an element continues. */
class Fan {
  private readonly equals: Int32Array;
  private readonly spare: Int32Array;
  private readonly place: Int32Array;
  /** Cached answers: an element is asked for once per link. */
  private readonly answers: Int32Array;

  constructor(
    private readonly links: Csr,
    private readonly end: Int32Array,
    private readonly reach: Int32Array,
    position: Int32Array,
  ) {
    this.equals = new Int32Array(end.length);
    this.spare = new Int32Array(end.length);
    this.place = end.map((v) => position[v]);
    this.answers = new Int32Array(links.start.length - 1).fill(UNKNOWN);
  }

  /** The link whose other end reaches farthest; the middle one of several equals; -1 for two short equals, which are drawn evenly. */
  farthest(v: number): number {
    if (this.answers[v] === UNKNOWN) this.answers[v] = this.find(v);
    return this.answers[v];
  }

  private find(v: number): number {
    const { links, end, reach, equals, place } = this;
    let count = 0;
    let most = -1;
    for (let k = links.start[v]; k < links.start[v + 1]; k++) {
      const l = links.value[k];
      if (reach[end[l]] > most) {
        most = reach[end[l]];
        count = 0;
      }
      if (reach[end[l]] === most) equals[count++] = l;
    }
    if (count < 2) return count === 0 ? -1 : equals[0];
    sortByKey(equals, 0, count, place, this.spare);
    const left = equals[(count - 1) >> 1];
    const right = equals[count >> 1];
    return end[left] === end[right] || most > SHORT ? left : -1;
  }
}

/** What enters through a boundary port comes from far, and what leaves through one goes far: farther than anything inside. */
const OUTSIDE = 1 << 20;

/** How many boxes (without parameters) are on the longest path from any source to each element, and from it to any sink. */
function reaches(
  { count, boxCount, rankCount, top, above, below, isLeaf, linkUpper, linkLower }: Elements,
  pin?: Uint8Array,
): { fromSource: Int32Array; toSink: Int32Array } {
  const order = bucketBy(top, rankCount).value;
  const fromSource = new Int32Array(count);
  const toSink = new Int32Array(count);
  for (let v = 0; pin && v < boxCount; v++) {
    if (pin[v] === 1) fromSource[v] = OUTSIDE;
    else if (pin[v] === 2) toSink[v] = OUTSIDE;
  }
  for (let i = 0; i < count; i++) {
    const v = order[i];
    for (let k = above.start[v]; k < above.start[v + 1]; k++) {
      fromSource[v] = Math.max(fromSource[v], fromSource[linkUpper[above.value[k]]]);
    }
    if (v < boxCount && !isLeaf[v]) fromSource[v]++;
    const w = order[count - 1 - i];
    for (let k = below.start[w]; k < below.start[w + 1]; k++) {
      toSink[w] = Math.max(toSink[w], toSink[linkLower[below.value[k]]]);
    }
    if (w < boxCount) toSink[w]++;
  }
  return { fromSource, toSink };
}
