import { sortByKey } from "../../base/arrays";
import { bucketBy, type Csr } from "../../base/csr";
import { NODE_GAP, RANK_GAP } from "../flat";
import type { CompoundGraph } from "../types";
import { depths } from "./edgeParts";

/** In a drawing up to this length every edge is a line. It is that from which a screen has columns: about 400 boxes below each other. */
export const DEEP = 32_000;
/** A line longer than this (four screens at half size) tells nothing but where it begins and ends. */
const FAR = 8000;
/** More arrows than this at one box, or lines through one frame, would make it wider than a screen. */
const MOST_ARROWS = 16;
const MOST_CROSSING = 32;
/** Of very many inputs, so many are beside each other above what reads them. */
const MOST_INPUTS = 8;

/**
 * The edges of a very deep drawing that lead too far to be followed, or are too many to be told apart: 1 for each. They get numbers at
 * both ends instead of lines, because each line takes room beside everything that it passes, and thousands of them make a drawing that is
 * mostly empty. What gives the boxes of a group their order stays: of two parts that only such edges join, the shortest one is a line. But
 * of many that begin at one box only one is, and of many inputs of one box a few. Undefined: there are none.
 */
export function farEdges(graph: CompoundGraph, direction: "TB" | "LR"): Uint8Array | undefined {
  const places = new Estimate(graph, direction);
  const rows = wideRows(graph, direction);
  const isDeep = places.length > DEEP;
  if (!isDeep && !rows) return undefined;
  const count = graph.edgeSource.length;
  const far = new Uint8Array(count);
  const spans = new Float64Array(count);
  for (let e = 0; e < count; e++) spans[e] = places.span(e);
  const { isCrowded, isFanned } = isDeep || !rows ? crowds(graph, places, spans) : rows;
  const { from, to } = places;
  const parts = new Parts(graph.boxCount);
  const isFed = new Uint8Array(graph.boxCount);
  const candidates = new Int32Array(count);
  let candidateCount = 0;
  for (let e = 0; e < count; e++) {
    isFed[to[e]] = 1;
    if (from[e] === to[e]) continue;
    if (spans[e] > FAR || isFanned(e) || isCrowded(e)) candidates[candidateCount++] = e;
    else parts.join(from[e], to[e]);
  }
  sortByKey(candidates, 0, candidateCount, spans, new Int32Array(candidateCount));
  const inputs = new Int32Array(graph.boxCount);
  for (const e of candidates.subarray(0, candidateCount)) {
    const isInput = !isFed[from[e]] && !graph.container[from[e]];
    const isOneOfFew = inputs[to[e]] < (isDeep ? MOST_INPUTS : 1);
    const mayJoin = isFanned(e) ? !parts.isLinked(from[e]) : !isCrowded(e) || (isDeep && !isInput) || isOneOfFew;
    if (!mayJoin || !parts.join(from[e], to[e])) far[e] = 1;
    else if (isInput || !isDeep) inputs[to[e]]++;
  }
  return far.includes(1) ? far : undefined;
}

interface Crowds {
  /** Is the edge one of very many that enter the same box or cross the same frame? */
  isCrowded(e: number): boolean;
  /** Is it one of very many that leave the same box? What they lead to has nothing else in common, and need not be side by side. */
  isFanned(e: number): boolean;
}

/**
 * Which edges are at a box with so many that what feeds it, or what it feeds, would be a row as long as a deep drawing. In a drawing that is
 * not deep the others are lines: they give the boxes their order.
 */
function wideRows({ boxCount, edgeSource, edgeTarget, width, height }: CompoundGraph, direction: "TB" | "LR"): Crowds | undefined {
  const across = direction === "TB" ? width : height;
  const before = new Float64Array(boxCount);
  const after = new Float64Array(boxCount);
  let widest = 0;
  for (let e = 0; e < edgeSource.length; e++) {
    const [from, to] = [edgeSource[e], edgeTarget[e]];
    before[to] += across[from] + NODE_GAP;
    after[from] += across[to] + NODE_GAP;
    widest = Math.max(widest, before[to], after[from]);
  }
  if (widest <= DEEP) return undefined;
  return { isCrowded: (e) => before[edgeTarget[e]] > DEEP, isFanned: (e) => after[edgeSource[e]] > DEEP };
}

function crowds({ boxCount, parent, edgeSource, edgeTarget }: CompoundGraph, { from, to }: Estimate, spans: Float64Array): Crowds {
  const entering = new Int32Array(boxCount);
  const leaving = new Int32Array(boxCount);
  const crossing = new Int32Array(boxCount);
  for (let e = 0; e < spans.length; e++) {
    if (spans[e] > FAR) continue;
    entering[edgeTarget[e]]++;
    leaving[edgeSource[e]]++;
    for (let box = edgeSource[e]; box !== from[e]; box = parent[box]) crossing[parent[box]]++;
    for (let box = edgeTarget[e]; box !== to[e]; box = parent[box]) crossing[parent[box]]++;
  }
  const crosses = (box: number, upTo: number): boolean => {
    for (let at = box; at !== upTo; at = parent[at]) if (crossing[parent[at]] > MOST_CROSSING) return true;
    return false;
  };
  return {
    isCrowded: (e) => entering[edgeTarget[e]] > MOST_ARROWS || crosses(edgeSource[e], from[e]) || crosses(edgeTarget[e], to[e]),
    isFanned: (e) => leaving[edgeSource[e]] > MOST_ARROWS,
  };
}

