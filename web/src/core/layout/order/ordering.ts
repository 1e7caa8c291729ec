import { sortByKey } from "../../base/arrays";
import { CrossingCounter } from "./crossingCount";
import { type Elements, isHurried, placesOf } from "../elements";
import { type Anchors, arrange } from "./outerAnchors";
import { Sifter, totalLife } from "./sifting";
import { smooth } from "./smoothing";
import { type Resumed, resumeOrder } from "./stability";
import { Sweeper } from "./sweeps";
import type { Places } from "../types";

/** Steps that sifting may take in total, and the longest lists it may need. Counted, not timed: the same input gives the same order. */
const SIFTING_WORK = 12_000_000;
const SIFTING_LIFE = 10_000_000;
/** Small perturbations to escape local minima. */
const TURNS = 12;
/** With more elements than this, what is new in a resumed drawing goes between its neighbours without a search, to save time. */
const RESIFTED_ELEMENTS = 8000;

/** Rounds of smoothing where nothing else is done. */
const HURRIED_ROUNDS = 6;

/** What an order can start from. */
export interface OrderHints {
  /** Boxes that stayed since an earlier drawing keep their order. */
  readonly previousX?: Float64Array;
  /** A whole order that is good except for the anchors. */
  readonly start?: Places;
  readonly anchors?: Anchors;
}

/**
 * Orders all elements so that edges cross little. There are two first orders: sweeps rank by rank, good for deep graphs,
 * and smoothing of the whole, good for wide ones. Graphs that are not too large continue from both by moving single elements, and
 * then from the better one with small perturbations. `effort` (0…1) is the share of this work that the graph gets, if it
 * is one of many. Returns the place of each element in one order of the whole drawing.
 */
export function orderElements(elements: Elements, effort = 1, hints: OrderHints = {}): Int32Array {
  const resumed = hints.previousX && resumeOrder(elements, hints.previousX);
  if (resumed) return settleResumed(elements, resumed);
  const search = new Search(elements, effort, hints.anchors);
  const { count } = elements;
  if (hints.start && count > 2) {
    search.improve(orderOf(elements, hints.start));
    return search.best;
  }
  const first = firstOrder(elements);
  if (count < 3) return first;
  if (isHurried(elements, effort)) return smoothedOnce(elements, first, hints.anchors);
  const swept = first.slice();
  search.sweeps(swept);
  if (search.fewest === 0) return search.best;
  const smoothed = first.slice();
  smooth(elements, smoothed, Math.max(effort < 1 ? 16 : 40, Math.min(300 * effort, Math.round(1_000_000 / (count + 1000)))));
  search.offer(smoothed);
  if (totalLife(elements) <= SIFTING_LIFE) search.sift(effort === 1 && count < 4000 ? [swept, smoothed, first] : [search.best.slice()]);
  return search.best;
}

/** Smoothing alone reads each link a few times; sweeps and counts of crossings take time for everything that passes a rank. */
function smoothedOnce(elements: Elements, position: Int32Array, anchors: Anchors | undefined): Int32Array {
  smooth(elements, position, HURRIED_ROUNDS);
  if (anchors) arrange(anchors, position);
  return position;
}

/** What stayed does not move; the rest is placed around it. */
function settleResumed(elements: Elements, { position, fixed }: Resumed): Int32Array {
  if (elements.count > RESIFTED_ELEMENTS || totalLife(elements) > SIFTING_LIFE) return position;
  return settled(elements, position, fixed);
}

/** Moves single elements until none has a better place, except those in `fixed`. Changes `position`, and returns it. */
export function settled(elements: Elements, position: Int32Array, fixed?: Uint8Array): Int32Array {
  const sifter = new Sifter(elements, fixed);
  sifter.work = SIFTING_WORK / 8;
  while (sifter.work > 0 && sifter.round(position) > 0);
  return position;
}

/** Keeps the best order so far. */
class Search {
  readonly best: Int32Array;
  fewest = Number.POSITIVE_INFINITY;
  private readonly counter: CrossingCounter;
  private readonly sweeper: Sweeper;

