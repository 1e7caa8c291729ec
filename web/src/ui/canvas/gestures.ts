/** Mouse, trackpad, pen and touch, as the few things that they mean: pan, zoom, point, click. */
export interface GestureHandler {
  pan(dx: number, dy: number): void;
  zoom(x: number, y: number, factor: number): void;
  hover(x: number, y: number): void;
  leave(): void;
  click(x: number, y: number, event: { readonly add: boolean; readonly double: boolean; readonly deep: boolean }): void;
  /** The secondary button was pressed, or a finger is held in place. */
  menu(x: number, y: number): void;
  /** A drag or pinch has ended. */
  rest(): void;
  /** Does the wheel scroll the page around the graph instead? */
  leavesWheel(event: WheelEvent): boolean;
}

const DRAG_AFTER = 4;
const DOUBLE_MS = 350;
const HOLD_MS = 500;

export function listen(element: HTMLElement, handler: GestureHandler): () => void {
  const fingers = new Map<number, { x: number; y: number }>();
  let dragged = false;
  let downAt = { x: 0, y: 0 };
  let held = false;
  let holding = 0;
  let lastClick = { at: -1e9, x: 0, y: 0 };

  const place = (event: MouseEvent) => {
    const box = element.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };

  const down = (event: PointerEvent) => {
    if (event.button !== 0 && event.button !== 1) return;
    const at = place(event);
    fingers.set(event.pointerId, at);
    if (fingers.size === 1) {
      dragged = held = false;
      downAt = at;
    }
    element.setPointerCapture(event.pointerId);
    clearTimeout(holding);
    if (event.pointerType === "touch" && fingers.size === 1) holding = window.setTimeout(() => hold(at.x, at.y), HOLD_MS);
  };

  const hold = (x: number, y: number) => {
    if (dragged || fingers.size !== 1) return;
    held = true;
    handler.menu(x, y);
  };

  const move = (event: PointerEvent) => {
    const at = place(event);
    const before = fingers.get(event.pointerId);
    if (!before) {
      handler.hover(at.x, at.y);
      return;
    }
    if (held) return;
    if (fingers.size === 1) {
      if (!dragged && Math.hypot(at.x - downAt.x, at.y - downAt.y) < DRAG_AFTER) return;
      if (!dragged) element.style.cursor = "grabbing";
      dragged = true;
      clearTimeout(holding);
      handler.pan(at.x - before.x, at.y - before.y);
    } else if (fingers.size === 2) {
      dragged = true;
      const other = [...fingers].find(([id]) => id !== event.pointerId)![1];
      const was = Math.hypot(before.x - other.x, before.y - other.y),
        is = Math.hypot(at.x - other.x, at.y - other.y);
      if (was > 1 && is > 1) handler.zoom((at.x + other.x) / 2, (at.y + other.y) / 2, is / was);
      handler.pan((at.x - before.x) / 2, (at.y - before.y) / 2);
    }
    fingers.set(event.pointerId, at);
  };

  const up = (event: PointerEvent) => {
    clearTimeout(holding);
    if (!fingers.delete(event.pointerId) || fingers.size > 0) return;
    element.style.cursor = "";
    if (held) return;
    const at = place(event);
    if (dragged) {
      handler.rest();
      return;
    }
    if (event.type === "pointercancel" || event.button === 1) return;
    const now = event.timeStamp;
    const double = now - lastClick.at < DOUBLE_MS && Math.hypot(at.x - lastClick.x, at.y - lastClick.y) < 8;
    lastClick = { at: double ? -1e9 : now, ...at };
    handler.click(at.x, at.y, { add: event.shiftKey || event.ctrlKey || event.metaKey, double, deep: event.altKey });
  };

  const wheel = (event: WheelEvent) => {
    if (handler.leavesWheel(event)) return;
    event.preventDefault();
    const at = place(event);
    const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : event.deltaMode === WheelEvent.DOM_DELTA_PAGE ? 400 : 1;
    const dx = event.deltaX * unit,
      dy = event.deltaY * unit;
    if (event.ctrlKey || event.metaKey) handler.zoom(at.x, at.y, Math.exp(-dy * 0.01));
    else if (event.shiftKey && dx === 0) handler.pan(-dy, 0);
    else if (isMouseWheel(event)) handler.zoom(at.x, at.y, Math.exp(-Math.sign(dy) * Math.min(Math.abs(dy), 120) * 0.002));
    else handler.pan(-dx, -dy);
  };

  const leave = () => handler.leave();
  const menu = (event: MouseEvent) => {
    event.preventDefault();
    // A long press has opened it already; a key opens it at the selection.
    const { x, y } = place(event);
    if (!dragged && (event as PointerEvent).pointerType === "mouse") handler.menu(x, y);
  };
  const options = { passive: false } as const;
  element.addEventListener("pointerdown", down);
  element.addEventListener("pointermove", move);
  element.addEventListener("pointerup", up);
  element.addEventListener("pointercancel", up);
  element.addEventListener("pointerleave", leave);
  element.addEventListener("wheel", wheel, options);
  element.addEventListener("contextmenu", menu);
  return () => {
    element.removeEventListener("pointerdown", down);
    element.removeEventListener("pointermove", move);
    element.removeEventListener("pointerup", up);
    element.removeEventListener("pointercancel", up);
    element.removeEventListener("pointerleave", leave);
    element.removeEventListener("wheel", wheel);
    element.removeEventListener("contextmenu", menu);
  };
}

/** A mouse wheel turns in whole steps, a trackpad glides. People expect the first to zoom and the second to pan. */
function isMouseWheel(event: WheelEvent): boolean {
  if (event.deltaX !== 0) return false;
  if (event.deltaMode !== WheelEvent.DOM_DELTA_PIXEL) return true;
  const notches = (event as WheelEvent & { readonly wheelDeltaY?: number }).wheelDeltaY ?? 0;
  return Math.abs(notches) >= 120 && notches % 120 === 0;
}
