/**
 * From one view to the next: boxes that stay glide from their old place on the screen to the new one, new ones fade in.
 * Only what is on screen before or after is animated.
 */
import type { Scene } from "../../core/scene/types";
import { type Camera, ease, visibleRect } from "../../core/base/camera";
import type { Shown } from "./shown";
import { querySpatial } from "./spatial";

export const MOTION_MS = 180;
/** With more visible boxes than this, a frame takes too long for smooth motion, and nobody could follow them. */
const MOST_BOXES = 300;

export interface Motion {
  readonly boxes: Int32Array;
  readonly edges: Int32Array;
  /** The new scene with its boxes in transit, at a time from 0 to 1. */
  at(time: number): { readonly scene: Scene; readonly edgeOpacity: number; readonly opacity: (item: number) => number };
}

/** What moves when `from` (under one camera) becomes `to` (under another), or undefined if that is too much. */
export function motionBetween(
  from: Shown,
  fromCamera: Camera,
  to: Shown,
  toCamera: Camera,
  width: number,
  height: number,
): Motion | undefined {
  const now = visibleRect(toCamera, width, height),
    was = visibleRect(fromCamera, width, height);
  const room = new Int32Array(MOST_BOXES + 1);
  const staying = querySpatial(to.boxIndex, now.x, now.y, now.x + now.w, now.y + now.h, room);
  if (staying > MOST_BOXES || to.scene.boxCount > 40_000) return undefined;
  const { before } = to.result;
  const boxes = new Set(room.subarray(0, staying));
  const old = from.scene;
  for (let item = 0; item < before.length; item++) {
    const p = before[item];
    if (p >= 0 && old.x[p] < was.x + was.w && old.x[p] + old.w[p] > was.x && old.y[p] < was.y + was.h && old.y[p] + old.h[p] > was.y)
      boxes.add(item);
    if (boxes.size > MOST_BOXES) return undefined;
  }
  const moving = Int32Array.from(boxes);
  const edgeRoom = new Int32Array(6000);
  const edges = edgeRoom.subarray(0, querySpatial(to.edgeIndex, now.x, now.y, now.x + now.w, now.y + now.h, edgeRoom));

  const target = to.scene;
  const x = target.x.slice(),
    y = target.y.slice(),
    w = target.w.slice(),
    h = target.h.slice();
  const zoom = fromCamera.scale / toCamera.scale;
  const scene: Scene = { ...target, x, y, w, h };
  return {
    boxes: moving,
    edges,
    at(time) {
      const t = ease(Math.min(1, time));
      for (const item of moving) {
        const p = before[item] ?? -1;
        if (p < 0) continue;
        const ox = toCamera.x + (old.x[p] - fromCamera.x) * zoom,
          oy = toCamera.y + (old.y[p] - fromCamera.y) * zoom;
        x[item] = ox + (target.x[item] - ox) * t;
        y[item] = oy + (target.y[item] - oy) * t;
        w[item] = old.w[p] * zoom + (target.w[item] - old.w[p] * zoom) * t;
        h[item] = old.h[p] * zoom + (target.h[item] - old.h[p] * zoom) * t;
      }
      return { scene, edgeOpacity: Math.max(0, (time - 0.5) * 2), opacity: (item) => ((before[item] ?? -1) < 0 ? t : 1) };
    },
  };
}
