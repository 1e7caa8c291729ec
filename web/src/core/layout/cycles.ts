import { bucketBy } from "./arrays";

/**
 * Chooses the edges to turn round so that the rest has no cycle: a depth-first walk from the sources, then from whatever is
 * left in node order, where an edge to a node still on the path closes a cycle. Self-loops count as turned.
 * An edge into the first rank's pinned boxes, or out of the last rank's, is turned too, since it cannot run downwards.
 * Edges that are known to close a loop have no say in the walk; they are turned where they run against it. Their pieces to and from a
 * border are ordinary edges.
 */
export function breakCycles(nodeCount: number, source: Int32Array, target: Int32Array, pin?: Uint8Array, closes?: Uint8Array): Uint8Array {
  const reversed = new Uint8Array(source.length);
  const isClosing = (e: number): boolean => closes !== undefined && closes[e] === 1 && !pin?.[source[e]] && !pin?.[target[e]];
  const out = bucketBy(source, nodeCount);
  const inDegree = new Int32Array(nodeCount);
  for (let e = 0; e < target.length; e++) if (source[e] !== target[e] && !isClosing(e)) inDegree[target[e]]++;
  const state = new Uint8Array(nodeCount); // 0 unseen, 1 on the path, 2 done
  const cursor = out.start.slice(0, nodeCount);
  const path = new Int32Array(nodeCount);
  /** When the walk left a box for good: later than everything below it. */
  const left = new Int32Array(nodeCount);
  let clock = 0;

  const walk = (root: number): void => {
    let depth = 0;
    path[0] = root;
    state[root] = 1;
    while (depth >= 0) {
      const v = path[depth];
      if (cursor[v] === out.start[v + 1]) {
        state[v] = 2;
        left[v] = clock++;
        depth--;
        continue;
      }
      const e = out.items[cursor[v]++];
      if (isClosing(e)) continue;
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
  if (closes) for (let e = 0; e < source.length; e++) if (isClosing(e) && left[target[e]] >= left[source[e]]) reversed[e] = 1;
  return reversed;
}
