/** Where the camera starts. */
import { type Camera, clearOf, fit, PADDING, type Rect, roomIn, type Size } from "../../base/camera";

/** Below this scale the text of boxes cannot be read: the beginning of a graph is shown at this size instead. */
export const READABLE = 0.75;

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
  const whole = fit(rect, width, height, 1, hint);
  if (whole.scale >= READABLE) return whole;
  if (named) return fit(named, width, height, READABLE);
  if (!first) return whole;
  const scale = READABLE;
  const room = roomIn(width, height);
  // Across the flow, all of it is in the middle if it fits, else its first box.
  if (direction === "LR") {
    const across = rect.h * scale <= room.height ? rect : first;
    const camera = { x: rect.x - PADDING / scale, y: across.y + across.h / 2 - height / 2 / scale, scale };
    return clearOf(hint, { ...rect, w: 0 }, camera, room);
  }
  const across = rect.w * scale <= room.width ? rect : first;
  const camera = { x: across.x + across.w / 2 - width / 2 / scale, y: rect.y - PADDING / scale, scale };
  return clearOf(hint, rect, camera, room);
}
