/** Titles of open groups that are off screen stick to its edges, as the headings of a list do while one scrolls inside them. */
import type { Camera } from "../../core/base/camera";
import type { Scene } from "../../core/scene/types";

/** A title at the edge of the screen, in CSS pixels. */
export interface StickyTitle {
  readonly item: number;
  readonly x: number;
  readonly y: number;
  readonly width: number;
}

/** Height of a title. */
export const STICKY_LINE = 24;
/** What is visible of a group with less room than this has no title. */
const LEAST_WIDTH = 90;
/** Titles take at most this part of the screen; groups further inside have none. */
const MOST_PART = 0.2;

export function stickyTitles(
  { x, y, w, h, order, frameCount, parent }: Pick<Scene, "x" | "y" | "w" | "h" | "order" | "frameCount" | "parent">,
  { x: cx, y: cy, scale }: Camera,
  width: number,
  height: number,
): StickyTitle[] {
  /** Where the part of the screen below an item's title begins, for titles inside it. */
  const below = new Map<number, number>();
  const titles: StickyTitle[] = [];
  for (let i = 0; i < frameCount; i++) {
    const item = order[i];
    const [left, top] = [(x[item] - cx) * scale, (y[item] - cy) * scale];
    const [right, bottom] = [left + w[item] * scale, top + h[item] * scale];
    const from = Math.max(0, left);
    const room = Math.min(width, right) - from;
    const under = below.get(parent[item]) ?? 0;
    if (room < LEAST_WIDTH || top > height - STICKY_LINE || bottom < under + STICKY_LINE) continue;
    if (top >= under && left >= 0) continue;
    if (under + STICKY_LINE > MOST_PART * height) {
      below.set(item, under);
      continue;
    }
    const at = Math.max(top, under);
    if (top < under) below.set(item, at + STICKY_LINE);
    titles.push({ item, x: from, y: at, width: room });
  }
  return titles;
}
