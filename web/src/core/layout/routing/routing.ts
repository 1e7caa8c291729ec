import type { Elements } from "../elements";
import { simplify } from "./polyline";
import { type Ends, settlePorts } from "./ports";
import type { FlatGraph } from "../types";

export interface Drawing {
  readonly y: Float64Array;
  readonly height: number;
  readonly points: Float64Array;
  readonly pointStart: Int32Array;
}

/** An edge has at most this many points: two at each end, and two where it follows a segment. */
const MOST_POINTS = 8;

/**
 * Stacks the ranks and draws the edges. Ranks are bands with gaps between; an edge slants only in gaps and is vertical next to
 * boxes, at its element's x, so it never touches a box that it does not belong to. An edge against the ranks leaves below its
 * source, climbs along its segment and enters from above.
 */
export function draw(graph: FlatGraph, elements: Elements, x: Float64Array, reversed: Uint8Array, rankGap: number): Drawing {
  const { rankCount, boxCount, top } = elements;
  const { height, edgeSource, edgeTarget } = graph;
  const { sourceX, targetX } = settlePorts(graph, elements, x);
  const bandHeight = new Float64Array(rankCount);
  for (let v = 0; v < boxCount; v++) bandHeight[top[v]] = Math.max(bandHeight[top[v]], height[v]);
  const bandTop = new Float64Array(rankCount + 1);
  const gap = gapHeights(graph, elements, x, { sourceX, targetX }, reversed, rankGap);
  const turns = turnsAtBorders(elements, edgeSource, reversed);
  let cursor = turns.first ? rankGap / 2 : 0;
  for (let r = 0; r < rankCount; r++) {
    bandTop[r] = cursor;
    cursor += bandHeight[r] + (r + 1 < rankCount ? gap[r] : 0);
  }
  bandTop[rankCount] = cursor + rankGap;
  const total = cursor + (turns.last ? rankGap / 2 : 0);

  const y = new Float64Array(boxCount);
  for (let v = 0; v < boxCount; v++) y[v] = bandTop[top[v]] + placeInBand(elements, v, height[v], bandHeight[top[v]]);

  const points = new Float64Array(edgeSource.length * 2 * MOST_POINTS);
  const pointStart = new Int32Array(edgeSource.length + 1);
  let n = 0;
  const push = (px: number, py: number): void => {
    points[2 * n] = px;
    points[2 * n++ + 1] = py;
  };
  for (let e = 0; e < edgeSource.length; e++) {
    pointStart[e] = n;
    const u = edgeSource[e];
    const v = edgeTarget[e];
    const s = elements.segmentOfEdge[e];
    const x1 = sourceX[e];
    const x2 = targetX[e];
    const floor = bandTop[top[u]] + bandHeight[top[u]];
    const ceiling = bandTop[top[v]];
    push(x1, y[u] + height[u] / 2);
    if (reversed[e]) {
      push(x1, floor);
      push(x1, floor + rankGap / 4);
      push(x[s], floor + rankGap / 4);
      push(x[s], ceiling - rankGap / 4);
      push(x2, ceiling - rankGap / 4);
      push(x2, ceiling);
    } else {
      push(x1, floor);
      if (s >= 0) {
        push(x[s], bandTop[elements.top[s]]);
        const last = elements.bottom[s];
        push(x[s], bandTop[last] + bandHeight[last]);
      }
      push(x2, ceiling);
    }
    push(x2, y[v] - height[v] / 2);
    n = simplify(points, pointStart[e], n, pointStart[e]);
  }
  pointStart[edgeSource.length] = n;
  return { y, height: total, points: points.slice(0, 2 * n), pointStart };
}

/** Edges that go far sideways need a higher gap, or they are almost horizontal and their crossings cannot be read. */
const LEVEL_WAY = 160;
const WAY_PER_HEIGHT = 12;

/** Boundary ports need no more room than the sides of a frame: the gap next to them is this high if edges enter straight. */
export const BOUNDARY_PORT_GAP = 16;
const BOUNDARY_PORT_LEVEL_WAY = 48;

function gapHeights(
  { edgeSource, edgeTarget, pin }: FlatGraph,
  { rankCount, top, segmentOfEdge }: Elements,
  x: Float64Array,
  { sourceX, targetX }: Ends,
  reversed: Uint8Array,
  rankGap: number,
): Float64Array {
  const way = new Float64Array(rankCount + 1);
  for (let e = 0; e < edgeSource.length; e++) {
    if (reversed[e]) continue;
    const s = segmentOfEdge[e];
    const below = top[edgeSource[e]];
    const above = top[edgeTarget[e]] - 1;
    way[below] = Math.max(way[below], Math.abs(sourceX[e] - (s < 0 ? targetX[e] : x[s])));
    if (s >= 0) way[above] = Math.max(way[above], Math.abs(x[s] - targetX[e]));
  }
  const ports = { first: pin?.includes(1), last: pin?.includes(2) };
  return way.map((w, rank) => {
    const atBoundaryPorts = (rank === 0 && ports.first) || (rank === rankCount - 2 && ports.last);
    const least = atBoundaryPorts ? Math.min(BOUNDARY_PORT_GAP, rankGap) : rankGap;
    const level = atBoundaryPorts ? BOUNDARY_PORT_LEVEL_WAY : LEVEL_WAY;
    return Math.min(1.8 * rankGap, least + Math.max(0, (w - level) / WAY_PER_HEIGHT));
  });
}

/** A box with only outgoing edges is at the bottom of its band, near its users; one with only incoming edges at the top. */
function placeInBand({ above, below }: Elements, v: number, height: number, band: number): number {
  const hasUsers = below.start[v + 1] > below.start[v];
  const hasInputs = above.start[v + 1] > above.start[v];
  if (hasUsers === hasInputs) return band / 2;
  return hasUsers ? band - height / 2 : height / 2;
}

/** Whether any edge turns above the first rank or below the last one, which needs room there. */
function turnsAtBorders(
  { top, bottom, segmentOfEdge, rankCount }: Elements,
  edgeSource: Int32Array,
  reversed: Uint8Array,
): { first: boolean; last: boolean } {
  let first = false;
  let last = false;
  for (let e = 0; e < edgeSource.length; e++) {
    if (!reversed[e]) continue;
    if (top[segmentOfEdge[e]] === 0) first = true;
    if (bottom[segmentOfEdge[e]] === rankCount - 1) last = true;
  }
  return { first, last };
}
