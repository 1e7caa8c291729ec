import { bucketBy } from "../../base/csr";
import { distances, type Gaps } from "../coordinates/coordinates";
import { findSeparations } from "../coordinates/separation";
import { packings, WIDEST } from "../coordinates/squeeze";
import type { Elements } from "../elements";
import type { FlatGraph } from "../types";

/** An order that needs this many times the width of its widest rank, or of most of a screen, forces a staircase. */
const STAIRCASE = 1.3;
/** Which segments go to the sides, by the ranks that they pass: the longest first, and more only while a staircase is left. */
const SPANS = [64, 16, 4, 2];
/** The blocks of an order, from left to right: lanes, everything else, lanes. */
const [LEFT, MIDDLE, RIGHT, BLOCKS] = [0, 1, 2, 3];

/**
 * Moves long segments to the left and the right of all boxes where they force a staircase: a line that passes one wide box on its right
 * and the next one on its left puts the second beside the first, though neither is next to the other. Boxes keep their order. It costs
 * crossings, so only a container with lines across its frame is made narrower, because it pushes apart what is around it.
 */
export function sideLanes(elements: Elements, position: Int32Array, graph: FlatGraph, gaps: Gaps): Int32Array {
  if (!graph.pin?.includes(1) && !graph.pin?.includes(2)) return position;
  const { count, boxCount, top, bottom } = elements;
  const least = (order: Int32Array): number => {
    const separations = findSeparations(elements, order);
    return packings(elements, separations, distances(elements, separations, graph.width, gaps, graph.pin), order, graph.width).width;
  };
  const isStaircase = (order: Int32Array, lanes: number) =>
    least(order) > STAIRCASE * Math.max(WIDEST, widestRank(elements, graph.width)) + lanes * gaps.betweenSegments;
  if (!isStaircase(position, 0)) return position;
  const side = sides(elements, position, graph.width);
  let order = position;
  for (const span of SPANS) {
    const block = new Uint8Array(count).fill(MIDDLE);
    let lanes = 0;
    for (let v = boxCount; v < count; v++) {
      if (bottom[v] - top[v] + 1 < span) continue;
      block[v] = side[v];
      lanes++;
    }
    order = inBlocks(position, block);
    if (!isStaircase(order, lanes)) break;
  }
  return order;
}

function widestRank({ boxCount, rankCount, top }: Elements, width: Float64Array): number {
  const total = new Float64Array(rankCount);
  for (let v = 0; v < boxCount; v++) total[top[v]] += width[v];
  return total.reduce((most, each) => Math.max(most, each), 0);
}

/** The side of the boxes of its first rank on which a segment has less of them. */
function sides({ count, boxCount, rankCount, top }: Elements, position: Int32Array, width: Float64Array): Uint8Array {
  const side = new Uint8Array(count);
  const starts = bucketBy(top, rankCount);
  for (let rank = 0; rank < rankCount; rank++) {
    const here = starts.value.slice(starts.start[rank], starts.start[rank + 1]).sort((a, b) => position[a] - position[b]);
    const total = here.reduce((sum, v) => sum + (v < boxCount ? width[v] : 0), 0);
    let before = 0;
    for (const v of here) {
      if (v < boxCount) before += width[v];
      else side[v] = before < total / 2 ? LEFT : RIGHT;
    }
  }
  return side;
}

/** One block after the other; within a block the order stays. */
function inBlocks(position: Int32Array, block: Uint8Array): Int32Array {
  const byPosition = new Int32Array(position.length);
  for (let v = 0; v < position.length; v++) byPosition[position[v]] = v;
  const blocks = bucketBy(
    byPosition.map((v) => block[v]),
    BLOCKS,
  );
  const order = new Int32Array(position.length);
  for (const [i, place] of blocks.value.entries()) order[byPosition[place]] = i;
  return order;
}
