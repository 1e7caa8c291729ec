import { PositionSet, sortByKey } from "../../base/arrays";
import { type Csr, bucketBy } from "../../base/csr";
import type { Elements } from "../elements";
import type { MainPaths } from "./mainPath";

/**
 * The vertical alignments of Brandes and Köpf, on elements: each element lines up with its main path, or else with a
 * middle neighbour on the rank before, unless that would cross a passing segment or an earlier alignment. Aligned elements form
 * blocks with one x, and `blockOf` names each element's block by its first element.
 */
export class Aligner {
  private readonly upper: Csr;
  private readonly lower: Csr;
  private readonly startsInOrder: Csr;
  private readonly endsInOrder: Csr;
  private readonly preference: Uint8Array;

  constructor(
    private readonly elements: Elements,
    private readonly position: Int32Array,
    private readonly mainPaths: MainPaths,
  ) {
    const { count, rankCount, top, bottom, above, below, linkUpper, linkLower } = elements;
    this.upper = neighboursInOrder(above, linkUpper, position);
    this.lower = neighboursInOrder(below, linkLower, position);
    this.startsInOrder = ranksInOrder(top, position, rankCount);
    this.endsInOrder = ranksInOrder(bottom, position, rankCount);
    this.preference = new Uint8Array(count);
    for (let v = 0; v < count; v++) this.preference[v] = this.preferenceFor(v);
  }

  /** Preferred are boxes with several edges, then passing edges, then boxes with a single edge. */
  private preferenceFor(v: number): number {
    if (v >= this.elements.boxCount) return 1;
    return this.elements.isLeaf[v] ? 0 : 2;
  }

  align(fromAbove: boolean, fromLeft: boolean): Int32Array {
    const { count, boxCount, rankCount, top, bottom } = this.elements;
    const { position } = this;
    const neighbours = fromAbove ? this.upper : this.lower;
    const followed = fromAbove ? this.mainPaths.above : this.mainPaths.below;
    const taken = fromAbove ? this.mainPaths.below : this.mainPaths.above;
    const entering = fromAbove ? this.startsInOrder : this.endsInOrder;
    const starts = fromAbove ? this.startsInOrder : this.endsInOrder;
    const ends = fromAbove ? this.endsInOrder : this.startsInOrder;
    const passing = new PositionSet(count);
    const blockOf = new Int32Array(count);
    for (let v = 0; v < count; v++) blockOf[v] = v;
    const candidates = new Int32Array(count);
    for (let step = 1; step < rankCount; step++) {
      const rank = fromAbove ? step : rankCount - 1 - step;
      const before = fromAbove ? rank - 1 : rank + 1;
      for (let i = starts.start[before]; i < starts.start[before + 1]; i++) {
        const s = starts.value[i];
        if (s >= boxCount && top[s] !== bottom[s]) passing.add(position[s]);
      }
      for (let i = ends.start[before]; i < ends.start[before + 1]; i++) {
        const s = ends.value[i];
        if (s >= boxCount && top[s] !== bottom[s]) passing.remove(position[s]);
      }
      let barrier = fromLeft ? -1 : count;
      const from = entering.start[rank];
      const to = entering.start[rank + 1];
      for (let i = from; i < to; i++) {
        const v = entering.value[fromLeft ? i : from + to - 1 - i];
        const next = followed[v];
        candidates[0] = next;
        const candidateCount = next >= 0 ? 1 : this.candidatesOf(v, neighbours, taken, candidates);
        if (candidateCount === 0) continue;
        const low = (candidateCount - 1) >> 1;
        const high = candidateCount >> 1;
        const side = passing.previous(position[v]);
        for (let pick = 0; pick < 2; pick++) {
          if (pick === 1 && low === high) break;
          const u = candidates[(pick === 0) === fromLeft ? low : high];
          const free = fromLeft ? position[u] > barrier : position[u] < barrier;
          if (!free || passing.previous(position[u]) !== side) continue;
          blockOf[v] = blockOf[u];
          barrier = position[u];
          break;
        }
      }
    }
    return blockOf;
  }

  /** The preferred neighbours to line up with, without those that line up with their own main path on this side. */
  private candidatesOf(v: number, neighbours: Csr, taken: Int32Array, candidates: Int32Array): number {
    let most = -1;
    let count = 0;
    for (let k = neighbours.start[v]; k < neighbours.start[v + 1]; k++) {
      const u = neighbours.value[k];
      if (taken[u] >= 0) continue;
      if (this.preference[u] > most) {
        most = this.preference[u];
        count = 0;
      }
      if (this.preference[u] === most) candidates[count++] = u;
    }
    return count;
  }
}

function neighboursInOrder(links: Csr, end: Int32Array, position: Int32Array): Csr {
  const value = new Int32Array(links.value.length);
  for (let i = 0; i < value.length; i++) value[i] = end[links.value[i]];
  const spare = new Int32Array(value.length);
  for (let v = 0; v + 1 < links.start.length; v++) {
    if (links.start[v + 1] - links.start[v] > 1) sortByKey(value, links.start[v], links.start[v + 1], position, spare);
  }
  return { start: links.start, value };
}

function ranksInOrder(rank: Int32Array, position: Int32Array, rankCount: number): Csr {
  const buckets = bucketBy(rank, rankCount);
  const spare = new Int32Array(rank.length);
  for (let r = 0; r < rankCount; r++) sortByKey(buckets.value, buckets.start[r], buckets.start[r + 1], position, spare);
  return buckets;
}
