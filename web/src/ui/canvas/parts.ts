/** Pictures of parts of a graph that have more than one frame can paint. */
import type { Theme } from "../../core/scene/theme";
import type { Emphasis, Sight } from "./scenePainter";

export interface Picture {
  readonly bitmap: ImageBitmap;
  readonly sight: Sight;
  readonly theme: Theme;
  readonly emphasis: Emphasis | undefined;
}

/** A picture extends this far beyond the screen on every side, so that panning shows something at once. */
const MARGIN = 0.35;

export function withMargin({ camera, width, height, ratio }: Sight): Sight {
  const x = camera.x - (width * MARGIN) / camera.scale,
    y = camera.y - (height * MARGIN) / camera.scale;
  return { camera: { x, y, scale: camera.scale }, width: width * (1 + 2 * MARGIN), height: height * (1 + 2 * MARGIN), ratio };
}

/** Draws a picture where it belongs under another camera, stretched. */
export function drawPicture(context: CanvasRenderingContext2D, { camera, ratio }: Sight, picture: Picture): void {
  const { camera: at, width, height } = picture.sight;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.drawImage(
    picture.bitmap,
    (at.x - camera.x) * camera.scale,
    (at.y - camera.y) * camera.scale,
    (width * camera.scale) / at.scale,
    (height * camera.scale) / at.scale,
  );
}

/** Was the picture drawn at this zoom, and does it cover the screen? */
export function sharp({ sight }: Picture, { camera, width, height }: Sight): boolean {
  const at = sight.camera;
  return (
    Math.abs(at.scale / camera.scale - 1) < 0.01 &&
    at.x <= camera.x &&
    at.y <= camera.y &&
    at.x + sight.width / at.scale >= camera.x + width / camera.scale &&
    at.y + sight.height / at.scale >= camera.y + height / camera.scale
  );
}
