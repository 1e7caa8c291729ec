import { type Csr, bucketBy } from "../../base/csr";
import { improve } from "./simplex";

/** Exact up to some thousands of boxes; beyond that, as far as this suffices. */
const SIMPLEX_WORK = 4_000_000;

/** The edges that ranks must respect: those that were not reversed. */
interface Downward {
  readonly nodeCount: number;
  readonly source: Int32Array;
  readonly target: Int32Array;
  readonly out: Csr;
  readonly into: Csr;
  /** Every node after all its predecessors. */
  readonly order: Int32Array;
}

/**
 * Gives every box a rank so that edges run downwards and are short in total: longest path first, then boxes (with what
 * depends on them alone) move to the side with more edges. Pinned boxes have the first and last rank to themselves.
 */
export function assignRanks(nodeCount: number, source: Int32Array, target: Int32Array, reversed: Uint8Array, pin?: Uint8Array): Int32Array {
  const graph = downwardPart(nodeCount, source, target, reversed, pin);
  const rank = longestPath(graph);
  for (let round = 0; round < 4; round++) {
    const moved = pullDown(graph, rank) + pullUp(graph, rank);
    if (moved === 0) break;
  }
  shorten(graph, rank);
  return placePins(rank, pin);
}

function downwardPart(nodeCount: number, source: Int32Array, target: Int32Array, reversed: Uint8Array, pin?: Uint8Array): Downward {
  const keep = new Int32Array(source.length);
  let count = 0;
  for (let e = 0; e < source.length; e++) {
    const pinned = pin !== undefined && (pin[source[e]] !== 0 || pin[target[e]] !== 0);
    if (!reversed[e] && !pinned) keep[count++] = e;
  }
  const from = new Int32Array(count);
  const to = new Int32Array(count);
  for (let i = 0; i < count; i++) {
    from[i] = source[keep[i]];
    to[i] = target[keep[i]];
  }
  const out = bucketBy(from, nodeCount);
  const into = bucketBy(to, nodeCount);
  const waiting = new Int32Array(nodeCount);
  const order = new Int32Array(nodeCount);
  let done = 0;
  for (let v = 0; v < nodeCount; v++) {
    waiting[v] = into.start[v + 1] - into.start[v];
    if (waiting[v] === 0) order[done++] = v;
  }
  for (let i = 0; i < done; i++) {
    const v = order[i];
    for (let k = out.start[v]; k < out.start[v + 1]; k++) {
      const w = to[out.value[k]];
      if (--waiting[w] === 0) order[done++] = w;
    }
  }
  return { nodeCount, source: from, target: to, out, into, order };
}

function longestPath({ nodeCount, target, out, order }: Downward): Int32Array {
  const rank = new Int32Array(nodeCount);
  for (let i = 0; i < nodeCount; i++) {
    const v = order[i];
    for (let k = out.start[v]; k < out.start[v + 1]; k++) {
      const w = target[out.value[k]];
      if (rank[w] <= rank[v]) rank[w] = rank[v] + 1;
    }
  }
  return rank;
}

/**
 * A box moves down to its nearest user if more edges pull down than up. What feeds only this box follows it for free,
 * so its own inputs are counted in place of the edge between: constants, their broadcasts and whole side chains come along.
 */
function pullDown({ nodeCount, source, target, out, into, order }: Downward, rank: Int32Array): number {
  const held = new Int32Array(nodeCount);
  for (let i = 0; i < nodeCount; i++) {
    const v = order[i];
    for (let k = into.start[v]; k < into.start[v + 1]; k++) {
      const u = source[into.value[k]];
      const tight = rank[u] + 1 === rank[v];
      held[v] += out.start[u + 1] - out.start[u] === 1 && tight ? Math.min(1, held[u]) : 1;
    }
  }
  let moved = 0;
  for (let i = nodeCount - 1; i >= 0; i--) {
    const v = order[i];
    const users = out.start[v + 1] - out.start[v];
    if (users <= held[v]) continue;
    let limit = 0x7fffffff;
    for (let k = out.start[v]; k < out.start[v + 1]; k++) limit = Math.min(limit, rank[target[out.value[k]]] - 1);
    if (limit > rank[v]) {
      rank[v] = limit;
      moved++;
    }
  }
  return moved;
}

/** The mirror image: a box moves up to its latest input if more edges pull up. */
function pullUp({ nodeCount, source, target, out, into, order }: Downward, rank: Int32Array): number {
  const held = new Int32Array(nodeCount);
  for (let i = nodeCount - 1; i >= 0; i--) {
    const v = order[i];
    for (let k = out.start[v]; k < out.start[v + 1]; k++) {
      const w = target[out.value[k]];
      const tight = rank[v] + 1 === rank[w];
      held[v] += into.start[w + 1] - into.start[w] === 1 && tight ? Math.min(1, held[w]) : 1;
    }
  }
  let moved = 0;
  for (let i = 0; i < nodeCount; i++) {
    const v = order[i];
    const inputs = into.start[v + 1] - into.start[v];
    if (inputs <= held[v]) continue;
    let limit = 0;
    for (let k = into.start[v]; k < into.start[v + 1]; k++) limit = Math.max(limit, rank[source[into.value[k]]] + 1);
    if (limit < rank[v]) {
      rank[v] = limit;
      moved++;
    }
  }
  return moved;
}

/** A value with several users runs as one line for most of its way, so each of its edges counts a little less: users are placed near what they feed. */
const SHARED = 0.95;

/** Moves boxes and what depends on them until no move makes the edges shorter in total, or enough has been tried. */
function shorten({ nodeCount, source, target, out }: Downward, rank: Int32Array): void {
  const places = Float64Array.from(rank);
  const ones = new Float64Array(source.length).fill(1);
  const weight = new Float64Array(source.length);
  for (let e = 0; e < weight.length; e++) weight[e] = out.start[source[e] + 1] - out.start[source[e]] > 1 ? SHARED : 1;
  improve({ count: nodeCount, tail: source, head: target, length: ones, weight }, places, SIMPLEX_WORK, true);
  for (let v = 0; v < nodeCount; v++) rank[v] = Math.round(places[v]);
}

/** Shifts the free boxes between the pinned ranks and removes empty ranks. */
function placePins(rank: Int32Array, pin?: Uint8Array): Int32Array {
  let first = 0;
  let low = 0x7fffffff;
  let high = -1;
  for (let v = 0; v < rank.length; v++) {
    if (pin?.[v] === 1) first = 1;
    else if (!pin?.[v]) {
      if (rank[v] < low) low = rank[v];
      if (rank[v] > high) high = rank[v];
    }
  }
  if (high < 0) low = 0;
  const used = new Int32Array(high - low + 2);
  for (let v = 0; v < rank.length; v++) if (!pin?.[v]) used[rank[v] - low] = 1;
  let next = first;
  for (let r = 0; r < used.length; r++) used[r] = used[r] ? next++ : -1;
  for (let v = 0; v < rank.length; v++) {
    if (pin?.[v] === 1) rank[v] = 0;
    else if (pin?.[v] === 2) rank[v] = next;
    else rank[v] = used[rank[v] - low];
  }
  return rank;
}
