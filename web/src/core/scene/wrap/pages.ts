/**
 * A long layout whose parts are very unlike in breadth, as pages of a newspaper: what is narrow is set in several columns beside each
 * other, as broad together as the broadest part, and what follows begins below them. A narrow part in columns as broad as the others,
 * or in short columns of its own, would leave most of a screen empty.
 */
import type { Visible } from "../../program/types";
import { cutNear, type Flow, type Frontier, offAspect } from "./cuts";

/** The room between columns, and between what is below each other on a page. */
export const COLUMN_GAP = 56;
/** Two outermost frames whose breadths differ by more than this, a screen at half size, are not in columns of one breadth. */
const ALIKE = 3200;
/** What is smaller than this, two screens at half size, is in columns with what is before or after it. */
const LEAST_PART = 2 * 3200 * 2000;
/** What is shorter than this is not on a page of its own, and so much of a page may stay empty: half a screen at half size. */
const LEAST_ROW = 1000;
/** How far a cut may be from where columns would be equally long: what rows on a page are too long adds up. */
const FARTHEST_CUT = 250;
/** More pages than this are not tried. */
const MOST_PAGES = 60;

/** Where columns end, in order along the flow (the last has no end), and where they are: rows below each other on pages beside each other. */
export interface Columns {
  readonly cuts: readonly number[];
  readonly pages: readonly Page[];
}

type Page = readonly (readonly number[])[];

/** Columns beside each other, each a page. */
export function columnsBeside(cuts: readonly number[]): Columns {
  return { cuts, pages: [...cuts, undefined].map((_, column) => [[column]]) };
}

/** A stretch of the flow, how broad it is, and how many columns of it are beside each other. */
interface Part {
  readonly from: number;
  readonly end: number;
  readonly across: number;
  readonly beside: number;
}

/** The pages of a layout with parts of unlike breadth; undefined if it has only one. */
export function pagesOf(visible: Visible, flow: Flow, frontier: Frontier, direction: "TB" | "LR"): Columns | undefined {
  const parts = partsOf(visible, flow);
  if (parts.length < 2) return undefined;
  const length = parts.reduce((sum, { from, end, beside }) => sum + (end - from) / beside, 0);
  let best: Part[][] = [];
  let least = Number.POSITIVE_INFINITY;
  for (let count = 1; count <= MOST_PAGES; count++) {
    const pages = turned(parts, length / count);
    const flaw = offAspect(...shapeOf(pages), direction);
    if (flaw < least) [least, best] = [flaw, pages];
  }
  return cutInto(best, parts, frontier);
}

/** What is between the places where two large outermost frames of very different breadth meet. */
function partsOf({ boxCount, parent, open }: Visible, { v, uSize, vSize, along, across }: Flow): Part[] {
  const large: number[] = [];
  for (let box = 0; box < boxCount; box++) if (parent[box] < 0 && open[box] && uSize[box] * vSize[box] > LEAST_PART) large.push(box);
  large.sort((a, b) => v[a] - v[b]);
  const found: Omit<Part, "beside">[] = [];
  let [from, broadest] = [0, 0];
  for (let i = 0; i < large.length; i++) {
    const [a, b] = [large[i], large[i + 1]];
    broadest = Math.max(broadest, uSize[a]);
    if (b === undefined || v[b] < v[a] + vSize[a] || Math.abs(uSize[a] - uSize[b]) <= ALIKE) continue;
    const end = (v[a] + vSize[a] + v[b]) / 2;
    found.push({ from, end, across: broadest });
    [from, broadest] = [end, 0];
  }
  found.push({ from, end: along, across: broadest || across });
  const most = found.reduce((widest, part) => Math.max(widest, part.across), 0);
  return found.map((part) => ({ ...part, beside: Math.max(1, Math.floor((most + COLUMN_GAP) / (part.across + COLUMN_GAP))) }));
}

/** The parts, one after the other on pages of this length: the rows of each page. */
function turned(parts: readonly Part[], length: number): Part[][] {
  const pages: Part[][] = [[]];
  let free = length;
  for (const part of parts) {
    for (let { from } = part; from < part.end; from = pages.at(-1)!.at(-1)!.end) {
      if (free < LEAST_ROW && pages.at(-1)!.length) {
        pages.push([]);
        free = length;
      }
      const rest = (part.end - from) / part.beside;
      const isRest = rest < free + LEAST_ROW;
      pages.at(-1)!.push({ ...part, from, end: isRest ? part.end : from + free * part.beside });
      free -= (isRest ? rest : free) + COLUMN_GAP;
    }
  }
  return pages;
}

function shapeOf(pages: readonly Part[][]): [along: number, across: number] {
  let [along, across] = [0, 0];
  for (const page of pages) {
    along = Math.max(
      along,
      page.reduce((sum, { from, end, beside }) => sum + (end - from) / beside + COLUMN_GAP, 0),
    );
    across += page.reduce((most, row) => Math.max(most, row.beside * (row.across + COLUMN_GAP)), 0);
  }
  return [along, across];
}

/** Cuts each row near where its columns would be equally long; a part ends where it ends. */
function cutInto(pages: readonly Part[][], parts: readonly Part[], frontier: Frontier): Columns {
  const ends = new Set(parts.map(({ end }) => end));
  const cuts: number[] = [];
  let last = 0;
  const cutRow = ({ from, end, beside }: Part): number[] => {
    const row: number[] = [];
    const share = (end - from) / beside;
    for (let column = 1; column <= beside; column++) {
      const cut = column === beside && ends.has(end) ? end : cutNear(frontier, from + column * share, share, last, FARTHEST_CUT);
      if (cut === undefined || cut <= last) continue;
      row.push(cuts.push(cut) - 1);
      last = cut;
    }
    return row;
  };
  const placed = pages.map((page) => page.map(cutRow));
  return { cuts: cuts.slice(0, -1), pages: placed };
}
