/** Where the camera starts. */
import { type Camera, clearOf, fit, PADDING, type Rect, roomIn, type Size } from "../../base/camera";

/** Below this scale the text of boxes cannot be read: the beginning of a graph is shown at this size instead. */
export const READABLE = 0.75;

/** The room that a graph has in a window of 1600 × 1000 pixels, and how many times that is a large screen. */
const USUAL = 1024 * 860;
const LARGE = 1.5;
/** On a large screen a graph that fits may be larger than life, up to this. */
export const MOST_SCALE = 1.5;

/** How many usual windows fit into a large screen; 0 if it is not a large one. */
export function pagesIn({ width, height }: Size): number {
  const pages = (width * height) / USUAL;
  return pages > LARGE ? pages : 0;
}

/** All of a graph, and on a large screen not as an island in the middle. */
export function fitWhole(rect: Rect, width: number, height: number, hint?: Size): Camera {
  const most = Math.min(MOST_SCALE, Math.max(1, Math.sqrt(pagesIn({ width, height }) / LARGE)));
  return fit(rect, width, height, most, hint);
}

/**
 * The initial camera: on the whole graph if it can be read, else on what was asked for by name, else on its beginning, clear of a hint in
 * the upper left corner.
 */
export function initialCamera(
  rect: Rect,
  first: Rect | undefined,
  direction: "TB" | "LR",
  width: number,
  height: number,
  named?: Rect,
  hint: Size = { width: 0, height: 0 },
): Camera {
  const whole = fitWhole(rect, width, height, hint);
  if (whole.scale >= READABLE) return whole;
  if (named) return fit(named, width, height, READABLE);
  if (!first) return whole;
  const scale = READABLE;
  const room = roomIn(width, height);
  if (direction === "LR") {
    const y = startAcross(rect.y, rect.h, [first.y, first.h], height, room.height, scale);
    const camera = { x: rect.x - PADDING / scale, y, scale };
    return clearOf(hint, { ...rect, w: 0 }, camera, room);
  }
  const x = startAcross(rect.x, rect.w, [first.x, first.w], width, room.width, scale);
  return clearOf(hint, rect, { x, y: rect.y - PADDING / scale, scale }, room);
}

/**
 * Across the flow, all of a graph is in the middle if it fits, else its edge is at that of the screen, where its titles begin. If its first
 * box cannot be seen from there, that is in the middle, as far as that leaves no room beside the graph.
 */
function startAcross(
  from: number,
  extent: number,
  [firstFrom, firstExtent]: readonly [number, number],
  screen: number,
  room: number,
  scale: number,
): number {
  const half = screen / 2 / scale;
  if (extent * scale <= room) return from + extent / 2 - half;
  const margin = PADDING / scale;
  const edge = from - margin;
  if (firstFrom + firstExtent + margin <= edge + 2 * half) return edge;
  return Math.min(firstFrom + firstExtent / 2 - half, from + extent + margin - 2 * half);
}