/** Which boxes are connected so far. */
class Parts {
  private readonly leader: Int32Array;
  private readonly linked: Uint8Array;

  constructor(count: number) {
    this.linked = new Uint8Array(count);
    this.leader = new Int32Array(count).map((_, box) => box);
  }

  /** Were the two apart until now? */
  join(a: number, b: number): boolean {
    const [p, q] = [this.find(a), this.find(b)];
    this.leader[Math.max(p, q)] = Math.min(p, q);
    this.linked[a] = this.linked[b] = 1;
    return p !== q;
  }

  isLinked(box: number): boolean {
    return this.linked[box] === 1;
  }

  private find(box: number): number {
    const { leader } = this;
    let root = box;
    while (leader[root] !== root) {
      leader[root] = leader[leader[root]];
      root = leader[root];
    }
    return root;
  }
}

/** About where boxes will be along the flow: every box just after the last of those that feed it, what nothing feeds just before its first use. */
class Estimate {
  readonly length: number;
  /** The ends of each edge among the boxes of the innermost group that contains both; equal where one end is inside the other. */
  readonly from: Int32Array;
  readonly to: Int32Array;
  /** Where boxes begin, and how long they are. */
  private readonly start: Float64Array;
  private readonly size: Float64Array;

  constructor(
    private readonly graph: CompoundGraph,
    direction: "TB" | "LR",
  ) {
    const { boxCount, parent, container, edgeSource, edgeTarget } = graph;
    const [along, title] = direction === "TB" ? [graph.height, graph.height] : [graph.width, undefined];
    const depth = depths(graph);
    this.from = new Int32Array(edgeSource.length);
    this.to = new Int32Array(edgeSource.length);
    for (let e = 0; e < edgeSource.length; e++) {
      let [a, b] = [edgeSource[e], edgeTarget[e]];
      while (depth[a] > depth[b]) a = parent[a];
      while (depth[b] > depth[a]) b = parent[b];
      while (a !== b && parent[a] !== parent[b]) [a, b] = [parent[a], parent[b]];
      this.from[e] = a;
      this.to[e] = b;
    }
    const children = bucketBy(
      parent.map((p) => (p < 0 ? boxCount : p)),
      boxCount + 1,
    );
    const joins = bucketBy(
      this.from.map((a, e) => (a === this.to[e] || graph.edgeCloses?.[e] ? boxCount : a)),
      boxCount + 1,
    );
    this.start = new Float64Array(boxCount);
    this.size = along.slice();
    const deepest = depth.reduce((most, level) => Math.max(most, level), 0);
    const inward = bucketBy(depth, deepest + 1).value;
    const waiting = new Int32Array(boxCount);
    for (let e = 0; e < edgeSource.length; e++) if (this.from[e] !== this.to[e] && !graph.edgeCloses?.[e]) waiting[this.to[e]]++;
    for (let i = boxCount - 1; i >= 0; i--) {
      const box = inward[i];
      if (container[box]) this.size[box] = (title?.[box] ?? 0) + this.stack(children, box, joins, waiting);
    }
    this.length = this.stack(children, boxCount, joins, waiting);
    for (const box of inward) {
      const p = parent[box];
      if (p >= 0) this.start[box] += this.start[p] + (title?.[p] ?? 0);
    }
  }

  span(e: number): number {
    const { edgeSource, edgeTarget } = this.graph;
    const [a, b] = [edgeSource[e], edgeTarget[e]];
    return Math.max(this.start[b] - this.start[a] - this.size[a], this.start[a] - this.start[b] - this.size[b]);
  }

  /** Places the boxes of one group below each other, and says how long that is. Boxes in a cycle come in their order. */
  private stack(children: Csr, group: number, joins: Csr, waiting: Int32Array): number {
    const { start, size, to } = this;
    const boxes = children.value.subarray(children.start[group], children.start[group + 1]);
    const ready: number[] = [];
    for (const box of boxes) if (waiting[box] === 0) ready.push(box);
    const sources = ready.slice();
    let end = 0;
    let next = 0;
    for (let done = 0; done < boxes.length; done++) {
      if (done === ready.length) {
        while (waiting[boxes[next]] <= 0) next++;
        waiting[boxes[next]] = 0;
        ready.push(boxes[next]);
      }
      const box = ready[done];
      waiting[box] = -1;
      const after = start[box] + size[box] + RANK_GAP;
      end = Math.max(end, after);
      for (let k = joins.start[box]; k < joins.start[box + 1]; k++) {
        const user = to[joins.value[k]];
        if (waiting[user] < 0) continue;
        start[user] = Math.max(start[user], after);
        if (--waiting[user] === 0) ready.push(user);
      }
    }
    for (const box of sources) {
      let first = Number.POSITIVE_INFINITY;
      for (let k = joins.start[box]; k < joins.start[box + 1]; k++) first = Math.min(first, start[to[joins.value[k]]]);
      if (first < Number.POSITIVE_INFINITY) start[box] = Math.max(0, first - size[box] - RANK_GAP);
    }
    return end;
  }
}
