import { PrefixCounter } from "./arrays";
import type { Elements } from "./elements";

/**
 * Counts crossings exactly, segments included: two links of a gap cross where their ends stand in opposite order, and a link
 * crosses every passing segment that stands on different sides of its two ends.
 */
export class CrossingCounter {
  private readonly gapStart: Int32Array;
  private readonly sorted: Int32Array;
  private readonly spare: Int32Array;
  private readonly passing: PrefixCounter;
  private readonly lower: PrefixCounter;
  private readonly passStart: Int32Array;
  private readonly passItems: Int32Array;
  private readonly byPosition: Int32Array;
  private readonly cursor: Int32Array;

  constructor(private readonly elements: Elements) {
    const { count, boxCount, rankCount, top, bottom, linkUpper } = elements;
    this.gapStart = new Int32Array(rankCount + 1);
    for (let l = 0; l < linkUpper.length; l++) this.gapStart[bottom[linkUpper[l]] + 1]++;
    for (let r = 0; r < rankCount; r++) this.gapStart[r + 1] += this.gapStart[r];
    this.sorted = new Int32Array(linkUpper.length);
    this.spare = new Int32Array(linkUpper.length);
    this.cursor = new Int32Array(Math.max(rankCount, count) + 1);
    this.passing = new PrefixCounter(count);
    this.lower = new PrefixCounter(count);
    this.byPosition = new Int32Array(count);
    // Segments by the rank on which they begin and by that on which they end, interleaved: 2r and 2r + 1.
    this.passStart = new Int32Array(2 * rankCount + 1);
    for (let s = boxCount; s < count; s++) {
      this.passStart[2 * top[s] + 1]++;
      this.passStart[2 * bottom[s] + 2]++;
    }
    for (let r = 0; r < 2 * rankCount; r++) this.passStart[r + 1] += this.passStart[r];
    this.passItems = new Int32Array(2 * (count - boxCount));
    const cursor = this.passStart.slice();
    for (let s = boxCount; s < count; s++) {
      this.passItems[cursor[2 * top[s]]++] = s;
      this.passItems[cursor[2 * bottom[s] + 1]++] = s;
    }
  }

  count(position: Int32Array): number {
    const { elements, passing, lower, passStart, passItems, sorted, gapStart } = this;
    const { rankCount, linkUpper, linkLower } = elements;
    this.sortLinks(position);
    let crossings = 0;
    for (let gap = 0; gap < rankCount; gap++) {
      for (let i = passStart[2 * gap]; i < passStart[2 * gap + 1]; i++) passing.add(position[passItems[i]], 1);
      for (let i = passStart[2 * gap + 1]; i < passStart[2 * gap + 2]; i++) passing.add(position[passItems[i]], -1);
      const from = gapStart[gap];
      const to = gapStart[gap + 1];
      for (let i = from; i < to; i++) {
        const upper = position[linkUpper[sorted[i]]];
        const under = position[linkLower[sorted[i]]];
        crossings += Math.abs(passing.before(upper) - passing.before(under));
        crossings += i - from - lower.before(under + 1);
        lower.add(under, 1);
      }
      for (let i = from; i < to; i++) lower.add(position[linkLower[sorted[i]]], -1);
    }
    return crossings;
  }

  /** Links by gap, then by the place of their upper end, then of their lower one: three stable passes. */
  private sortLinks(position: Int32Array): void {
    const { elements, byPosition, sorted, spare, cursor, gapStart } = this;
    const { count, linkUpper, bottom, above, below } = elements;
    for (let v = 0; v < count; v++) byPosition[position[v]] = v;
    let next = 0;
    for (let i = 0; i < count; i++) {
      cursor[i] = next;
      next += below.start[byPosition[i] + 1] - below.start[byPosition[i]];
    }
    for (let i = 0; i < count; i++) {
      const v = byPosition[i];
      for (let k = above.start[v]; k < above.start[v + 1]; k++) {
        const link = above.items[k];
        spare[cursor[position[linkUpper[link]]]++] = link;
      }
    }
    cursor.set(gapStart);
    for (let i = 0; i < spare.length; i++) sorted[cursor[bottom[linkUpper[spare[i]]]]++] = spare[i];
  }
}
