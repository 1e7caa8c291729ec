/** When the titles of the enclosing groups are off screen, this shows where one is and leads back out. */
import type { JSX } from "preact";
import { Shape } from "../../core/scene/types";
import type { Session } from "../session";
import { useSignal } from "./hooks";
import { clipped } from "./outline";

export function Around({ session }: { readonly session: Session }): JSX.Element | null {
  useSignal(session.onCamera);
  const frames = framesAround(session);
  if (frames.length === 0) return null;
  const { scene } = session.shown!;
  return (
    <nav class="around" aria-label="Enclosing groups">
      {frames.map((item, i) => (
        <>
          {i > 0 && <span aria-hidden="true">›</span>}
          <button
            type="button"
            key={item}
            title="Select and show this group"
            onClick={() => {
              session.selectItem(item);
              session.stage?.reveal([item], true);
            }}
          >
            {clipped(scene.title[scene.box[item]], 40)}
          </button>
        </>
      ))}
    </nav>
  );
}

/** Frames around the middle of the screen, from the outside in, if the title of the innermost is off screen. */
function framesAround(session: Session): number[] {
  const { shown, stage } = session;
  if (!shown || !stage || stage.moving) return [];
  const { camera, width, height } = stage;
  const frames = shown.framesAt(camera.x + width / 2 / camera.scale, camera.y + height / 2 / camera.scale);
  const inner = frames.at(-1);
  if (inner === undefined) return [];
  const title = stage.onScreen(shown.rect(inner));
  return title.y < -4 || title.x < -120 ? frames.filter((item) => shown.scene.shape[item] === Shape.Frame) : [];
}
