import { CrossingCounter } from "./crossings";
import type { Elements } from "./elements";
import { Sifter, siftingWork } from "./sifting";
import { Sweeper } from "./sweeps";

/** When to stop improving: asked between rounds, so a first order is always there. */
export type Spent = () => boolean;

/**
 * Orders all elements so that edges cross little, and keeps the best order seen. Small graphs get many sweeps, huge ones few.
 * Returns the place of each element in one order of the whole drawing.
 */
export function orderElements(elements: Elements, spent: Spent): Int32Array {
  const position = firstOrder(elements);
  const { count } = elements;
  if (count < 2) return position;
  const sweeper = new Sweeper(elements);
  const counter = new CrossingCounter(elements);
  const rounds = Math.max(4, Math.min(24, Math.round(200_000 / (count + 1000))));
  const best = position.slice();
  let fewest = counter.count(position);
  let stale = 0;
  for (let round = 0; round < rounds && fewest > 0 && stale < 8; round++) {
    sweeper.sweep(position, round % 2 === 0, round % 8 < 4 ? "mean" : "median", round % 4 >= 2);
    const crossings = counter.count(position);
    if (crossings < fewest) {
      fewest = crossings;
      best.set(position);
      stale = 0;
    } else stale++;
    if (spent()) break;
  }
  if (fewest > 0 && siftingWork(elements) < 4_000_000) sift(elements, best, spent);
  return best;
}

function sift(elements: Elements, position: Int32Array, spent: Spent): void {
  const sifter = new Sifter(elements);
  for (let round = 0; round < 30; round++) {
    if (sifter.round(position) === 0 || spent()) return;
  }
}

/** Depth first along the edges: neighbours start out near each other. */
function firstOrder({ count, boxCount, below, above, linkLower }: Elements): Int32Array {
  const position = new Int32Array(count).fill(-1);
  const stack = new Int32Array(linkLower.length + count);
  let next = 0;
  for (let root = 0; root < count; root++) {
    if (position[root] >= 0 || (root < boxCount && above.start[root + 1] > above.start[root])) continue;
    let depth = 0;
    stack[depth++] = root;
    while (depth > 0) {
      const v = stack[--depth];
      if (position[v] >= 0) continue;
      position[v] = next++;
      for (let k = below.start[v + 1] - 1; k >= below.start[v]; k--) {
        const w = linkLower[below.items[k]];
        if (position[w] < 0) stack[depth++] = w;
      }
    }
  }
  return position;
}
