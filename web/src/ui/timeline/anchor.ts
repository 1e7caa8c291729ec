/** What stays where it is on the screen when another pass is shown. */
import { Shape } from "../../core/scene/types";
import type { Rect } from "../canvas/camera";
import type { Shown } from "../canvas/shown";
import type { Stage } from "../canvas/stage";

/** The box that was nearest to the middle of the screen and is still there (a selected one first), with its place on the screen. */
export function anchorBetween(stage: Stage, was: Shown, now: Shown, selected: readonly number[]): { piece: number; screen: Rect } | undefined {
  const { before } = now.result;
  const chosen = new Set(selected);
  let best: { piece: number; screen: Rect } | undefined;
  let nearest = Infinity;
  for (let piece = 0; piece < before.length; piece++) {
    const old = before[piece];
    if (old < 0 || now.scene.shape[piece] === Shape.Frame || was.scene.shape[old] === Shape.Frame) continue;
    const screen = stage.onScreen(was.rect(old));
    const x = screen.x + screen.w / 2 - stage.width / 2, y = screen.y + screen.h / 2 - stage.height / 2;
    if (Math.abs(x) > stage.width / 2 || Math.abs(y) > stage.height / 2) continue;
    const far = (chosen.has(piece) ? 0 : 1e9) + x * x + y * y;
    if (far < nearest) {
      nearest = far;
      best = { piece, screen };
    }
  }
  return best;
}

/** Another pass: what stays keeps its place on the screen, unless nothing that changed would be in sight. */
export function showStaying(stage: Stage, shown: Shown, anchor: { piece: number; screen: Rect }): void {
  stage.show(shown, { anchor });
  const hidden = changesOutOfSight(stage, shown);
  if (hidden.length) stage.reveal(hidden.slice(0, 1), false);
}

/** Changed pieces, if none of them is in sight. */
function changesOutOfSight(stage: Stage, now: Shown): number[] {
  const { marks } = now.result;
  if (!marks) return [];
  const found: number[] = [];
  for (let piece = 0; piece < marks.length; piece++) {
    if (!marks[piece] || now.scene.shape[piece] === Shape.Frame) continue;
    const { x, y, w, h } = stage.onScreen(now.rect(piece));
    if (x < stage.width && y < stage.height && x + w > 0 && y + h > 0) return [];
    found.push(piece);
  }
  return found;
}
