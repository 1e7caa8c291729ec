/** Many values that run from one operation to another (what a forward half saves for its backward) are one line with their number. */

import { EdgeKind } from "../../program/types";
import { TripleMap } from "../../base/csr";
import type { Edges } from "./edges";

/** This many lines between two boxes can still be distinguished. */
const MOST = 8;

export function bundleEdges(edges: Edges): void {
  const pairs = new TripleMap(edges.count);
  const size: number[] = [];
  const first: number[] = [];
  const pair = new Int32Array(edges.count).fill(-1);
  for (let e = 0; e < edges.count; e++) {
    if (edges.kind[e] !== EdgeKind.Data) continue;
    const number = pairs.number(edges.source[e], edges.target[e], 0);
    if (number === size.length) {
      size.push(0);
      first.push(e);
    }
    size[number]++;
    pair[e] = number;
  }
  const gone = new Uint8Array(edges.count);
  const bundled = new Set<number>();
  for (let e = 0; e < edges.count; e++) {
    if (pair[e] < 0 || size[pair[e]] <= MOST) continue;
    const into = first[pair[e]];
    if (into === e) {
      edges.sourcePort[e] = edges.targetPort[e] = 0.5;
      bundled.add(edges.target[e]);
      continue;
    }
    edges.merged[into] += edges.merged[e];
    edges.distinct[into] += edges.distinct[e];
    gone[e] = 1;
  }
  for (let e = 0; e < edges.count; e++) if (bundled.has(edges.target[e])) edges.operand[e] = -1;
  edges.remove(gone);
}
