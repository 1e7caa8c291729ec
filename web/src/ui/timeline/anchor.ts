/** Which box stays in place on the screen when another picture is shown. */
import { Shape } from "../../core/scene/types";
import type { Camera, Rect } from "../../core/base/camera";
import type { Shown } from "../canvas/shown";
import type { Stage } from "../canvas/stage";

/** The box nearest to the middle of the screen that still exists (selected ones first), with its place on the screen. */
export function anchorBetween(
  stage: Stage,
  was: Shown,
  now: Shown,
  selected: readonly number[],
): { item: number; screen: Rect } | undefined {
  const { before } = now.result;
  const chosen = new Set(selected);
  let best: { item: number; screen: Rect } | undefined;
  let nearest = Infinity;
  for (let item = 0; item < before.length; item++) {
    const old = before[item];
    if (old < 0 || now.scene.shape[item] === Shape.Frame || was.scene.shape[old] === Shape.Frame) continue;
    const screen = stage.onScreen(was.rect(old));
    const x = screen.x + screen.w / 2 - stage.width / 2,
      y = screen.y + screen.h / 2 - stage.height / 2;
    if (Math.abs(x) > stage.width / 2 || Math.abs(y) > stage.height / 2) continue;
    const far = (chosen.has(item) ? 0 : 1e9) + x * x + y * y;
    if (far < nearest) {
      nearest = far;
      best = { item, screen };
    }
  }
  return best;
}

/** A picture that grew or shrank by less than this factor looks the same. */
const SAME_SIZE_FACTOR = 1.3;

/**
 * Shows another pass, or the same program drawn in another way: what stays keeps its place on the screen, unless the item to reveal, or
 * all changes of another pass, would be out of sight. If the whole picture was visible and its size has changed much (as removed nodes
 * make it), the whole is shown again.
 */
export function showStaying(stage: Stage, was: Shown, shown: Shown, anchor: { item: number; screen: Rect }, reveal: number): void {
  const camera = stage.anchored(shown, anchor.item, anchor.screen);
  const change = shown.result.program ? changeOutOfSight(stage, camera, shown) : -1;
  const hasNewSize = outgrown(was.bounds.w, shown.bounds.w) || outgrown(was.bounds.h, shown.bounds.h);
  if (sawAll(stage, was) && hasNewSize) stage.show(shown, { look: "fit", reveal });
  else if (change < 0 && mostlyEmpty(stage, camera, shown)) stage.show(shown, { look: "fit", reveal });
  else stage.show(shown, { anchor, reveal: reveal >= 0 ? reveal : change });
}

/** If less of the screen than this is covered while more of the picture is off screen, the camera looks past the picture. */
const LEAST_COVERED = 0.3;

function mostlyEmpty(stage: Stage, camera: Camera, shown: Shown): boolean {
  const { x, y, w, h } = stage.onScreen(shown.bounds, camera);
  const across = Math.max(0, Math.min(stage.width, x + w) - Math.max(0, x));
  const down = Math.max(0, Math.min(stage.height, y + h) - Math.max(0, y));
  return across * down < LEAST_COVERED * stage.width * stage.height && across * down < 0.9 * w * h;
}

function outgrown(was: number, now: number): boolean {
  return Math.max(was, now) > SAME_SIZE_FACTOR * Math.max(1, Math.min(was, now));
}

function sawAll(stage: Stage, was: Shown): boolean {
  const { x, y, w, h } = stage.onScreen(was.bounds);
  return x >= 0 && y >= 0 && x + w <= stage.width && y + h <= stage.height;
}

/** The first changed item, if none of them is visible, or -1. */
function changeOutOfSight(stage: Stage, camera: Camera, now: Shown): number {
  const { marks } = now.result;
  let first = -1;
  for (let item = 0; item < (marks?.length ?? 0); item++) {
    if (!marks![item] || now.scene.shape[item] === Shape.Frame) continue;
    const { x, y, w, h } = stage.onScreen(now.rect(item), camera);
    if (x < stage.width && y < stage.height && x + w > 0 && y + h > 0) return -1;
    if (first < 0) first = item;
  }
  return first;
}
