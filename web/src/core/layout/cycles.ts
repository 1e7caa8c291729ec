import { bucketBy } from "./arrays";

/**
 * Chooses the edges to turn round so that the rest has no cycle: a depth-first walk from the sources, then from whatever is
 * left in node order, where an edge to a node still on the path closes a cycle. Self-loops count as turned.
 * An edge into the first rank's pinned boxes, or out of the last rank's, is turned too, since it cannot run downwards.
 */
export function breakCycles(nodeCount: number, source: Int32Array, target: Int32Array, pin?: Uint8Array): Uint8Array {
  const reversed = new Uint8Array(source.length);
  const out = bucketBy(source, nodeCount);
  const inDegree = new Int32Array(nodeCount);
  for (let e = 0; e < target.length; e++) if (source[e] !== target[e]) inDegree[target[e]]++;
  const state = new Uint8Array(nodeCount); // 0 unseen, 1 on the path, 2 done
  const cursor = out.start.slice(0, nodeCount);
  const path = new Int32Array(nodeCount);

  const walk = (root: number): void => {
    let depth = 0;
    path[0] = root;
    state[root] = 1;
    while (depth >= 0) {
      const v = path[depth];
      if (cursor[v] === out.start[v + 1]) {
        state[v] = 2;
        depth--;
        continue;
      }
      const e = out.items[cursor[v]++];
      const w = target[e];
      if (state[w] === 1 || (pin && (pin[w] === 1 || pin[v] === 2))) reversed[e] = 1;
      else if (state[w] === 0) {
        state[w] = 1;
        path[++depth] = w;
      }
    }
  };

  for (let v = 0; v < nodeCount; v++) if (inDegree[v] === 0 && state[v] === 0) walk(v);
  for (let v = 0; v < nodeCount; v++) if (state[v] === 0) walk(v);
  return reversed;
}
