import { sortByKey } from "../../base/arrays";
import { type Csr, bucketBy } from "../../base/csr";
import type { Elements } from "../elements";

/** The far ends of each element's links; `shift` separates those that end on one box at different ports. */
interface Ends extends Csr {
  readonly shift: Float64Array;
}

/** Small enough never to reach the next element. */
const PORT_SHIFT = 1e-5;

/**
 * Improves an order one element at a time: each is moved to where it crosses least, while everything else stays as it is.
 * Passing another element changes the number of crossings by an amount that depends only on the links of the two elements, so
 * one walk along the neighbours finds the best place exactly. Never makes an order worse.
 *
 * Within a round, places are fractions, so that an element can go between any two others; a round begins by renumbering.
 */
export class Sifter {
  private readonly upper: Ends;
  private readonly lower: Ends;
  private readonly starts: Csr;
  private readonly key: Float64Array;
  private readonly order: Int32Array;
  private readonly spare: Int32Array;
  private readonly live: Int32Array;
  private readonly fromRight: Int32Array;
  private readonly toRight: Int32Array;
  /** How far beyond an element's neighbours the search for its best place goes. */
  private readonly reach: number;
  private liveCount = 0;
  /** 1 for elements without a better place whose linked elements have not moved since: they are not tried again. */
  private readonly asleep: Uint8Array;
  private readonly up: Float64Array;
  private readonly down: Float64Array;

  /** Elements marked in `fixed` are never moved. */
  constructor(
    private readonly elements: Elements,
    private readonly fixed?: Uint8Array,
  ) {
    const { count, boxCount, rankCount, top, above, below, linkUpper, linkLower } = elements;
    this.upper = endsOf(above, linkUpper, elements.tiltUpper);
    this.lower = endsOf(below, linkLower, elements.tiltLower);
    this.starts = bucketBy(top, rankCount);
    this.key = new Float64Array(count);
    this.order = new Int32Array(count);
    this.spare = new Int32Array(count);
    this.live = new Int32Array(count);
    this.asleep = new Uint8Array(count);
    this.fromRight = new Int32Array(count);
    this.toRight = new Int32Array(count);
    let fan = 1;
    for (let v = 0; v < boxCount; v++) {
      fan = Math.max(fan, above.start[v + 1] - above.start[v], below.start[v + 1] - below.start[v]);
    }
    this.reach = 40 + count / 20;
    this.up = new Float64Array(fan);
    this.down = new Float64Array(fan);
  }

  /** Steps left before sifting ends; set by the caller. */
  work = 0;

  /** Call it for an order that did not come from these rounds. */
  wakeAll(): void {
    this.asleep.fill(0);
  }

  /** One round over all boxes and segments, as far as `work` suffices; returns how many crossings it removed. */
  round(position: Int32Array): number {
    const { count } = this.elements;
    for (let v = 0; v < count; v++) this.key[v] = position[v];
    let saved = this.siftBoxes();
    for (let v = 0; v < count; v++) this.order[position[v]] = v;
    sortByKey(this.order, 0, count, this.key, this.spare);
    saved += this.siftSegments();
    for (let i = 0; i < count; i++) position[this.order[i]] = i;
    return saved;
  }

  private siftBoxes(): number {
    const { starts } = this;
    const { boxCount, rankCount } = this.elements;
    let saved = 0;
    this.liveCount = 0;
    for (let rank = 0; rank < rankCount; rank++) {
      this.enterRank(rank);
      for (let i = starts.start[rank]; i < starts.start[rank + 1]; i++) {
        const v = starts.value[i];
        if (v < boxCount && this.work > 0 && !this.asleep[v] && !this.fixed?.[v]) saved += this.siftBox(v, rank);
      }
    }
    return saved;
  }

  /** Brings the list of live elements from the rank before to this one. */
  private enterRank(rank: number): void {
    const { live, key, starts, spare } = this;
    const { bottom } = this.elements;
    let remaining = 0;
    for (let i = 0; i < this.liveCount; i++) if (bottom[live[i]] >= rank) live[remaining++] = live[i];
    const from = starts.start[rank];
    const to = starts.start[rank + 1];
    sortByKey(starts.value, from, to, key, spare);
    let write = remaining + to - from;
    this.liveCount = write;
    let old = remaining - 1;
    let fresh = to - 1;
    while (fresh >= from) {
      live[--write] = old >= 0 && key[live[old]] > key[starts.value[fresh]] ? live[old--] : starts.value[fresh--];
    }
  }

