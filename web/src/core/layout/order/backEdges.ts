import { bucketBy } from "../../base/csr";
import type { Elements } from "../elements";

/**
 * Finds a place in the order for edges that run against the ranks: loops and short ones next to their box, long ones
 * outside of everything, the shortest innermost.
 */
export function placeReversed(
  elements: Elements,
  position: Int32Array,
  source: Int32Array,
  target: Int32Array,
  reversed: Uint8Array,
): void {
  const { count, top, bottom, segmentOfEdge } = elements;
  const after = new Int32Array(count).fill(-1);
  const isReversed = new Uint8Array(count);
  const long: number[] = [];
  for (let e = 0; e < source.length; e++) {
    if (!reversed[e]) continue;
    const s = segmentOfEdge[e];
    isReversed[s] = 1;
    const right = position[source[e]] > position[target[e]] ? source[e] : target[e];
    if (bottom[s] - top[s] <= 1) after[s] = right;
    else long.push(s);
  }
  if (long.length === 0 && !isReversed.includes(1)) return;
  long.sort((a, b) => bottom[a] - top[a] - (bottom[b] - top[b]) || a - b);
  const byPosition = new Int32Array(count);
  for (let v = 0; v < count; v++) byPosition[position[v]] = v;
  const following = bucketBy(after, count);
  let next = 0;
  for (const v of byPosition) {
    if (isReversed[v]) continue;
    position[v] = next++;
    for (let k = following.start[v]; k < following.start[v + 1]; k++) position[following.value[k]] = next++;
  }
  for (const s of long) position[s] = next++;
}
