import { sortByKey } from "../../base/arrays";
import { bucketBy } from "../../base/csr";
import type { Elements } from "../elements";

/** An order that begins where an earlier drawing left off. */
export interface Resumed {
  readonly position: Int32Array;
  /** 1 for boxes that existed before: they keep their relative order. */
  readonly fixed: Uint8Array;
}

/** Boxes that stayed are ordered by their earlier x; new ones begin among their neighbours. Undefined if too little stayed. */
export function resumeOrder(elements: Elements, previousX: Float64Array): Resumed | undefined {
  const { count, boxCount } = elements;
  const fixed = new Uint8Array(count);
  const key = new Float64Array(count).fill(Number.NaN);
  let stayed = 0;
  for (let v = 0; v < boxCount; v++) {
    if (Number.isNaN(previousX[v])) continue;
    key[v] = previousX[v];
    fixed[v] = 1;
    stayed++;
  }
  if (stayed < 2) return undefined;
  settleNew(elements, fixed, key);
  const order = new Int32Array(count);
  for (let v = 0; v < count; v++) order[v] = v;
  sortByKey(order, 0, count, key, new Int32Array(count));
  const position = new Int32Array(count);
  for (let i = 0; i < count; i++) position[order[i]] = i;
  return { position, fixed };
}

/** Propagates places from what stayed along the links, downwards and upwards in turn. */
function settleNew(elements: Elements, fixed: Uint8Array, key: Float64Array): void {
  const { count, rankCount, top, above, below, linkUpper, linkLower } = elements;
  const order = bucketBy(top, rankCount).value;
  for (let pass = 0; pass < 4; pass++) {
    for (let i = 0; i < count; i++) {
      const v = order[pass % 2 === 0 ? i : count - 1 - i];
      if (fixed[v]) continue;
      let sum = 0;
      let placed = 0;
      for (let k = above.start[v]; k < above.start[v + 1]; k++) {
        const x = key[linkUpper[above.value[k]]];
        if (!Number.isNaN(x)) {
          sum += x;
          placed++;
        }
      }
      for (let k = below.start[v]; k < below.start[v + 1]; k++) {
        const x = key[linkLower[below.value[k]]];
        if (!Number.isNaN(x)) {
          sum += x;
          placed++;
        }
      }
      if (placed > 0) key[v] = sum / placed;
    }
  }
  for (let v = 0; v < count; v++) if (Number.isNaN(key[v])) key[v] = Number.MAX_VALUE;
}
