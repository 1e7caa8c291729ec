/** Titles of open groups at the edges of the screen while one looks inside them. */
import type { JSX } from "preact";
import { STICKY_LINE, type StickyTitle, stickyTitles } from "../canvas/stickyTitles";
import type { Session } from "../session";
import { clipped } from "./outline";

export function titlesOf({ shown, stage }: Session): readonly StickyTitle[] {
  return shown && stage && !stage.moving ? stickyTitles(shown.scene, stage.camera, stage.width, stage.height) : [];
}

/** The height of the titles that lie over each other at the upper edge. */
export function heightOf(titles: readonly StickyTitle[]): number {
  let height = 0;
  for (const { y } of titles) if (y <= height) height = Math.max(height, y + STICKY_LINE);
  return height;
}

export function Titles({ session, titles }: { readonly session: Session; readonly titles: readonly StickyTitle[] }): JSX.Element | null {
  if (titles.length === 0) return null;
  const { scene } = session.shown!;
  return (
    <nav
      class="sticky"
      aria-label="Enclosing groups"
      onWheel={(event) => {
        event.preventDefault();
        session.stage?.canvas.dispatchEvent(new WheelEvent("wheel", event));
      }}
    >
      {titles.map(({ item, x, y, width }) => {
        const box = scene.box[item];
        const title = clipped(scene.title[box], 80);
        return (
          <div key={item} style={{ left: `${x}px`, top: `${y}px`, width: `${width}px` }}>
            <button type="button" aria-label={`Collapse ${title}`} data-hint="Collapse" onClick={() => session.toggle(item)}>
              ▾
            </button>
            <button
              type="button"
              class="name"
              data-hint="Select and show this group"
              onClick={() => {
                session.selectItem(item);
                session.stage?.reveal([item], true);
              }}
            >
              {title}
              {scene.repeat[box] > 1 && <span class="times"> ×{scene.repeat[box]}</span>}
            </button>
          </div>
        );
      })}
    </nav>
  );
}
