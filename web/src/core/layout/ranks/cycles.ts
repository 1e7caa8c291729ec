import { bucketBy } from "../../base/csr";
import type { FlatGraph } from "../types";

interface Edges {
  readonly nodeCount: number;
  readonly source: Int32Array;
  readonly target: Int32Array;
  readonly weight: Int32Array;
  /** 1: closes a loop; it has no influence on the order of the boxes. */
  readonly closing: Uint8Array;
  /** 1: cannot run downwards in any order: a self-loop, or an edge into the pinned boxes of the first rank, or out of those of the last. */
  readonly forced: Uint8Array;
}

/**
 * Chooses the edges to reverse so that the rest has no cycle: those that run against an order of the boxes. Two orders are tried,
 * and the one with less weight against it is taken: a depth-first walk and, if that reverses any edge, an order that begins with
 * the boxes that give most more than they take (of two groups that feed each other, the one that feeds the other more).
 * Edges that close a loop are reversed if they run against the order. Their parts to and from a border are ordinary edges.
 */
export function breakCycles(graph: Pick<FlatGraph, "nodeCount" | "edgeSource" | "edgeTarget" | "pin" | "closes" | "weight">): Uint8Array {
  const { nodeCount, edgeSource: source, edgeTarget: target, pin, closes } = graph;
  const closing = new Uint8Array(source.length);
  const forced = new Uint8Array(source.length);
  for (let e = 0; e < source.length; e++) {
    const [v, w] = [source[e], target[e]];
    if (closes?.[e] && !pin?.[v] && !pin?.[w]) closing[e] = 1;
    else if (v === w || (pin && (pin[w] === 1 || pin[v] === 2))) forced[e] = 1;
  }
  const edges: Edges = { nodeCount, source, target, weight: graph.weight ?? new Int32Array(source.length).fill(1), closing, forced };
  const walked = against(edges, walkOrder(edges));
  if (walked.sum === 0) return walked.reversed;
  const weighed = against(edges, weighedOrder(edges));
  return weighed.sum < walked.sum ? weighed.reversed : walked.reversed;
}

/** The edges that do not run from an earlier place to a later one, and the weight of those that had a choice. */
function against({ source, target, weight, closing, forced }: Edges, place: Int32Array): { reversed: Uint8Array; sum: number } {
  const reversed = new Uint8Array(source.length);
  let sum = 0;
  for (let e = 0; e < reversed.length; e++) {
    if (!forced[e] && place[source[e]] < place[target[e]]) continue;
    reversed[e] = 1;
    if (!forced[e] && !closing[e]) sum += weight[e];
  }
  return { reversed, sum };
}

/** Depth-first from the sources, then from the remaining nodes in order, as a reverse postorder. */
function walkOrder({ nodeCount, source, target, closing, forced }: Edges): Int32Array {
  const out = bucketBy(source, nodeCount);
  const inDegree = new Int32Array(nodeCount);
  for (let e = 0; e < target.length; e++) if (source[e] !== target[e] && !closing[e]) inDegree[target[e]]++;
  const visited = new Uint8Array(nodeCount);
  const cursor = out.start.slice(0, nodeCount);
  const path = new Int32Array(nodeCount);
  const place = new Int32Array(nodeCount);
  let last = nodeCount;

  const walk = (root: number): void => {
    let depth = 0;
    path[0] = root;
    visited[root] = 1;
    while (depth >= 0) {
      const v = path[depth];
      if (cursor[v] === out.start[v + 1]) {
        place[v] = --last;
        depth--;
        continue;
      }
      const e = out.value[cursor[v]++];
      if (closing[e] || forced[e] || visited[target[e]]) continue;
      visited[target[e]] = 1;
      path[++depth] = target[e];
    }
  };

  for (let v = 0; v < nodeCount; v++) if (inDegree[v] === 0 && !visited[v]) walk(v);
  for (let v = 0; v < nodeCount; v++) if (!visited[v]) walk(v);
  return place;
}

/**
 * Boxes without remaining inputs come next, boxes without remaining users come last of those that are left; if all that is left
 * lies on or between cycles, the box comes next whose outgoing weight exceeds its incoming weight most.
 */
function weighedOrder({ nodeCount, source, target, weight, closing, forced }: Edges): Int32Array {
  const out = bucketBy(source, nodeCount);
  const into = bucketBy(target, nodeCount);
  const gives = new Int32Array(nodeCount);
  const takes = new Int32Array(nodeCount);
  const weighs = (e: number): number => (closing[e] || forced[e] ? 0 : weight[e]);
  for (let e = 0; e < source.length; e++) {
    gives[source[e]] += weighs(e);
    takes[target[e]] += weighs(e);
  }
  const place = new Int32Array(nodeCount).fill(-1);
  const free: number[] = [];
  let first = 0;
  let last = nodeCount;
  const put = (v: number, at: number): void => {
    place[v] = at;
    for (let i = out.start[v]; i < out.start[v + 1]; i++) {
      const w = target[out.value[i]];
      takes[w] -= weighs(out.value[i]);
      if (takes[w] === 0) free.push(w);
    }
    for (let i = into.start[v]; i < into.start[v + 1]; i++) {
      const u = source[into.value[i]];
      gives[u] -= weighs(into.value[i]);
      if (gives[u] === 0) free.push(u);
    }
  };
  const putFree = (): void => {
    while (free.length) {
      const v = free.pop()!;
      if (place[v] < 0) put(v, takes[v] === 0 ? first++ : --last);
    }
  };
  for (let v = nodeCount - 1; v >= 0; v--) if (takes[v] === 0 || gives[v] === 0) free.push(v);
  putFree();
  const surplus = gives.map((weightOut, v) => weightOut - takes[v]);
  const left = Array.from(place.keys())
    .filter((v) => place[v] < 0)
    .sort((a, b) => surplus[b] - surplus[a] || a - b);
  for (const v of left) {
    if (place[v] >= 0) continue;
    put(v, first++);
    putFree();
  }
  return place;
}
