/** Where to break a long layout: how many columns, and between which ranks. */
import type { CompoundLayout } from "../../layout/types";
import type { Visible } from "../../program/types";
import { upTo } from "../placed";

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

const LONGEST_ASPECT = 4;
/** Up to here one connected picture is easier to follow than columns: about 40 boxes below each other on a page, 400 on a screen. */
const SHORT = { page: 3200, screen: 32_000 };

/** Length along the flow over breadth. */
function aspectOf(layout: CompoundLayout, direction: "TB" | "LR"): number {
  const [along, across] = direction === "TB" ? [layout.height, layout.width] : [layout.width, layout.height];
  return across > 0 ? along / across : 1;
}

/** Is it too long and thin to read there? A short chain is thin too, but needs no wrapping. */
export function isThread(layout: CompoundLayout, direction: "TB" | "LR", on: "page" | "screen" = "page"): boolean {
  return aspectOf(layout, direction) > LONGEST_ASPECT && (direction === "TB" ? layout.height : layout.width) > SHORT[on];
}

/** How far a picture of this length and breadth is from a good aspect (0: it has it). */
export function offAspect(along: number, across: number, direction: "TB" | "LR"): number {
  return Math.abs(Math.log(along / Math.max(across, 1) / GOOD_ASPECT[direction]));
}

/** How many columns bring a picture near a good aspect, if it now has this length and breadth in `now` columns. */
export function goodColumns(along: number, across: number, direction: "TB" | "LR", now = 1): number {
  return Math.max(1, Math.round(now * Math.sqrt(along / (GOOD_ASPECT[direction] * Math.max(across, 1)))));
}

/** Two outermost frames whose breadths differ by more than this, a screen at half size, are not in one column: much of it would be empty. */
const ALIKE = 3200;

/** Where two long outermost frames of very different breadth meet. */
function breaks({ boxCount, parent, open }: Visible, { v, uSize, vSize }: Flow, share: number): number[] {
  const frames = Array.from(upTo(boxCount)).filter((box) => parent[box] < 0 && open[box] && vSize[box] > share / 4);
  frames.sort((a, b) => v[a] - v[b]);
  const found: number[] = [];
  for (let i = 1; i < frames.length; i++) {
    const [a, b] = [frames[i - 1], frames[i]];
    if (v[b] >= v[a] + vSize[a] && Math.abs(uSize[a] - uSize[b]) > ALIKE) found.push((v[a] + vSize[a] + v[b]) / 2);
  }
  return found;
}

/** Ends of the columns along the flow, in order; the last column has none. */
export function cutLines(frontier: Frontier, visible: Visible, flow: Flow, columns: number): number[] {
  const share = flow.along / columns;
  if (columns === 1) return [];
  const cuts: number[] = [];
  let from = 0;
  for (const end of [...breaks(visible, flow, share), flow.along]) {
    cuts.push(...evenCuts(frontier, from, end, Math.max(1, Math.round((end - from) / share))));
    if (end < flow.along) cuts.push(end);
    from = end;
  }
  return cuts;
}

/** Cuts between two places along the flow that make this many columns of about the same length. */
function evenCuts(frontier: Frontier, begin: number, along: number, columns: number): number[] {
  const cuts: number[] = [];
  const share = (along - begin) / columns;
  let from = begin;
  for (let column = 1; column < columns; column++) {
    const ideal = Math.max(from + share * 0.5, begin + column * share);
    const best = frontier.bestCut(ideal, share * 0.3, from);
    if (best === undefined || best >= along - GAP) continue;
    cuts.push(best);
    from = best;
  }
  return cuts;
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
    const leaves: number[] = [];
    for (let box = 0; box < visible.boxCount; box++) if (!visible.open[box]) leaves.push(box);
    const frames = Array.from(upTo(visible.boxCount)).filter((box) => visible.open[box]);
    this.frameStarts = Float64Array.from(frames, (box) => start[box]).sort();
    this.frameEnds = Float64Array.from(frames, (box) => start[box] + size[box]).sort();
    this.boxStarts = Float64Array.from(leaves, (box) => start[box]).sort();
    this.boxEnds = Float64Array.from(leaves, (box) => start[box] + size[box]).sort();
    const lines = upTo(visible.edgeCount).filter((e) => !far?.[e]);
    const [from, to] = [(e: number) => start[visible.edgeSource[e]], (e: number) => start[visible.edgeTarget[e]]];
    this.edgeStarts = Float64Array.from(lines, (e) => Math.min(from(e), to(e))).sort();
    this.edgeEnds = Float64Array.from(lines, (e) => Math.max(from(e), to(e))).sort();
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
