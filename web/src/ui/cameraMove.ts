/** Where the camera looks after the picture has changed. */
import type { Place } from "../core/base/camera";
import type { Shown } from "./canvas/shown";
import type { Point, Stage } from "./canvas/stage";
import { anchorBetween, showStaying } from "./timeline/anchor";

export interface CameraMove {
  /** The key of a box whose title keeps its place on the screen. */
  readonly anchor?: string;
  readonly look?: "fit" | "first";
  readonly reveal?: number;
  readonly revealLevel?: number;
  /** The first change of the pass that is shown comes into view. */
  readonly revealChange?: boolean;
  readonly keepCamera?: boolean;
  /** What stays in the picture keeps its place on the screen. */
  readonly stay?: boolean;
  /** Look at the place that the state has, or at this one. */
  readonly restore?: boolean;
  readonly place?: Place;
}

/** Is the camera free to go where the first picture would be seen best? */
export function isFree(move: CameraMove, camera: Place | undefined): boolean {
  return move.reveal === undefined && !move.stay && !move.place && !(move.restore && camera);
}

/** Where the title that is to keep its place is now. */
export function anchoredTitle(stage: Stage, shown: Shown | undefined, key: string | undefined): Point | undefined {
  const item = key === undefined || !shown ? -1 : shown.find(key);
  return item < 0 ? undefined : stage.titleOnScreen(shown!, item);
}

/** Shows another picture. `title`: where the title of its box `anchor` was. */
export function showAfter(
  stage: Stage,
  before: Shown | undefined,
  shown: Shown,
  move: CameraMove,
  { camera, title, anchor }: { readonly camera: Place | undefined; readonly title: Point | undefined; readonly anchor: number },
): void {
  const reveal = move.revealChange ? shown.result.revealed : -1;
  const stays = move.stay && before ? anchorBetween(stage, before, shown, stage.selected) : undefined;
  if (stays && before) showStaying(stage, before, shown, stays, reveal);
  else if (move.place) stage.show(shown, { place: move.place });
  else if (title && anchor >= 0) stage.show(shown, { title: { item: anchor, at: title } });
  else if (move.keepCamera) stage.show(shown, {});
  else if (move.restore && camera) stage.show(shown, { place: camera });
  else stage.show(shown, { look: before ? (move.look ?? "fit") : "first", reveal });
}