  private siftBox(v: number, rank: number): number {
    const { live, key, upper, lower, up, down, liveCount } = this;
    const ups = collect(upper, v, key, up);
    const downs = collect(lower, v, key, down);
    if (ups + downs === 0) return 0;
    const at = indexOfKey(live, liveCount, key, key[v]);
    const reach = this.reach;
    const low = Math.min(key[v], leastOf(up, ups), leastOf(down, downs)) - reach;
    const high = Math.max(key[v], greatestOf(up, ups), greatestOf(down, downs)) + reach;
    let best = 0;
    let bestAt = at;
    let cost = 0;
    for (let i = at + 1; i < liveCount && key[live[i]] < high; i++) {
      cost += this.passing(live[i], rank, ups, downs);
      if (cost < best) {
        best = cost;
        bestAt = i;
      }
    }
    cost = 0;
    for (let i = at - 1; i >= 0 && key[live[i]] > low; i--) {
      cost -= this.passing(live[i], rank, ups, downs);
      if (cost < best) {
        best = cost;
        bestAt = i;
      }
    }
    return this.move(v, at, bestAt, live, liveCount) ? -best : 0;
  }

  /** Moves an element from one index of a list to another, and gives it a key between its new neighbours. */
  private move(v: number, from: number, to: number, list: Int32Array, size: number): boolean {
    const { key, upper, lower, asleep } = this;
    asleep[v] = 1;
    if (from === to) return false;
    const other = key[list[to]];
    const between =
      to > from ? middle(other, to + 1 < size ? key[list[to + 1]] : other + 2) : middle(to > 0 ? key[list[to - 1]] : other - 2, other);
    if (Number.isNaN(between)) return false;
    key[v] = between;
    if (to > from) list.copyWithin(from, from + 1, to + 1);
    else list.copyWithin(to + 1, to, from);
    list[to] = v;
    for (let k = upper.start[v]; k < upper.start[v + 1]; k++) asleep[upper.value[k]] = 0;
    for (let k = lower.start[v]; k < lower.start[v + 1]; k++) asleep[lower.value[k]] = 0;
    return true;
  }

  /** How many crossings are added when the box moves from the left to the right of element d. */
  private passing(d: number, rank: number, ups: number, downs: number): number {
    const { key, upper, lower, up, down } = this;
    const { top, bottom } = this.elements;
    let change = 0;
    this.work -= 2;
    if (ups > 0) {
      if (top[d] < rank) change += balance(up, ups, key[d]);
      else for (let k = upper.start[d]; k < upper.start[d + 1]; k++) change += balance(up, ups, placeOf(upper, k, key));
    }
    if (downs > 0) {
      if (bottom[d] > rank) change += balance(down, downs, key[d]);
      else for (let k = lower.start[d]; k < lower.start[d + 1]; k++) change += balance(down, downs, placeOf(lower, k, key));
    }
    return change;
  }

  /** Segments in turn; `order` holds all elements from left to right throughout. */
  private siftSegments(): number {
    const { boxCount, count } = this.elements;
    this.lean();
    let saved = 0;
    for (let s = boxCount; s < count; s++) {
      if (!this.asleep[s] && this.upper.start[s + 1] > this.upper.start[s] && this.work > 0) saved += this.siftSegment(s);
    }
    return saved;
  }

  /** For every element, counts how many more of its links come from the right than from the left, and how many more go there. */
  private lean(): void {
    const { key, upper, lower, fromRight, toRight } = this;
    for (let d = 0; d < this.elements.count; d++) {
      let from = 0;
      let to = 0;
      for (let k = upper.start[d]; k < upper.start[d + 1]; k++) from += Math.sign(key[upper.value[k]] - key[d]);
      for (let k = lower.start[d]; k < lower.start[d + 1]; k++) to += Math.sign(key[lower.value[k]] - key[d]);
      fromRight[d] = from;
      toRight[d] = to;
    }
  }

