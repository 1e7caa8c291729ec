/** Where to break a long layout: how many columns of one breadth, and between which ranks. */
import { marked } from "../../base/arrays";
import type { CompoundLayout } from "../../layout/types";
import type { Visible } from "../../program/types";

/** Final pictures are about this much longer along the flow than across. */
const GOOD_ASPECT = { TB: 1, LR: 1.5 };
const GAP = 10;

/** Places of boxes along (v) and across (u) the flow. */
export interface Flow {
  readonly u: Float64Array;
  readonly v: Float64Array;
  readonly uSize: Float64Array;
  readonly vSize: Float64Array;
  readonly along: number;
  readonly across: number;
}

type Extent = Pick<CompoundLayout, "width" | "height">;

/** The lines of values that are read again far below fill a long page; a screen scrolls. */
const LONGEST_ASPECT = { page: 2.5, screen: 4 };
/** Up to here one connected picture is easier to follow than columns: about 40 boxes below each other on a page, 400 on a screen. */
const SHORT = { page: 3200, screen: 32_000 };

/** Length along the flow over breadth. */
function aspectOf(layout: Extent, direction: "TB" | "LR"): number {
  const [along, across] = direction === "TB" ? [layout.height, layout.width] : [layout.width, layout.height];
  return across > 0 ? along / across : 1;
}

/** Is it too long and thin to read there? A short chain is thin too, but needs no wrapping. */
export function isThread(layout: Extent, direction: "TB" | "LR", on: "page" | "screen" = "page"): boolean {
  return aspectOf(layout, direction) > LONGEST_ASPECT[on] && (direction === "TB" ? layout.height : layout.width) > SHORT[on];
}

/** How far a picture of this length and breadth is from a good aspect (0: it has it). */
export function offAspect(along: number, across: number, direction: "TB" | "LR"): number {
  return Math.abs(Math.log(along / Math.max(across, 1) / GOOD_ASPECT[direction]));
}

/** How many columns bring a picture near a good aspect, if it now has this length and breadth in `now` columns. */
export function goodColumns(along: number, across: number, direction: "TB" | "LR", now = 1): number {
  return Math.max(1, Math.round(now * Math.sqrt(along / (GOOD_ASPECT[direction] * Math.max(across, 1)))));
}

/** No cut is further than this from where columns would be equally long, so that they end within a screen at half size of each other. */
const FARTHEST_CUT = 500;

/** Ends of columns of about the same length along the flow, in order; the last column has none. */
export function evenCuts(frontier: Frontier, along: number, columns: number): number[] {
  const cuts: number[] = [];
  const share = along / columns;
  let from = 0;
  for (let column = 1; column < columns; column++) {
    const best = cutNear(frontier, Math.max(from + share * 0.5, column * share), share, from);
    if (best === undefined || best >= along - GAP) continue;
    cuts.push(best);
    from = best;
  }
  return cuts;
}

/** Where to end a column of about this length that begins at `from`. */
export function cutNear(frontier: Frontier, ideal: number, length: number, from: number, farthest = FARTHEST_CUT): number | undefined {
  return frontier.bestCut(ideal, Math.min(length * 0.3, farthest), from);
}

/** Counts what a cut at a place would run through, by binary search in sorted ends. */
export class Frontier {
  private readonly boxStarts: Float64Array;
  private readonly boxEnds: Float64Array;
  private readonly edgeStarts: Float64Array;
  private readonly edgeEnds: Float64Array;
  private readonly frameStarts: Float64Array;
  private readonly frameEnds: Float64Array;

  /** `start` and `size` are the boxes' extents along the flow; a cut cannot run through edges that lead `far`, which are not drawn as lines. */
  constructor(visible: Visible, start: Float64Array, size: Float64Array, far?: Uint8Array) {
    const { boxCount, edgeCount, open, edgeSource, edgeTarget } = visible;
    const end = new Float64Array(boxCount);
    for (let box = 0; box < boxCount; box++) end[box] = start[box] + size[box];
    this.frameStarts = marked(start, open, 1).sort();
    this.frameEnds = marked(end, open, 1).sort();
    this.boxStarts = marked(start, open, 0).sort();
    this.boxEnds = marked(end, open, 0).sort();
    const [from, to] = [new Float64Array(edgeCount), new Float64Array(edgeCount)];
    let count = 0;
    for (let e = 0; e < edgeCount; e++) {
      if (far?.[e]) continue;
      const [a, b] = [start[edgeSource[e]], start[edgeTarget[e]]];
      from[count] = Math.min(a, b);
      to[count++] = Math.max(a, b);
    }
    this.edgeStarts = from.subarray(0, count).sort();
    this.edgeEnds = to.subarray(0, count).sort();
  }

  /** The cheapest place just below some box or frame, within `reach` of the ideal. */
  bestCut(ideal: number, reach: number, after: number): number | undefined {
    let best: number | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (const ends of [this.boxEnds, this.frameEnds]) {
      const to = below(ends, ideal + reach);
      for (let i = below(ends, Math.max(ideal - reach, after + GAP)); i < to; i++) {
        const at = ends[i] + GAP;
        const cost = this.cost(at) + (8 * Math.abs(at - ideal)) / reach;
        if (cost < least) {
          least = cost;
          best = at;
        }
      }
    }
    return best;
  }

  /** Cutting a box is worse than continuing a frame, and that is worse than cutting an edge. */
  private cost(at: number): number {
    const through = below(this.boxStarts, at) - below(this.boxEnds, at);
    const frames = below(this.frameStarts, at) - below(this.frameEnds, at);
    const crossing = below(this.edgeStarts, at) - below(this.edgeEnds, at);
    return 6 * through + 4 * frames + crossing;
  }
}

/** How many numbers in a sorted list are smaller. */
export function below(sorted: Float64Array | readonly number[], value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
