import { sortByKey } from "../../base/arrays";
import { type Csr, bucketBy } from "../../base/csr";
import type { Elements } from "../elements";
import { LiveList } from "./liveList";

/** How a sweep places an element among the rank before: by the mean of its neighbours' places or by their median. */
export type Measure = "mean" | "median";

/**
 * One sweep walks the ranks downwards or upwards and rebuilds the order: what enters on a rank goes to the measure of its
 * neighbours on the rank before, passing segments keep their order, and equal measures keep their order (or reverse it,
 * which lets the next sweep escape a local minimum).
 */
export class Sweeper {
  private readonly list: LiveList;
  private readonly measure: Float64Array;
  private readonly spare: Int32Array;
  private readonly byPosition: Int32Array;
  private readonly enter: Int32Array;
  private readonly places: Float64Array;

  constructor(private readonly elements: Elements) {
    const { count, rankCount } = elements;
    this.list = new LiveList(count);
    this.measure = new Float64Array(count);
    this.spare = new Int32Array(count);
    this.byPosition = new Int32Array(count);
    this.enter = new Int32Array(rankCount + 1);
    this.places = new Float64Array(widestFan(elements));
  }

  /** `position` holds the order before and after. */
  sweep(position: Int32Array, downwards: boolean, kind: Measure, reverseTies: boolean): void {
    const { elements, list, measure } = this;
    const { rankCount } = elements;
    const starts = downwards ? elements.top : elements.bottom;
    const ends = downwards ? elements.bottom : elements.top;
    const entering = this.enteringInOrder(position, starts, reverseTies);
    const leaving = bucketBy(ends, rankCount);
    list.clear();
    for (let step = 0; step < rankCount; step++) {
      const rank = downwards ? step : rankCount - 1 - step;
      const from = this.enter[rank];
      const to = this.enter[rank + 1];
      if (step === 0) {
        let last = -1;
        for (let i = from; i < to; i++) {
          const element = entering[reverseTies ? to - 1 - (i - from) : i];
          list.insertAfter(last, element);
          last = element;
        }
      } else {
        list.index();
        this.measureAll(entering, from, to, downwards, kind);
        sortByKey(entering, from, to, measure, this.spare);
        for (let i = from; i < to; i++) {
          const anchor = Math.min(list.length - 1, Math.floor(measure[entering[i]] + 0.5));
          this.spare[i] = anchor < 0 ? -1 : list.at(anchor);
        }
        for (let i = to - 1; i >= from; i--) list.insertAfter(this.spare[i], entering[i]);
        const left = downwards ? rank - 1 : rank + 1;
        for (let i = leaving.start[left]; i < leaving.start[left + 1]; i++) list.remove(leaving.value[i]);
      }
    }
    list.writePositions(position);
  }

  /** Elements by the rank on which they enter, each rank in the present order (or its reverse). */
  private enteringInOrder(position: Int32Array, starts: Int32Array, backwards: boolean): Int32Array {
    const { count, rankCount } = this.elements;
    const { byPosition, enter, spare } = this;
    for (let v = 0; v < count; v++) byPosition[position[v]] = v;
    enter.fill(0);
    for (let v = 0; v < count; v++) enter[starts[v] + 1]++;
    for (let r = 0; r < rankCount; r++) enter[r + 1] += enter[r];
    const result = new Int32Array(count);
    spare.set(enter.subarray(0, Math.min(rankCount, spare.length)));
    for (let i = 0; i < count; i++) {
      const v = byPosition[backwards ? count - 1 - i : i];
      result[spare[starts[v]]++] = v;
    }
    return result;
  }

  /** What has no neighbour on the rank before stays next to the element that it was next to. */
  private measureAll(entering: Int32Array, from: number, to: number, downwards: boolean, kind: Measure): void {
    const { elements, measure } = this;
    const links = downwards ? elements.above : elements.below;
    const other = downwards ? elements.linkUpper : elements.linkLower;
    const tilt = downwards ? elements.tiltUpper : elements.tiltLower;
    let firstMeasure = Number.NaN;
    let last = Number.NaN;
    for (let i = from; i < to; i++) {
      const v = entering[i];
      const m = this.measureOf(v, links, other, tilt, kind);
      if (m > -1) {
        last = m;
        if (Number.isNaN(firstMeasure)) firstMeasure = m;
      }
      measure[v] = m > -1 ? m : last;
    }
    if (Number.isNaN(firstMeasure)) firstMeasure = this.list.length - 1;
    for (let i = from; i < to && Number.isNaN(measure[entering[i]]); i++) measure[entering[i]] = firstMeasure;
  }

  private measureOf(v: number, links: Csr, other: Int32Array, tilt: Float64Array, kind: Measure): number {
    const { list, places } = this;
    const low = links.start[v];
    const high = links.start[v + 1];
    const degree = high - low;
    if (degree === 0) return -1;
    if (degree === 1) return list.indexOf(other[links.value[low]]) + tilt[links.value[low]];
    if (kind === "mean" || degree === 2) {
      let sum = 0;
      for (let k = low; k < high; k++) sum += list.indexOf(other[links.value[k]]) + tilt[links.value[k]];
      return sum / degree;
    }
    for (let k = low; k < high; k++) places[k - low] = list.indexOf(other[links.value[k]]) + tilt[links.value[k]];
    const sorted = places.subarray(0, degree).sort();
    const middle = degree >> 1;
    if (degree & 1) return sorted[middle];
    const left = sorted[middle - 1] - sorted[0];
    const right = sorted[degree - 1] - sorted[middle];
    if (left + right === 0) return (sorted[middle - 1] + sorted[middle]) / 2;
    return (sorted[middle - 1] * right + sorted[middle] * left) / (left + right);
  }
}

function widestFan({ count, above, below }: Elements): number {
  let widest = 1;
  for (let v = 0; v < count; v++) {
    widest = Math.max(widest, above.start[v + 1] - above.start[v], below.start[v + 1] - below.start[v]);
  }
  return widest;
}
