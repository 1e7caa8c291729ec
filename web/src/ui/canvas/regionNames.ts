/** On a map without frames, the names of the groups that are large enough on the screen, each in the middle of its boxes. */
import type { Occupied } from "../../core/base/occupied";
import type { Theme } from "../../core/scene/theme";
import type { Scene } from "../../core/scene/types";
import { elideMiddle, textWidth } from "../../core/text/measure";
import { textAt } from "../../core/text/packedTexts";
import type { Context } from "./canvasPainter";
import { fontOf, LARGEST } from "./names";
import type { Sight } from "./scenePainter";

/** The side of a square with all boxes of a group, from which it has a name, in pixels of the screen. */
const LEAST_SIDE = 44;
const WIDEST = 160;
const AROUND = 3;

/** In screen pixels; the largest groups first, and none over another. */
export function paintRegionNames(
  context: Context,
  theme: Theme,
  scene: Scene,
  { camera, width, height, ratio }: Sight,
  occupied: Occupied,
): void {
  const { regions } = scene;
  if (!regions) return;
  const perBox = (scene.width * scene.height * camera.scale * camera.scale) / Math.max(1, scene.boxCount);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.globalAlpha = 1;
  context.font = fontOf(LARGEST, true);
  for (let i = 0; i < regions.count.length && regions.count[i] * perBox >= LEAST_SIDE * LEAST_SIDE; i++) {
    const [x, y] = [(regions.x[i] - camera.x) * camera.scale, (regions.y[i] - camera.y) * camera.scale];
    if (x < 0 || y < 0 || x > width || y > height) continue;
    const text = elideMiddle(textAt(regions.names, i), WIDEST, LARGEST, true);
    const wide = textWidth(text, LARGEST, true);
    const left = Math.max(AROUND, Math.min(x - wide / 2, width - wide - AROUND));
    const top = y - LARGEST * 0.65;
    if (!occupied.take(left - AROUND, top - 1, wide + 2 * AROUND, LARGEST * 1.3)) continue;
    context.fillStyle = theme.panel;
    context.globalAlpha = 0.86;
    context.fillRect(left - AROUND, top - 1, wide + 2 * AROUND, LARGEST * 1.3);
    context.globalAlpha = 1;
    context.fillStyle = theme.text;
    context.fillText(text, left, top + LARGEST * 0.95);
  }
}
