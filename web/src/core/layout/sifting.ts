import { type Buckets, bucketBy, sortByKey } from "./arrays";
import type { Elements } from "./elements";

/** The far ends of each element's links; `shift` sets apart those that end on one box at different ports. */
interface Ends extends Buckets {
  readonly shift: Float64Array;
}

/** Small enough never to reach the next element. */
const PORT_SHIFT = 1e-5;

/**
 * Improves an order one element at a time: each is lifted out and put where it crosses least, everything else staying as it
 * is. Passing another element changes the number of crossings by an amount that only the two elements' links decide, so one
 * walk along the neighbours finds the best place exactly. Never makes an order worse.
 *
 * Within a round places are fractions, so that an element can go between any two others; a round begins by renumbering.
 */
export class Sifter {
  private readonly upper: Ends;
  private readonly lower: Ends;
  private readonly starts: Buckets;
  private readonly ends: Buckets;
  private readonly alive: Buckets;
  private readonly key: Float64Array;
  private readonly order: Int32Array;
  private readonly spare: Int32Array;
  private readonly live: Int32Array;
  private readonly mark: Int32Array;
  private readonly delta: Int32Array;
  /** How far beyond an element's neighbours its best place is sought. */
  private readonly reach: number;
  private marks = 0;
  private liveCount = 0;
  private readonly up: Float64Array;
  private readonly down: Float64Array;

  /** Elements marked in `fixed` are never lifted. */
  constructor(
    private readonly elements: Elements,
    private readonly fixed?: Uint8Array,
  ) {
    const { count, boxCount, rankCount, top, bottom, above, below, linkUpper, linkLower } = elements;
    this.upper = endsOf(above, linkUpper, elements.tiltUpper);
    this.lower = endsOf(below, linkLower, elements.tiltLower);
    this.starts = bucketBy(top, rankCount);
    this.ends = bucketBy(bottom, rankCount);
    this.alive = segmentsByRank(elements);
    this.key = new Float64Array(count);
    this.order = new Int32Array(count);
    this.spare = new Int32Array(count);
    this.live = new Int32Array(count);
    this.mark = new Int32Array(count);
    this.delta = new Int32Array(count);
    let fan = 1;
    for (let v = 0; v < boxCount; v++) {
      fan = Math.max(fan, above.start[v + 1] - above.start[v], below.start[v + 1] - below.start[v]);
    }
    this.reach = 40 + count / 20;
    this.up = new Float64Array(fan);
    this.down = new Float64Array(fan);
  }

  /** Steps left before sifting ends; set by whoever shares out the time. */
  work = 0;

