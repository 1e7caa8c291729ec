/** The whole graph in a corner (mapCorner.ts) with a frame around what is on screen; a click goes there. */
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { centred } from "../../core/base/camera";
import { between } from "../../core/base/colour";
import { itemStyle } from "../../core/scene/style";
import { Shape } from "../../core/scene/types";
import type { Session } from "../session";
import { useSignal } from "./hooks";

const MOST_BOXES = 6000;

export function Minimap({ session }: { readonly session: Session }): JSX.Element | null {
  useSignal(session.onCamera);
  const canvas = useRef<HTMLCanvasElement>(null);
  const base = useRef<{ key: unknown; theme: unknown; width: number; image: HTMLCanvasElement } | undefined>(undefined);
  const { shown, stage, theme } = session;
  const map = stage?.map;

  useEffect(() => {
    const element = canvas.current;
    if (!element || !stage || !map) return;
    const { w: width, h: height, scale } = map;
    const ratio = window.devicePixelRatio || 1;
    if (base.current?.key !== shown || base.current?.theme !== theme || base.current?.width !== width) {
      const image = document.createElement("canvas");
      image.width = width * ratio;
      image.height = height * ratio;
      drawAll(image.getContext("2d")!, session, scale * ratio);
      base.current = { key: shown, theme, width, image };
    }
    element.width = width * ratio;
    element.height = height * ratio;
    const context = element.getContext("2d")!;
    context.drawImage(base.current!.image, 0, 0);
    const { camera } = stage;
    const s = scale * ratio;
    context.fillStyle = `${theme.accent}1f`;
    context.strokeStyle = theme.accent;
    context.lineWidth = 1.5 * ratio;
    const w = Math.max(3 * ratio, (stage.width / camera.scale) * s),
      h = Math.max(3 * ratio, (stage.height / camera.scale) * s);
    context.fillRect(camera.x * s, camera.y * s, w, h);
    context.strokeRect(camera.x * s, camera.y * s, w, h);
  });

  if (!stage || !map) return null;
  const { corner, scale } = map;
  const go = (event: PointerEvent) => {
    if (event.buttons === 0) return;
    const box = canvas.current!.getBoundingClientRect();
    stage.moveTo(
      centred((event.clientX - box.left) / scale, (event.clientY - box.top) / scale, stage.camera.scale, stage.width, stage.height),
    );
  };
  return (
    <canvas
      ref={canvas}
      class={`map ${corner}`}
      role="img"
      aria-label="Map of the whole graph"
      style={{ width: `${map.w}px`, height: `${map.h}px` }}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        go(event);
      }}
      onPointerMove={go}
    />
  );
}

/** Frames as areas, boxes as dots; of very many boxes a sample is enough. */
function drawAll(context: CanvasRenderingContext2D, session: Session, scale: number): void {
  const { scene } = session.shown!;
  const { theme } = session;
  const colours = theme.paints.map(({ fill, stroke }) => between(fill, stroke, 0.45));
  const step = Math.max(1, Math.floor(scene.boxCount / MOST_BOXES));
  const frameStep = Math.max(1, Math.floor(scene.frameCount / MOST_BOXES));
  for (let i = 0; i < scene.frameCount; i += frameStep) {
    const item = scene.order[i];
    context.fillStyle = between(itemStyle(scene, theme, item).fill, itemStyle(scene, theme, item).stroke, 0.5);
    context.fillRect(scene.x[item] * scale, scene.y[item] * scale, scene.w[item] * scale, scene.h[item] * scale);
  }
  for (let item = 0; item < scene.boxCount; item += step) {
    if (scene.shape[item] === Shape.Frame) continue;
    context.fillStyle = scene.custom[item] < 0 ? colours[scene.paint[item]] : itemStyle(scene, theme, item).fill;
    context.fillRect(scene.x[item] * scale, scene.y[item] * scale, Math.max(1, scene.w[item] * scale), Math.max(1, scene.h[item] * scale));
  }
}