  private siftSegment(s: number): number {
    const { key, order, upper, lower } = this;
    const { count } = this.elements;
    const keyU = placeOf(upper, upper.start[s], key);
    const keyW = placeOf(lower, lower.start[s], key);
    const here = key[s];
    const low = Math.min(here, keyU, keyW) - this.reach;
    const high = Math.max(here, keyU, keyW) + this.reach;
    let at = indexOfKey(order, count, key, here);
    while (order[at] !== s) at++;
    let best = 0;
    let bestAt = at;
    let cost = 0;
    let i = at + 1;
    for (; i < count && key[order[i]] < high; i++) {
      cost += this.passingSegment(order[i], s, keyU, keyW);
      if (cost < best) {
        best = cost;
        bestAt = i;
      }
    }
    this.work -= i - at;
    cost = 0;
    for (i = at - 1; i >= 0 && key[order[i]] > low; i--) {
      cost -= this.passingSegment(order[i], s, keyU, keyW);
      if (cost < best) {
        best = cost;
        bestAt = i;
      }
    }
    this.work -= at - i;
    if (!this.move(s, at, bestAt, order, count)) return 0;
    const u = upper.value[upper.start[s]];
    const w = lower.value[lower.start[s]];
    this.toRight[u] += Math.sign(key[s] - key[u]) - Math.sign(here - key[u]);
    this.fromRight[w] += Math.sign(key[s] - key[w]) - Math.sign(here - key[w]);
    this.fromRight[s] = Math.sign(key[u] - key[s]);
    this.toRight[s] = Math.sign(key[w] - key[s]);
    return -best;
  }

  /** How many crossings are added when segment s moves from the left to the right of element d. */
  private passingSegment(d: number, s: number, keyU: number, keyW: number): number {
    const { key, upper, lower } = this;
    const { top, bottom } = this.elements;
    const first = top[s];
    const last = bottom[s];
    const begins = top[d];
    const ends = bottom[d];
    if (begins > last || ends < first) return 0;
    let change = 0;
    // Links next to the segment over their whole length cross it if their ends are on different sides.
    if (begins > first) change += this.fromRight[d];
    else if (begins < first) change += Math.sign(key[d] - keyU);
    else for (let k = upper.start[d]; k < upper.start[d + 1]; k++) change += Math.sign(placeOf(upper, k, key) - keyU);
    if (ends < last) change += this.toRight[d];
    else if (ends > last) change += Math.sign(key[d] - keyW);
    else for (let k = lower.start[d]; k < lower.start[d + 1]; k++) change += Math.sign(placeOf(lower, k, key) - keyW);
    return change;
  }
}

/** The total number of ranks on which elements are alive: a round of sifting takes at least that many steps. */
export function totalLife({ count, boxCount, top, bottom }: Elements): number {
  let life = boxCount;
  for (let s = boxCount; s < count; s++) life += bottom[s] - top[s] + 1;
  return life;
}

function endsOf(links: Csr, end: Int32Array, tilt: Float64Array): Ends {
  const size = links.value.length;
  const value = new Int32Array(size);
  const shift = new Float64Array(size);
  for (let k = 0; k < size; k++) {
    value[k] = end[links.value[k]];
    shift[k] = tilt[links.value[k]] * PORT_SHIFT;
  }
  return { start: links.start, value, shift };
}

function placeOf({ value, shift }: Ends, k: number, key: Float64Array): number {
  return key[value[k]] + shift[k];
}

function collect(links: Ends, v: number, key: Float64Array, into: Float64Array): number {
  const from = links.start[v];
  const size = links.start[v + 1] - from;
  for (let i = 0; i < size; i++) into[i] = placeOf(links, from + i, key);
  if (size > 8) into.subarray(0, size).sort();
  return size;
}

function leastOf(places: Float64Array, size: number): number {
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i < size; i++) if (places[i] < least) least = places[i];
  return least;
}

function greatestOf(places: Float64Array, size: number): number {
  let greatest = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < size; i++) if (places[i] > greatest) greatest = places[i];
  return greatest;
}

/** How many of the places lie left of x minus how many lie right of it. */
function balance(places: Float64Array, size: number, x: number): number {
  if (size <= 8) {
    let sum = 0;
    for (let i = 0; i < size; i++) sum += places[i] < x ? 1 : places[i] > x ? -1 : 0;
    return sum;
  }
  return bound(places, size, x, false) - (size - bound(places, size, x, true));
}

/** How many of the sorted places are < x (or ≤ x). */
function bound(places: Float64Array, size: number, x: number, equalToo: boolean): number {
  let low = 0;
  let high = size;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (places[middle] < x || (equalToo && places[middle] === x)) low = middle + 1;
    else high = middle;
  }
  return low;
}

function indexOfKey(live: Int32Array, size: number, key: Float64Array, x: number): number {
  let low = 0;
  let high = size;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (key[live[middle]] < x) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A number strictly between two others, or NaN where they are too close. */
function middle(a: number, b: number): number {
  const m = a + (b - a) / 2;
  return m > a && m < b ? m : Number.NaN;
}
