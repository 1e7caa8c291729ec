import { PositionSet, sortByKey } from "../../base/arrays";
import { bucketBy } from "../../base/csr";
import type { Elements } from "../elements";

/**
 * Spreads parameters and constants evenly around the input that their user gets from the rest of the graph. They have
 * one edge each, so their order among neighbouring inputs of one user changes no crossing; but all on one side they would
 * push the main path sideways a little at every rank.
 */
export function balanceLeaves(elements: Elements, position: Int32Array): void {
  const { count, boxCount, rankCount, top, bottom, above, linkUpper } = elements;
  const starts = bucketBy(top, rankCount);
  const ends = bucketBy(bottom, rankCount);
  const live = new PositionSet(count);
  const inputs = new Int32Array(linkUpper.length);
  const spare = new Int32Array(linkUpper.length);
  for (let rank = 0; rank + 1 < rankCount; rank++) {
    for (let i = starts.start[rank]; i < starts.start[rank + 1]; i++) live.add(position[starts.value[i]]);
    for (let i = starts.start[rank + 1]; i < starts.start[rank + 2]; i++) {
      const user = starts.value[i];
      const from = above.start[user];
      const size = above.start[user + 1] - from;
      if (user >= boxCount || size < 3) continue;
      for (let k = 0; k < size; k++) inputs[k] = linkUpper[above.value[from + k]];
      sortByKey(inputs, 0, size, position, spare);
      for (let low = 0; low < size; ) {
        let high = low + 1;
        while (high < size && live.next(position[inputs[high - 1]]) === position[inputs[high]]) high++;
        spreadRun(elements, position, inputs, low, high, spare);
        low = high;
      }
    }
    for (let i = ends.start[rank]; i < ends.start[rank + 1]; i++) live.remove(position[ends.value[i]]);
  }
}

/** Within the adjacent inputs[low…high): half the leaves, then the others, then the other leaves. */
function spreadRun(
  { boxCount, isLeaf, below }: Elements,
  position: Int32Array,
  inputs: Int32Array,
  low: number,
  high: number,
  spare: Int32Array,
): void {
  let leaves = 0;
  for (let i = low; i < high; i++) {
    const v = inputs[i];
    if (v >= boxCount || below.start[v + 1] - below.start[v] !== 1) return;
    leaves += isLeaf[v];
  }
  if (leaves < 2 || leaves === high - low) return;
  const place = spare.subarray(0, high - low);
  for (let i = low; i < high; i++) place[i - low] = position[inputs[i]];
  const half = leaves >> 1;
  let placed = 0;
  let others = 0;
  for (let i = low; i < high; i++) {
    const v = inputs[i];
    if (!isLeaf[v]) position[v] = place[half + others++];
    else {
      position[v] = placed < half ? place[placed] : place[placed + high - low - leaves];
      placed++;
    }
  }
}
