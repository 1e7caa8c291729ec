import { PositionSet } from "../../base/arrays";
import { bucketBy } from "../../base/csr";
import type { Elements } from "../elements";

/** Which elements are next to each other on some rank: all that is needed to keep boxes apart, in linear size. */
export interface Separations {
  readonly count: number;
  readonly left: Int32Array;
  readonly right: Int32Array;
}

/** Replays the ranks once: a new element is adjacent to its neighbours, and when one ends, its neighbours become adjacent. */
export function findSeparations(elements: Elements, position: Int32Array): Separations {
  const { count, rankCount, top, bottom } = elements;
  const byPosition = new Int32Array(count);
  for (let v = 0; v < count; v++) byPosition[position[v]] = v;
  const starts = bucketBy(top, rankCount);
  const ends = bucketBy(bottom, rankCount);
  const live = new PositionSet(count);
  const left = new Int32Array(3 * count);
  const right = new Int32Array(3 * count);
  const lastRight = new Int32Array(count).fill(-1);
  let pairs = 0;
  const addPair = (leftPosition: number, rightPosition: number): void => {
    if (leftPosition < 0 || rightPosition < 0) return;
    const a = byPosition[leftPosition];
    const b = byPosition[rightPosition];
    if (lastRight[a] === b) return;
    lastRight[a] = b;
    left[pairs] = a;
    right[pairs++] = b;
  };
  for (let rank = 0; rank < rankCount; rank++) {
    if (rank > 0) {
      for (let i = ends.start[rank - 1]; i < ends.start[rank]; i++) live.remove(position[ends.value[i]]);
    }
    for (let i = starts.start[rank]; i < starts.start[rank + 1]; i++) live.add(position[starts.value[i]]);
    for (let i = starts.start[rank]; i < starts.start[rank + 1]; i++) {
      const p = position[starts.value[i]];
      addPair(live.previous(p), p);
      addPair(p, live.next(p));
    }
    if (rank > 0) {
      for (let i = ends.start[rank - 1]; i < ends.start[rank]; i++) {
        const p = position[ends.value[i]];
        const before = live.previous(p);
        if (before >= 0) addPair(before, live.next(before));
      }
    }
  }
  return { count: pairs, left: left.slice(0, pairs), right: right.slice(0, pairs) };
}
