import { bucketBy } from "../../base/csr";
import type { Elements } from "../elements";
import type { Separations } from "./separation";
import { improveEvenly } from "../ranks/simplex";
import type { MainPaths } from "./mainPath";

/** Where a link is attached to its two elements: offsets from their centres. */
export interface Attachments {
  readonly upper: Float64Array;
  readonly lower: Float64Array;
}

/** Elements that move as one: main paths that are straight already. Each is at its block's x plus an offset. */
interface Blocks {
  readonly count: number;
  readonly of: Int32Array;
  readonly offset: Float64Array;
}

/**
 * Moves elements, within their order, so that the total horizontal length of the links is least. Each link gets a helper that
 * stays left of both its ends and is pulled towards them, which makes the sum of the two distances the length of the link.
 */
export function straighten(
  elements: Elements,
  separations: Separations,
  distance: Float64Array,
  mainPaths: MainPaths,
  attachments: Attachments,
  x: Float64Array,
  work: number,
): void {
  const { count, linkUpper, linkLower } = elements;
  const { upper, lower } = attachments;
  const blocks = joinMainPaths(elements, mainPaths, attachments, x);
  const importanceOf = importance(elements, mainPaths);
  const arcs = separations.count + 2 * linkUpper.length;
  const tail = new Int32Array(arcs);
  const head = new Int32Array(arcs);
  const length = new Float64Array(arcs);
  const weight = new Float64Array(arcs);
  const places = new Float64Array(blocks.count + linkUpper.length);
  for (let v = 0; v < count; v++) places[blocks.of[v]] = x[v] - blocks.offset[v];
  let a = 0;
  let nodes = blocks.count;
  for (let i = 0; i < separations.count; i++) {
    const l = separations.left[i];
    const r = separations.right[i];
    tail[a] = blocks.of[l];
    head[a] = blocks.of[r];
    if (distance[i] === 0) weight[a] = TOGETHER;
    length[a++] = distance[i] + blocks.offset[l] - blocks.offset[r];
  }
  for (let l = 0; l < linkUpper.length; l++) {
    const u = linkUpper[l];
    const v = linkLower[l];
    if (blocks.of[u] === blocks.of[v]) continue;
    const helper = nodes++;
    const fromU = blocks.offset[u] + upper[l];
    const fromV = blocks.offset[v] + lower[l];
    places[helper] = Math.min(places[blocks.of[u]] + fromU, places[blocks.of[v]] + fromV);
    tail[a] = helper;
    head[a] = blocks.of[u];
    length[a] = -fromU;
    weight[a++] = importanceOf[l];
    tail[a] = helper;
    head[a] = blocks.of[v];
    length[a] = -fromV;
    weight[a++] = importanceOf[l];
  }
  const problem = {
    count: nodes,
    tail: tail.subarray(0, a),
    head: head.subarray(0, a),
    length: length.subarray(0, a),
    weight: weight.subarray(0, a),
  };
  improveEvenly(problem, places, work);
  for (let v = 0; v < count; v++) x[v] = places[blocks.of[v]] + blocks.offset[v];
}

/** With more elements than this, straight main paths move as one: fewer parts to move. */
const JOIN_BEYOND = 6000;

function joinMainPaths(
  { count, linkUpper, above, top, rankCount }: Elements,
  mainPaths: MainPaths,
  attachments: Attachments,
  x: Float64Array,
): Blocks {
  const of = new Int32Array(count);
  const offset = new Float64Array(count);
  let blocks = 0;
  for (const v of bucketBy(top, rankCount).value) {
    const u = count > JOIN_BEYOND ? mainPaths.above[v] : -1;
    let link = -1;
    if (u >= 0) {
      for (let k = above.start[v]; k < above.start[v + 1] && link < 0; k++) {
        if (linkUpper[above.value[k]] === u) link = above.value[k];
      }
    }
    const straight = link >= 0 && Math.abs(x[u] + attachments.upper[link] - x[v] - attachments.lower[link]) < 1e-6;
    of[v] = straight ? of[u] : blocks++;
    offset[v] = straight ? offset[u] + x[v] - x[u] : 0;
  }
  return { count: blocks, of, offset };
}

/** How important it is that a link is vertical. Lines to parameters matter least: many of them on one side would bend the main path. */
const MAIN_PATH = 8;
const PLAIN = 1;
const LEAF = 0.3;
/** How important it is that two lines of one value, which need no distance, become one line. */
const TOGETHER = 0.2;

function importance({ linkUpper, linkLower, isLeaf }: Elements, mainPaths: MainPaths): Float64Array {
  const weight = new Float64Array(linkUpper.length).fill(PLAIN);
  for (let l = 0; l < weight.length; l++) {
    if (mainPaths.below[linkUpper[l]] === linkLower[l]) weight[l] = MAIN_PATH;
    else if (isLeaf[linkUpper[l]]) weight[l] = LEAF;
  }
  return weight;
}
