/** Where the map of the whole is: in the corner of the canvas in which it covers least of what one came for. */
import type { Camera, Rect, Size } from "../../core/base/camera";
import { Shape } from "../../core/scene/types";
import type { Shown } from "./shown";
import { querySpatial } from "./spatial";

export type MapCorner = "lower right" | "upper right" | "lower left";

/** In order of preference. Titles and banners begin in the upper left corner. */
const CORNERS: readonly MapCorner[] = ["lower right", "upper right", "lower left"];

/** The map is at most this large, and not more than this part of a small canvas. */
const MOST = { width: 170, height: 130, part: 0.16 };
const LEAST = 24;
/** Between the map and the edges of the canvas. */
const MARGIN = 12;
/** So many boxes are looked at below a map: more are dots, and which of them it covers does not matter. */
const MOST_BOXES = 256;

export interface MapPlace extends Rect {
  readonly corner: MapCorner;
  /** Of the map to the graph. */
  readonly scale: number;
}

/** The place of the map on a canvas of this size. */
export function mapAt(corner: MapCorner, bounds: Size, { width, height }: Size): MapPlace {
  const scale = Math.min(Math.min(MOST.width, MOST.part * width) / bounds.width, Math.min(MOST.height, MOST.part * height) / bounds.height);
  const w = Math.max(LEAST, Math.round(bounds.width * scale)),
    h = Math.max(LEAST, Math.round(bounds.height * scale));
  const x = corner === "lower left" ? MARGIN : width - MARGIN - w;
  const y = corner === "upper right" ? MARGIN : height - MARGIN - h;
  return { corner, scale, x, y, w, h };
}

/** So many other boxes are worth covering rather than one that has changed or is selected. */
const WORTH = MOST_BOXES;

/**
 * The corner with the fewest changed and selected boxes below the map, at best none, and then with the fewest others. `at` is where the map
 * is, in a picture that somebody looks at: it stays there whatever is unchanged below it, if no other corner is better.
 */
export function freeCorner(
  { scene, result: { marks }, boxIndex, bounds }: Pick<Shown, "scene" | "result" | "boxIndex" | "bounds">,
  selected: readonly number[],
  camera: Camera,
  canvas: Size,
  at?: MapCorner,
): MapCorner {
  const found = new Int32Array(MOST_BOXES);
  const chosen = new Set(selected);
  let best = at ?? CORNERS[0];
  let fewest = Infinity;
  for (const corner of at ? [at, ...CORNERS] : CORNERS) {
    const { x, y, w, h } = mapAt(corner, { width: bounds.w, height: bounds.h }, canvas);
    const [left, top] = [camera.x + x / camera.scale, camera.y + y / camera.scale];
    const count = querySpatial(boxIndex, left, top, left + w / camera.scale, top + h / camera.scale, found);
    let covered = 0;
    for (const item of found.subarray(0, count)) {
      if (scene.shape[item] === Shape.Frame) continue;
      covered += marks?.[item] || chosen.has(item) ? WORTH : at ? 0 : 1;
    }
    if (covered < fewest) [best, fewest] = [corner, covered];
  }
  return best;
}
