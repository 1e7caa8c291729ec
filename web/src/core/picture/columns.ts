/** In how many columns a picture fills a large screen: a long chain in one is a thread with nothing beside it. */
import type { Size } from "../base/camera";
import { wrap } from "../scene";
import { MOST_SCALE } from "../view/initial/camera";
import { scaleIn } from "../view/initial/fitToScreen";
import type { Arrangement } from "./types";

const MOST_COLUMNS = 6;
/** A further column must make everything this much larger: what leads from one to the next is a number and no line. */
const WORTH = 1.15;
/** Of so many lines that continue in another column, for each further column, nobody finds the other ends. */
const MOST_CONTINUED = 6;
/** Larger pictures do not fit a screen, in any number of columns. */
const MOST_BOXES = 1000;

/** An arrangement with its best number of columns, and how large it is then. */
export interface InColumns extends Arrangement {
  readonly columns: number;
  readonly size: Size;
}

/** Shorter columns than this, on average, are not worth the jumps between them. */
const LEAST_LENGTH = 900;

/** What is less long than this, for its breadth, is no chain, and has lines that lead everywhere. */
const LEAST_ASPECT = 2;

/** The columns that a picture gets which was asked for in so many: one that is short or broad has fewer. */
export function columnsOf({ halves, layout, direction }: Arrangement, asked = 1): number {
  const [along, across] = direction === "TB" ? [layout.height, layout.width] : [layout.width, layout.height];
  if (halves || along < LEAST_ASPECT * across) return 1;
  return Math.max(1, Math.min(asked, MOST_COLUMNS, Math.floor(along / LEAST_LENGTH)));
}

export function inBestColumns(arrangement: Arrangement, room: Size): InColumns {
  const { visible, layout, direction } = arrangement;
  let best: InColumns = { ...arrangement, columns: 1, size: layout };
  const scaleOf = ({ size }: InColumns): number => Math.min(MOST_SCALE, scaleIn(room, size));
  for (let columns = 2; columns <= MOST_COLUMNS && visible.boxCount <= MOST_BOXES; columns++) {
    if (columnsOf(arrangement, columns) !== columns || scaleOf(best) === MOST_SCALE) break;
    const size = wrap(visible, layout, direction, columns);
    const other = { ...arrangement, columns, size };
    const isFollowed = size.labels.length <= 2 * MOST_CONTINUED * (columns - 1);
    if (isFollowed && scaleOf(other) >= WORTH * scaleOf(best)) best = other;
  }
  return best;
}
