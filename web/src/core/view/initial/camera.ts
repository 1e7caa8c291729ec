/** Where the camera starts. */
import { type Camera, fit, PADDING, type Rect } from "../../base/camera";

/** Below this scale nothing of a whole graph can be read: its beginning is shown at a readable size instead. */
const READABLE = 0.3;
const CLOSE = 0.62;

/** The initial camera: on the whole graph if it can be read, else on what was asked for by name, else on its first box. */
export function initialCamera(
  rect: Rect,
  first: Rect | undefined,
  direction: "TB" | "LR",
  width: number,
  height: number,
  named?: Rect,
): Camera {
  const whole = fit(rect, width, height);
  if (named) return whole.scale >= CLOSE ? whole : fit(named, width, height, CLOSE);
  if (whole.scale >= READABLE || !first) return whole;
  const scale = CLOSE;
  const x = first.x + first.w / 2,
    y = first.y + first.h / 2;
  if (direction === "LR") return { x: rect.x - PADDING / scale, y: y - height / 2 / scale, scale };
  return { x: x - width / 2 / scale, y: rect.y - PADDING / scale, scale };
}
