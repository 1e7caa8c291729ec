import { type Csr, bucketBy } from "../base/csr";
import type { FlatGraph, Places } from "./types";

/**
 * What is on the ranks: the boxes, and one segment for every edge that passes ranks. A segment is a single vertical line
 * alive on a range of ranks, where other layouts use a chain of dummy boxes; a training graph of 100,000 operations would
 * need 800 million of those.
 *
 * An order of the whole drawing is one permutation of all elements: the order within a rank is that of the elements alive
 * there. This loses nothing, because "left of" among vertical lines has no cycles.
 */
export interface Elements {
  readonly count: number;
  /** Elements below this number are boxes, the others segments. */
  readonly boxCount: number;
  readonly rankCount: number;
  /** First and last rank on which an element is alive. */
  readonly top: Int32Array;
  readonly bottom: Int32Array;
  /** Links join an element that ends on a rank with one that starts on the next; every edge is one link or two. */
  readonly linkUpper: Int32Array;
  readonly linkLower: Int32Array;
  /** Where along its element's border a link ends, as a fraction of the width from the middle: -0.5 … 0.5. */
  readonly tiltUpper: Float64Array;
  readonly tiltLower: Float64Array;
  /** 1 for parameters, constants and the like: boxes with one outgoing edge and no incoming one. */
  readonly isLeaf: Uint8Array;
  /** Links by their upper element (they leave downwards) and by their lower one. */
  readonly below: Csr;
  readonly above: Csr;
  /** Edge → its segment, or -1 where it joins neighbouring ranks. */
  readonly segmentOfEdge: Int32Array;
  /** Edge → its first link (the second link of a long edge follows it). -1 for an edge that is drawn around the side. */
  readonly linkOfEdge: Int32Array;
}

/** What a container of a drawing with 400,000 boxes or more gets of the search for a good order. */
export const LEAST_EFFORT = 0.01;
const MANY = 100_000;

/** Is work left out that only makes a drawing prettier? Nobody follows a line among so many, and somebody waits. */
export function isHurried({ count }: Elements, effort: number): boolean {
  return effort <= LEAST_EFFORT && count > MANY;
}

/** Reversed edges get a segment next to both their ends and no link: they are placed after the ordering. */
export function buildElements(graph: FlatGraph, reversed: Uint8Array, rank: Int32Array): Elements {
  const { nodeCount: boxCount, edgeSource: source, edgeTarget: target, sourcePort, targetPort, width } = graph;
  const edgeCount = source.length;
  const segmentOfEdge = new Int32Array(edgeCount).fill(-1);
  const linkOfEdge = new Int32Array(edgeCount).fill(-1);
  let segments = 0;
  let links = 0;
  for (let e = 0; e < edgeCount; e++) {
    if (reversed[e]) {
      segmentOfEdge[e] = boxCount + segments++;
    } else if (rank[target[e]] - rank[source[e]] > 1) {
      segmentOfEdge[e] = boxCount + segments++;
      linkOfEdge[e] = links;
      links += 2;
    } else linkOfEdge[e] = links++;
  }
  const count = boxCount + segments;
  const top = new Int32Array(count);
  const bottom = new Int32Array(count);
  let rankCount = 0;
  for (let v = 0; v < boxCount; v++) {
    top[v] = rank[v];
    bottom[v] = rank[v];
    if (rank[v] >= rankCount) rankCount = rank[v] + 1;
  }
  const linkUpper = new Int32Array(links);
  const linkLower = new Int32Array(links);
  const tiltUpper = new Float64Array(links);
  const tiltLower = new Float64Array(links);
  for (let e = 0; e < edgeCount; e++) {
    const s = segmentOfEdge[e];
    const l = linkOfEdge[e];
    if (l >= 0 && sourcePort) tiltUpper[l] = tilt(sourcePort[e], width[source[e]]);
    if (l >= 0 && targetPort) tiltLower[s < 0 ? l : l + 1] = tilt(targetPort[e], width[target[e]]);
    if (reversed[e]) {
      top[s] = rank[target[e]];
      bottom[s] = rank[source[e]];
      if (top[s] > bottom[s]) [top[s], bottom[s]] = [bottom[s], top[s]];
    } else if (s < 0) {
      linkUpper[l] = source[e];
      linkLower[l] = target[e];
    } else {
      top[s] = rank[source[e]] + 1;
      bottom[s] = rank[target[e]] - 1;
      linkUpper[l] = source[e];
      linkLower[l] = s;
      linkUpper[l + 1] = s;
      linkLower[l + 1] = target[e];
    }
  }
  const below = bucketBy(linkUpper, count);
  const above = bucketBy(linkLower, count);
  const isLeaf = new Uint8Array(count);
  for (let v = 0; v < boxCount; v++) {
    const lone = above.start[v + 1] === above.start[v] && below.start[v + 1] - below.start[v] === 1;
    isLeaf[v] = lone && !graph.pin?.[v] ? 1 : 0;
  }
  return {
    count,
    boxCount,
    rankCount,
    top,
    bottom,
    linkUpper,
    linkLower,
    tiltUpper,
    tiltLower,
    isLeaf,
    below,
    above,
    segmentOfEdge,
    linkOfEdge,
  };
}

/** Where all elements were in an earlier drawing. */
export function placesOf({ count, segmentOfEdge }: Elements, { x, across }: Places): Float64Array {
  const places = new Float64Array(count);
  places.set(x);
  for (let e = 0; e < across.length; e++) if (segmentOfEdge[e] >= 0) places[segmentOfEdge[e]] = across[e];
  return places;
}

function tilt(port: number, width: number): number {
  if (!(width > 0) || Number.isNaN(port)) return 0;
  return Math.min(0.5, Math.max(-0.5, port / width));
}
