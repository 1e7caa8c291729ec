/** Strongly connected components (Tarjan), without recursion. */

import type { Csr } from "../../program/types";

/** The component number of each vertex of a graph, given as successor rows. */
export function components(next: Csr): Int32Array {
  const count = next.start.length - 1;
  const component = new Int32Array(count).fill(-1);
  const index = new Int32Array(count).fill(-1);
  const low = new Int32Array(count);
  const at = new Int32Array(count);
  const path: number[] = [];
  const waiting: number[] = [];
  let visited = 0;
  let componentCount = 0;
  for (let root = 0; root < count; root++) {
    if (index[root] >= 0) continue;
    path.push(root);
    while (path.length > 0) {
      const v = path[path.length - 1];
      if (index[v] < 0) {
        index[v] = low[v] = visited++;
        at[v] = next.start[v];
        waiting.push(v);
      }
      let descended = false;
      while (at[v] < next.start[v + 1]) {
        const w = next.value[at[v]++];
        if (index[w] < 0) {
          path.push(w);
          descended = true;
          break;
        }
        if (component[w] < 0) low[v] = Math.min(low[v], index[w]);
      }
      if (descended) continue;
      path.pop();
      if (path.length > 0) low[path[path.length - 1]] = Math.min(low[path[path.length - 1]], low[v]);
      if (low[v] === index[v]) {
        let w: number;
        do {
          w = waiting.pop() as number;
          component[w] = componentCount;
        } while (w !== v);
        componentCount++;
      }
    }
  }
  return component;
}
