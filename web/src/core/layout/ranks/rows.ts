/** Rows of inputs and results that are longer than a screen become several rows. */
import type { FlatGraph } from "../types";

/** A row up to this length stays one. */
const LONGEST = 1600;
/** A longer one is broken into rows of about this length. */
const ROW = 1000;
/** More rows than this would put the first too far from what reads it: every line of the others passes between its boxes. */
const MOST_ROWS = 12;
/** In a larger graph, lines that pass more rows cross more of each other than the shorter rows save. */
const MOST_BOXES = 500;
/** Boxes higher than this are groups that are open or large: below each other they would make the drawing long instead of wide. */
const LOW = 120;

/**
 * Ranks in which the boxes that nothing in the graph feeds (the weights of a loop, the operands of a node alone) are in several rows above
 * each other if one would be too long, and so are those that nothing reads. Neighbours are in the same column, so lines stay short.
 */
export function breakRows(rank: Int32Array, { nodeCount, width, height, edgeSource, edgeTarget, pin }: FlatGraph, gap: number): Int32Array {
  if (nodeCount > MOST_BOXES) return rank;
  let rankCount = 0;
  for (let v = 0; v < nodeCount; v++) rankCount = Math.max(rankCount, rank[v] + 1);
  const isBelow = new Uint8Array(nodeCount);
  const isAbove = new Uint8Array(nodeCount);
  for (let e = 0; e < edgeSource.length; e++) {
    const [u, v] = [edgeSource[e], edgeTarget[e]];
    if (rank[u] === rank[v]) continue;
    const [upper, lower] = rank[u] < rank[v] ? [u, v] : [v, u];
    isAbove[upper] = isBelow[lower] = 1;
  }
  const mayMove = (v: number, other: Uint8Array): boolean => !pin?.[v] && !other[v] && height[v] <= LOW;
  const before = rowsOf((v) => mayMove(v, isBelow));
  const after = rowsOf((v) => mayMove(v, isAbove) && !mayMove(v, isBelow));
  if (!before && !after) return rank;
  const first = new Int32Array(rankCount + 1);
  for (let r = 0; r < rankCount; r++) first[r + 1] = first[r] + (before?.[r] ?? 1) + (after?.[r] ?? 1) - 1;
  const turns = [new Int32Array(rankCount), new Int32Array(rankCount)];
  return rank.map((r, v) => {
    const own = first[r] + (before?.[r] ?? 1) - 1;
    if (before && before[r] > 1 && mayMove(v, isBelow)) return first[r] + (turns[0][r]++ % before[r]);
    if (after && after[r] > 1 && mayMove(v, isAbove) && !mayMove(v, isBelow)) return own + (turns[1][r]++ % after[r]);
    return own;
  });

  /** How many rows each rank needs for the boxes that may move; undefined if one is enough for all. */
  function rowsOf(moves: (v: number) => boolean): Int32Array | undefined {
    const length = new Float64Array(rankCount);
    for (let v = 0; v < nodeCount; v++) if (moves(v)) length[rank[v]] += width[v] + gap;
    if (!length.some((each) => each > LONGEST)) return undefined;
    return Int32Array.from(length, (each) => (each > LONGEST ? Math.min(MOST_ROWS, Math.ceil(each / ROW)) : 1));
  }
}
