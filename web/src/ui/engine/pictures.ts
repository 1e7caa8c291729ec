/** Pictures drawn in the worker: parts of a scene with too much for one frame, and PNG files. */
import { type Theme, THEMES } from "../../core/scene/theme";
import { clear, type ScenePainter, type Sight } from "../canvas/scenePainter";
import type { PictureRequest } from "./protocol";

/** The largest canvas that browsers allow. */
const MOST_SIDE = 16_000;
const MOST_PIXELS = 120_000_000;
const SHARPNESS = 2;

export function picture(painter: ScenePainter, request: PictureRequest): ImageBitmap {
  const canvas = draw(
    painter,
    request,
    THEMES[request.theme],
    request.lit && request.litEdge ? { lit: request.lit, litEdge: request.litEdge } : undefined,
  );
  return canvas.transferToImageBitmap();
}

/** The whole scene as a file, as sharp as the largest canvas allows, or only a part. */
export async function png(painter: ScenePainter, theme: Theme, part: PictureRequest | undefined): Promise<Blob> {
  const { scene } = painter.drawable;
  let sight: Sight;
  if (part) sight = part;
  else {
    const ratio = Math.min(
      SHARPNESS,
      MOST_SIDE / scene.width,
      MOST_SIDE / scene.height,
      Math.sqrt(MOST_PIXELS / (scene.width * scene.height)),
    );
    sight =
      ratio >= 1
        ? { camera: { x: 0, y: 0, scale: 1 }, width: scene.width, height: scene.height, ratio }
        : { camera: { x: 0, y: 0, scale: ratio }, width: scene.width * ratio, height: scene.height * ratio, ratio: 1 };
  }
  return draw(painter, sight, theme, undefined).convertToBlob({ type: "image/png" });
}

function draw(painter: ScenePainter, sight: Sight, theme: Theme, emphasis: Parameters<ScenePainter["paint"]>[3]): OffscreenCanvas {
  const canvas = new OffscreenCanvas(Math.max(1, Math.ceil(sight.width * sight.ratio)), Math.max(1, Math.ceil(sight.height * sight.ratio)));
  const context = canvas.getContext("2d", { alpha: theme.paper === "" });
  if (!context) throw new Error("this browser cannot draw in a worker; save SVG instead");
  if (theme.paper) clear(context, theme.background, canvas.width, canvas.height);
  painter.paint(context, theme, sight, emphasis);
  return canvas;
}
