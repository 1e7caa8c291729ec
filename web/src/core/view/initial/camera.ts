/** Where the camera starts. */
import { type Camera, fit, PADDING, type Rect, roomIn } from "../../base/camera";

/** Below this scale the text of boxes cannot be read: the beginning of a graph is shown at this size instead. */
const READABLE = 0.75;

/** The initial camera: on the whole graph if it can be read, else on what was asked for by name, else on its beginning. */
export function initialCamera(
  rect: Rect,
  first: Rect | undefined,
  direction: "TB" | "LR",
  width: number,
  height: number,
  named?: Rect,
): Camera {
  const whole = fit(rect, width, height);
  if (whole.scale >= READABLE) return whole;
  if (named) return fit(named, width, height, READABLE);
  if (!first) return whole;
  const scale = READABLE;
  const room = roomIn(width, height);
  // Across the flow, all of it is in the middle if it fits, else its first box.
  if (direction === "LR") {
    const across = rect.h * scale <= room.height ? rect : first;
    return { x: rect.x - PADDING / scale, y: across.y + across.h / 2 - height / 2 / scale, scale };
  }
  const across = rect.w * scale <= room.width ? rect : first;
  return { x: across.x + across.w / 2 - width / 2 / scale, y: rect.y - PADDING / scale, scale };
}
