/** Where the person looks: screen = (world - corner) * scale, in CSS pixels. */
export interface Camera {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}

export interface Rect {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

/** In pixels. */
export interface Size {
  readonly width: number;
  readonly height: number;
}

/** Where the person looks, whatever the size of the screen: what is in its middle, and how large. */
export interface Place {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}

export const MIN_SCALE = 0.00002;
export const MAX_SCALE = 6;
/** The space around a picture that fits. */
export const PADDING = 24;

export function clampScale(scale: number): number {
  return Math.min(MAX_SCALE, Math.max(MIN_SCALE, scale));
}

/** Zooms by a factor about a point of the screen, which keeps its place. */
export function zoomAt(camera: Camera, sx: number, sy: number, factor: number): Camera {
  const scale = clampScale(camera.scale * factor);
  return {
    x: camera.x + sx / camera.scale - sx / scale,
    y: camera.y + sy / camera.scale - sy / scale,
    scale,
  };
}

export function panBy(camera: Camera, dx: number, dy: number): Camera {
  return { x: camera.x - dx / camera.scale, y: camera.y - dy / camera.scale, scale: camera.scale };
}

const NO_HINT: Size = { width: 0, height: 0 };

/** The camera that shows a rectangle as large as possible, at most at 100 %, and clear of a hint in the upper left corner. */
export function fit(rect: Rect, width: number, height: number, most = 1, hint = NO_HINT): Camera {
  const room = roomIn(width, height);
  const scaleIn = (across: number, down: number) => clampScale(Math.min(most, across / Math.max(1, rect.w), down / Math.max(1, rect.h)));
  const at = (scale: number) => centred(rect.x + rect.w / 2, rect.y + rect.h / 2, scale, width, height);
  const camera = at(scaleIn(room.width, room.height));
  if (!isUnder(hint, rect, camera)) return camera;
  const scale = Math.max(scaleIn(room.width - hint.width, room.height), scaleIn(room.width, room.height - hint.height));
  return clearOf(hint, rect, at(scale), room);
}

/** Does a hint in the upper left corner of the screen lie over a rectangle? */
function isUnder(hint: Size, rect: Rect, { x, y, scale }: Camera): boolean {
  return (rect.x - x) * scale < hint.width && (rect.y - y) * scale < hint.height;
}

/** A camera moved as little as possible until a rectangle is next to a hint or, without room for that, below it. */
export function clearOf(hint: Size, rect: Rect, camera: Camera, room: Size): Camera {
  if (!isUnder(hint, rect, camera)) return camera;
  const { scale } = camera;
  if (rect.w * scale < room.width - hint.width + 1) return { ...camera, x: rect.x - hint.width / scale };
  return { ...camera, y: rect.y - hint.height / scale };
}

/** The part of a screen that a picture may use. */
export function roomIn(width: number, height: number): Size {
  return { width: Math.max(1, width - 2 * PADDING), height: Math.max(1, height - 2 * PADDING) };
}

export function centred(x: number, y: number, scale: number, width: number, height: number): Camera {
  return { x: x - width / 2 / scale, y: y - height / 2 / scale, scale };
}

export function placeOf({ x, y, scale }: Camera, width: number, height: number): Place {
  return { x: x + width / 2 / scale, y: y + height / 2 / scale, scale };
}

/** A place in few digits; the difference is not visible. */
export function roundedPlace({ x, y, scale }: Place): Place {
  return { x: Number(x.toFixed(1)) + 0, y: Number(y.toFixed(1)) + 0, scale: Number(scale.toPrecision(4)) };
}

/** Do two cameras show the same on a screen of this size, within a pixel? */
export function sameSight(a: Camera, b: Camera, width: number, height: number): boolean {
  const far = Math.max(Math.abs(a.x - b.x), Math.abs(a.y - b.y)) * a.scale;
  return far < 0.5 && Math.abs(a.scale / b.scale - 1) * Math.max(width, height) < 0.5;
}

/** In between two cameras; zoom runs evenly on a logarithmic scale and the centre along a straight line. */
export function between(a: Camera, b: Camera, t: number, width: number, height: number): Camera {
  if (t >= 1) return b;
  const scale = Math.exp(Math.log(a.scale) * (1 - t) + Math.log(b.scale) * t);
  const along = Math.abs(b.scale - a.scale) < 1e-9 ? t : (1 / scale - 1 / a.scale) / (1 / b.scale - 1 / a.scale);
  const cx = (a.x + width / 2 / a.scale) * (1 - along) + (b.x + width / 2 / b.scale) * along;
  const cy = (a.y + height / 2 / a.scale) * (1 - along) + (b.y + height / 2 / b.scale) * along;
  return centred(cx, cy, scale, width, height);
}

/** The part of the world on a screen of this size. */
export function visibleRect(camera: Camera, width: number, height: number): Rect {
  return { x: camera.x, y: camera.y, w: width / camera.scale, h: height / camera.scale };
}

/** Slow at both ends. */
export function ease(t: number): number {
  return t < 0.5 ? 4 * t * t * t : 1 - (-2 * t + 2) ** 3 / 2;
}