  /** One round over all boxes and segments, as far as `work` carries; returns how many crossings it saved. */
  round(position: Int32Array): number {
    const { count } = this.elements;
    for (let v = 0; v < count; v++) this.key[v] = position[v];
    const saved = this.siftBoxes() + this.siftSegments();
    for (let v = 0; v < count; v++) this.order[position[v]] = v;
    sortByKey(this.order, 0, count, this.key, this.spare);
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
        const v = starts.items[i];
        if (v < boxCount && this.work > 0 && !this.fixed?.[v]) saved += this.siftBox(v, rank);
      }
    }
    return saved;
  }

  /** Brings the list of live elements from the rank before to this one. */
  private enterRank(rank: number): void {
    const { live, key, starts, spare } = this;
    const { bottom } = this.elements;
    let kept = 0;
    for (let i = 0; i < this.liveCount; i++) if (bottom[live[i]] >= rank) live[kept++] = live[i];
    const from = starts.start[rank];
    const to = starts.start[rank + 1];
    sortByKey(starts.items, from, to, key, spare);
    let write = kept + to - from;
    this.liveCount = write;
    let old = kept - 1;
    let fresh = to - 1;
    while (fresh >= from) {
      live[--write] = old >= 0 && key[live[old]] > key[starts.items[fresh]] ? live[old--] : starts.items[fresh--];
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
    if (bestAt === at) return 0;
    const between =
      bestAt > at
        ? middle(key[live[bestAt]], bestAt + 1 < liveCount ? key[live[bestAt + 1]] : key[live[bestAt]] + 2)
        : middle(bestAt > 0 ? key[live[bestAt - 1]] : key[live[bestAt]] - 2, key[live[bestAt]]);
    if (Number.isNaN(between)) return 0;
    key[v] = between;
    if (bestAt > at) live.copyWithin(at, at + 1, bestAt + 1);
    else live.copyWithin(bestAt + 1, bestAt, at);
    live[bestAt] = v;
    return -best;
  }

  /** How many crossings more there are when the lifted box goes from the left to the right of element d. */
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

  private siftSegments(): number {
    const { boxCount, count } = this.elements;
    let saved = 0;
    for (let s = boxCount; s < count; s++) {
      if (this.upper.start[s + 1] > this.upper.start[s] && this.work > 0) saved += this.siftSegment(s);
    }
    return saved;
  }

  private siftSegment(s: number): number {
    const { key, delta, order } = this;
    const found = this.gather(s);
    sortByKey(order, 0, found, key, this.spare);
    const here = key[s];
    let at = 0;
    while (at < found && key[order[at]] < here) at++;
    let best = 0;
    let bestAt = -1;
    let cost = 0;
    for (let i = at; i < found; i++) {
      cost += delta[order[i]];
      if (cost < best) {
        best = cost;
        bestAt = i;
      }
    }
    cost = 0;
    let toRight = true;
    for (let i = at - 1; i >= 0; i--) {
      cost -= delta[order[i]];
      if (cost < best) {
        best = cost;
        bestAt = i;
        toRight = false;
      }
    }
    if (bestAt < 0) return 0;
    const edge = key[order[bestAt]];
    const between = toRight
      ? middle(edge, bestAt + 1 < found ? key[order[bestAt + 1]] : edge + 2)
      : middle(bestAt > 0 ? key[order[bestAt - 1]] : edge - 2, edge);
    if (Number.isNaN(between)) return 0;
    key[s] = between;
    return -best;
  }

  /** Everything that segment s could pass on its ranks, with what passing it (left to right) adds in crossings. */
  private gather(s: number): number {
    const { key, upper, lower, starts, ends, alive, delta, mark, order } = this;
    const { top, bottom, boxCount } = this.elements;
    const first = top[s];
    const last = bottom[s];
    const stamp = ++this.marks;
    const keyU = placeOf(upper, upper.start[s], key);
    const keyW = placeOf(lower, lower.start[s], key);
    const low = Math.min(key[s], keyU, keyW) - this.reach;
    const high = Math.max(key[s], keyU, keyW) + this.reach;
    mark[s] = stamp;
    let found = 0;
    /** Whether d is near enough to be passed; remembers it the first time. */
    const near = (d: number): boolean => {
      if (key[d] < low || key[d] > high || d === s) return false;
      if (mark[d] !== stamp) {
        mark[d] = stamp;
        delta[d] = 0;
        order[found++] = d;
      }
      return true;
    };
    // Links that lie wholly beside the segment: crossing it means standing on both its sides.
    for (let i = starts.start[first + 1]; i < starts.start[last + 1]; i++) {
      const d = starts.items[i];
      if (!near(d)) continue;
      for (let k = upper.start[d]; k < upper.start[d + 1]; k++) delta[d] += Math.sign(key[upper.items[k]] - key[d]);
    }
    for (let i = ends.start[first]; i < ends.start[last]; i++) {
      const d = ends.items[i];
      if (!near(d)) continue;
      for (let k = lower.start[d]; k < lower.start[d + 1]; k++) delta[d] += Math.sign(key[lower.items[k]] - key[d]);
    }
    // The slanted link at either end.
    for (let i = starts.start[first]; i < starts.start[first + 1]; i++) {
      const d = starts.items[i];
      if (!near(d)) continue;
      for (let k = upper.start[d]; k < upper.start[d + 1]; k++) delta[d] += Math.sign(placeOf(upper, k, key) - keyU);
    }
    for (let i = ends.start[last]; i < ends.start[last + 1]; i++) {
      const d = ends.items[i];
      if (!near(d)) continue;
      for (let k = lower.start[d]; k < lower.start[d + 1]; k++) delta[d] += Math.sign(placeOf(lower, k, key) - keyW);
    }
    for (let i = alive.start[first]; i < alive.start[first + 1]; i++) {
      const d = boxCount + alive.items[i];
      if (top[d] === first || !near(d)) continue;
      delta[d] += Math.sign(key[d] - keyU);
    }
    for (let i = alive.start[last]; i < alive.start[last + 1]; i++) {
      const d = boxCount + alive.items[i];
      if (bottom[d] === last || !near(d)) continue;
      delta[d] += Math.sign(key[d] - keyW);
    }
    this.work -= starts.start[last + 1] - starts.start[first] + ends.start[last + 1] - ends.start[first] + 8 * found;
    this.work -= alive.start[first + 1] - alive.start[first] + alive.start[last + 1] - alive.start[last];
    return found;
  }
}

/** How many ranks all elements are alive on together: sifting needs that much memory. */
export function totalLife({ count, boxCount, top, bottom }: Elements): number {
  let life = boxCount;
  for (let s = boxCount; s < count; s++) life += bottom[s] - top[s] + 1;
  return life;
}

function segmentsByRank({ boxCount, count, top, bottom, rankCount }: Elements): Buckets {
  const start = new Int32Array(rankCount + 1);
  for (let s = boxCount; s < count; s++) for (let r = top[s]; r <= bottom[s]; r++) start[r + 1]++;
  for (let r = 0; r < rankCount; r++) start[r + 1] += start[r];
  const items = new Int32Array(start[rankCount]);
  const cursor = start.slice();
  for (let s = boxCount; s < count; s++) for (let r = top[s]; r <= bottom[s]; r++) items[cursor[r]++] = s - boxCount;
  return { start, items };
}

function endsOf(links: Buckets, end: Int32Array, tilt: Float64Array): Ends {
  const size = links.items.length;
  const items = new Int32Array(size);
  const shift = new Float64Array(size);
  for (let k = 0; k < size; k++) {
    items[k] = end[links.items[k]];
    shift[k] = tilt[links.items[k]] * PORT_SHIFT;
  }
  return { start: links.start, items, shift };
}

function placeOf({ items, shift }: Ends, k: number, key: Float64Array): number {
  return key[items[k]] + shift[k];
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
