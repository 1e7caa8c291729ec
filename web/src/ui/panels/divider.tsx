/** The edge between a panel and the graph: drag it, or move it with the arrow keys. A double click restores the size. */
import type { JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { PanelSizes, SizedPanel } from "../state/panelSizes";

const STEP = 24;

export function Divider({
  name,
  panel,
  side,
  sizes,
}: {
  /** What is resized. */
  readonly name: string;
  readonly panel: SizedPanel;
  /** Where the panel is, as seen from the graph. */
  readonly side: "left" | "right" | "bottom";
  readonly sizes: PanelSizes;
}): JSX.Element {
  const handle = useRef<HTMLDivElement>(null);
  const [shownSize, setShownSize] = useState(0);
  const across = side === "bottom";
  const grows = side === "left" ? 1 : -1;
  /** The panel is next to its edge: before it on the left, after it elsewhere. */
  const sizeNow = () => {
    const element = side === "left" ? handle.current?.previousElementSibling : handle.current?.nextElementSibling;
    const box = element?.getBoundingClientRect();
    return Math.round((across ? box?.height : box?.width) ?? 0);
  };
  // What the style sheet makes of the size is known only now.
  useLayoutEffect(() => setShownSize(sizeNow()));
  const onKey = (event: KeyboardEvent) => {
    const [less, more] = across ? ["ArrowUp", "ArrowDown"] : ["ArrowLeft", "ArrowRight"];
    const step = event.key === more ? STEP : event.key === less ? -STEP : 0;
    if (step) sizes.set(panel, sizeNow() + grows * step);
    else if (event.key === "Home") sizes.reset(panel);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const onDown = (event: PointerEvent) => {
    if (event.button !== 0) return;
    event.preventDefault();
    const element = handle.current!;
    const start = sizeNow();
    const from = across ? event.clientY : event.clientX;
    const move = (now: PointerEvent) => sizes.set(panel, start + grows * ((across ? now.clientY : now.clientX) - from));
    const end = () => {
      element.removeEventListener("pointermove", move);
      element.removeEventListener("pointerup", end);
      element.removeEventListener("pointercancel", end);
    };
    element.setPointerCapture(event.pointerId);
    element.addEventListener("pointermove", move);
    element.addEventListener("pointerup", end);
    element.addEventListener("pointercancel", end);
  };
  return (
    <div
      ref={handle}
      class={across ? "divider across" : "divider"}
      role="separator"
      tabIndex={0}
      aria-label={`Resize ${name}`}
      aria-orientation={across ? "horizontal" : "vertical"}
      aria-valuenow={shownSize}
      data-hint="Drag to resize; double click to restore"
      onPointerDown={onDown}
      onDblClick={() => sizes.reset(panel)}
      onKeyDown={onKey}
    />
  );
}
