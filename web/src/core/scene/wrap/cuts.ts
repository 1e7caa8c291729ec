/** Where to break a long layout: how many columns, and between which ranks. */
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
/** What is shorter than this share of a column leaves less empty below something narrower than in a column of its own. */
const LEAST_SECTION = 0.75;
/** No cut is further than this from where columns would be equally long, so that they end within a screen at half size of each other. */
const FARTHEST_CUT = 500;
/** More columns than this are not tried to make the parts of a picture end together. */
const MOST_COLUMNS = 60;

/** What a picture that is empty counts against one that is e times too long or too broad. */
const EMPTY = 4;

/** A stretch of the flow that has columns of its own, and how broad it is on average. */
interface Section {
  readonly from: number;
  readonly end: number;
  readonly across: number;
}

/** The open frames that are in no other, along the flow. */
export function outermostFrames({ boxCount, parent, open }: Visible, { v }: Flow): number[] {
  const frames: number[] = [];
  for (let box = 0; box < boxCount; box++) if (parent[box] < 0 && open[box]) frames.push(box);
  return frames.sort((a, b) => v[a] - v[b]);
}

/** What is between the places where two long outermost frames of very different breadth meet. */
function sections(frames: readonly number[], { v, uSize, vSize, along, across }: Flow, share: number): Section[] {
  const long = frames.filter((box) => vSize[box] > share * LEAST_SECTION);
  const found: Section[] = [];
  let from = 0;
  let [area, length] = [0, 0];
  for (let i = 0; i < long.length; i++) {
    const [a, b] = [long[i], long[i + 1]];
    area += uSize[a] * vSize[a];
    length += vSize[a];
    if (b === undefined || v[b] < v[a] + vSize[a] || Math.abs(uSize[a] - uSize[b]) <= ALIKE) continue;
    const end = (v[a] + vSize[a] + v[b]) / 2;
    found.push({ from, end, across: area / length });
    [from, area, length] = [end, 0, 0];
  }
  return [...found, { from, end: along, across: length ? area / length : across }];
}

const columnsFor = ({ from, end }: Section, share: number): number => Math.max(1, Math.round((end - from) / share));

/** How many columns make sections end together and the picture well shaped; undefined where one section is best. */
export function evenColumns(frames: readonly number[], flow: Flow, direction: "TB" | "LR"): number | undefined {
  let best: number | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (let columns = 2; columns <= MOST_COLUMNS; columns++) {
    const share = flow.along / columns;
    const parts = sections(frames, flow, share);
    const along = Math.max(...parts.map((part) => (part.end - part.from) / columnsFor(part, share)));
    const across = parts.reduce((sum, part) => sum + columnsFor(part, share) * part.across, 0);
    const filled = parts.reduce((sum, part) => sum + (part.end - part.from) * part.across, 0) / (along * across);
    const flaws = offAspect(along, across, direction) + EMPTY * (1 - filled);
    if (flaws < least) [least, best] = [flaws, parts.length > 1 ? columns : undefined];
  }
  return best;
}

/** Ends of the columns along the flow, in order; the last column has none. */
export function cutLines(frontier: Frontier, frames: readonly number[], flow: Flow, columns: number): number[] {
  const share = flow.along / columns;
  if (columns === 1) return [];
  const cuts: number[] = [];
  for (const section of sections(frames, flow, share)) {
    cuts.push(...evenCuts(frontier, section.from, section.end, columnsFor(section, share)));
    if (section.end < flow.along) cuts.push(section.end);
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
    const best = frontier.bestCut(ideal, Math.min(share * 0.3, FARTHEST_CUT), from);
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
    const { boxCount, edgeCount, open, edgeSource, edgeTarget } = visible;
    const end = new Float64Array(boxCount);
    for (let box = 0; box < boxCount; box++) end[box] = start[box] + size[box];
    const sorted = (places: Float64Array, isFrame: boolean) => places.filter((_, box) => (open[box] === 1) === isFrame).sort();
    this.frameStarts = sorted(start, true);
    this.frameEnds = sorted(end, true);
    this.boxStarts = sorted(start, false);
    this.boxEnds = sorted(end, false);
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