  constructor(
    private readonly elements: Elements,
    private readonly effort: number,
    private readonly anchors?: Anchors,
  ) {
    this.best = new Int32Array(elements.count);
    this.counter = new CrossingCounter(elements);
    this.sweeper = new Sweeper(elements);
  }

  /** Returns whether this order is better than all before. */
  offer(position: Int32Array): boolean {
    if (this.anchors) arrange(this.anchors, position);
    const crossings = this.counter.count(position);
    if (crossings >= this.fewest) return false;
    this.fewest = crossings;
    this.best.set(position);
    return true;
  }

  /** Sweeps down and up in turn, by mean and by median; leaves the best of them in `position`. */
  sweeps(position: Int32Array): void {
    const { sweeper } = this;
    const rounds = Math.max(this.effort < 1 ? 2 : 4, Math.min(24 * this.effort, Math.round(60_000 / (this.elements.count + 1000))));
    this.offer(position);
    let stale = 0;
    for (let round = 0; round < rounds && this.fewest > 0 && stale < 6; round++) {
      sweeper.sweep(position, round % 2 === 0, round % 8 < 4 ? "mean" : "median", round % 4 >= 2);
      stale = this.offer(position) ? 0 : stale + 1;
    }
    position.set(this.best);
  }

  sift(starts: Int32Array[]): void {
    const sifter = new Sifter(this.elements, this.anchors?.fixed);
    sifter.work = this.effort * (starts.length > 1 ? SIFTING_WORK : SIFTING_WORK / 5);
    const share = sifter.work / (starts.length + 1);
    for (const start of starts) {
      this.settle(sifter, start, starts.length > 1 ? share : sifter.work);
      this.offer(start);
    }
    const position = this.best.slice();
    let stale = 0;
    for (let turn = 0; turn < TURNS * this.effort && stale < 4 && this.fewest > 0 && sifter.work > 0; turn++) {
      if (turn % 2 === 0) smooth(this.elements, position, 1 + (turn % 3));
      else this.sweeper.sweep(position, turn % 4 === 1, "mean", false);
      this.settle(sifter, position, sifter.work);
      stale = this.offer(position) ? 0 : stale + 1;
      if (stale > 0) position.set(this.best);
    }
  }

  /** Continues from an order that was good before the anchors changed. */
  improve(position: Int32Array): void {
    this.offer(position);
    const swept = position.slice();
    this.sweeper.sweep(swept, true, "mean", false);
    this.sift([position, swept]);
  }

  /** Moves single elements until none has a better place. */
  private settle(sifter: Sifter, position: Int32Array, work: number): void {
    const reserve = sifter.work - work;
    if (this.anchors) arrange(this.anchors, position);
    sifter.work = work;
    sifter.wakeAll();
    const most = this.effort === 1 ? 100 : this.effort < 0.1 ? 1 : 3;
    for (let round = 0; round < most && sifter.work > 0; round++) {
      if (sifter.round(position) === 0) break;
    }
    sifter.work = Math.max(0, sifter.work) + reserve;
  }
}

/** Elements from left to right as they were. */
export function orderOf(elements: Elements, places: Places): Int32Array {
  const { count } = elements;
  const key = placesOf(elements, places);
  const order = new Int32Array(count);
  for (let v = 0; v < count; v++) order[v] = v;
  sortByKey(order, 0, count, key, new Int32Array(count));
  const position = new Int32Array(count);
  for (let i = 0; i < count; i++) position[order[i]] = i;
  return position;
}

/** Depth first along the edges: neighbours start out near each other. */
function firstOrder({ count, boxCount, below, above, linkLower }: Elements): Int32Array {
  const position = new Int32Array(count).fill(-1);
  const stack = new Int32Array(linkLower.length + count);
  let next = 0;
  for (let root = 0; root < count; root++) {
    if (position[root] >= 0 || (root < boxCount && above.start[root + 1] > above.start[root])) continue;
    let depth = 0;
    stack[depth++] = root;
    while (depth > 0) {
      const v = stack[--depth];
      if (position[v] >= 0) continue;
      position[v] = next++;
      for (let k = below.start[v + 1] - 1; k >= below.start[v]; k--) {
        const w = linkLower[below.value[k]];
        if (position[w] < 0) stack[depth++] = w;
      }
    }
  }
  return position;
}
