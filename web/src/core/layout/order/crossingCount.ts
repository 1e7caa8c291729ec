import { PrefixCounter, sortByKey } from "../../base/arrays";
import type { Csr } from "../../base/csr";
import type { Elements } from "../elements";

/**
 * Counts crossings exactly, segments included: two links of a gap cross if their ends are in opposite order, and a link
 * crosses every passing segment that lies between its two ends.
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
  /** Links by element, from the left port to the right one. */
  private readonly leaving: Csr;
  private readonly arriving: Csr;
  /** The place of a link's ends among all ends; links that share a port share a place. */
  private readonly upperPlace: Int32Array;
  private readonly lowerPlace: Int32Array;

  constructor(private readonly elements: Elements) {
    const { count, boxCount, rankCount, top, bottom, linkUpper } = elements;
    const links = linkUpper.length;
    this.gapStart = new Int32Array(rankCount + 1);
    for (let l = 0; l < links; l++) this.gapStart[bottom[linkUpper[l]] + 1]++;
    for (let r = 0; r < rankCount; r++) this.gapStart[r + 1] += this.gapStart[r];
    this.sorted = new Int32Array(links);
    this.spare = new Int32Array(links);
    this.cursor = new Int32Array(Math.max(rankCount, links) + 1);
    this.passing = new PrefixCounter(count);
    this.lower = new PrefixCounter(links);
    this.byPosition = new Int32Array(count);
    this.leaving = fromLeftToRight(elements.below, elements.tiltUpper);
    this.arriving = fromLeftToRight(elements.above, elements.tiltLower);
    this.upperPlace = new Int32Array(links);
    this.lowerPlace = new Int32Array(links);
    // Segments by the rank where they begin and by the rank where they end, interleaved: 2r and 2r + 1.
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
    const { elements, passing, lower, passStart, passItems, sorted, gapStart, lowerPlace } = this;
    const { rankCount, linkUpper, linkLower } = elements;
    this.sortLinks(position);
    let crossings = 0;
    for (let gap = 0; gap < rankCount; gap++) {
      for (let i = passStart[2 * gap]; i < passStart[2 * gap + 1]; i++) passing.add(position[passItems[i]], 1);
      for (let i = passStart[2 * gap + 1]; i < passStart[2 * gap + 2]; i++) passing.add(position[passItems[i]], -1);
      const from = gapStart[gap];
      const to = gapStart[gap + 1];
      for (let i = from; i < to; i++) {
        const link = sorted[i];
        const between = passing.before(position[linkUpper[link]]) - passing.before(position[linkLower[link]]);
        crossings += Math.abs(between) + i - from - lower.before(lowerPlace[link] + 1);
        lower.add(lowerPlace[link], 1);
      }
      for (let i = from; i < to; i++) lower.add(lowerPlace[sorted[i]], -1);
    }
    return crossings;
  }

  /** Links by gap, then by the place of their upper end, then of their lower one: three stable passes. */
  private sortLinks(position: Int32Array): void {
    const { elements, byPosition, sorted, spare, cursor, gapStart, upperPlace } = this;
    const { count, linkUpper, bottom, tiltUpper, tiltLower } = elements;
    for (let v = 0; v < count; v++) byPosition[position[v]] = v;
    placeEnds(this.leaving, byPosition, tiltUpper, upperPlace);
    placeEnds(this.arriving, byPosition, tiltLower, this.lowerPlace);
    cursor.fill(0);
    for (let l = 0; l < upperPlace.length; l++) cursor[upperPlace[l] + 1]++;
    for (let i = 0; i + 1 < cursor.length; i++) cursor[i + 1] += cursor[i];
    for (let i = 0; i < count; i++) {
      const v = byPosition[i];
      for (let k = this.arriving.start[v]; k < this.arriving.start[v + 1]; k++) {
        const link = this.arriving.value[k];
        spare[cursor[upperPlace[link]]++] = link;
      }
    }
    cursor.set(gapStart);
    for (let i = 0; i < spare.length; i++) sorted[cursor[bottom[linkUpper[spare[i]]]]++] = spare[i];
  }
}

function fromLeftToRight(links: Csr, tilt: Float64Array): Csr {
  const value = links.value.slice();
  const spare = new Int32Array(value.length);
  for (let v = 0; v + 1 < links.start.length; v++) sortByKey(value, links.start[v], links.start[v + 1], tilt, spare);
  return { start: links.start, value };
}

function placeEnds(links: Csr, byPosition: Int32Array, tilt: Float64Array, place: Int32Array): void {
  let next = -1;
  for (let i = 0; i < byPosition.length; i++) {
    const v = byPosition[i];
    let last = Number.NaN;
    for (let k = links.start[v]; k < links.start[v + 1]; k++) {
      const link = links.value[k];
      if (tilt[link] !== last) next++;
      last = tilt[link];
      place[link] = next;
    }
  }
}
