/**
 * Hints: what a control does and which key does the same. An element has them in `data-hint` and `data-key`; they are shown when the pointer
 * rests on it or the keyboard reaches it, sooner than the browser shows its own, and with keys.
 */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";

const REST_MS = 350;
/** The most that a hint is wide, and the space around it. */
const WIDTH = 280;
const GAP = 6;
/** Below a control there is room for three lines, or the hint is above it. */
const ROOM = 64;

interface Hint {
  readonly text: string;
  readonly press: string | undefined;
  readonly place: { readonly left: string; readonly top?: string; readonly bottom?: string };
}

/** `root`: the element that has all controls. */
export function Hints({ root }: { readonly root: { readonly current: HTMLElement | null } }): JSX.Element | null {
  const [hint, setHint] = useState<Hint>();
  useEffect(() => {
    const element = root.current;
    if (!element) return undefined;
    let timer = 0;
    const hide = () => {
      clearTimeout(timer);
      setHint(undefined);
    };
    const plan = (event: Event) => {
      hide();
      const control = (event.composedPath()[0] as Element | undefined)?.closest<HTMLElement>("[data-hint]");
      const isTouch = (event as PointerEvent).pointerType === "touch";
      if (!control || isTouch || (event.type === "focusin" && !control.matches(":focus-visible"))) return;
      timer = window.setTimeout(() => setHint(hintAt(control, element)), REST_MS);
    };
    const endings = ["pointerdown", "keydown", "focusout", "pointerleave", "wheel"] as const;
    element.addEventListener("pointerover", plan);
    element.addEventListener("focusin", plan);
    for (const name of endings) element.addEventListener(name, hide, { passive: true });
    return () => {
      clearTimeout(timer);
      element.removeEventListener("pointerover", plan);
      element.removeEventListener("focusin", plan);
      for (const name of endings) element.removeEventListener(name, hide);
    };
  }, [root]);
  if (!hint) return null;
  return (
    <div class="tip hint" role="tooltip" style={{ ...hint.place, maxWidth: `${WIDTH}px` }}>
      {hint.text} {hint.press && <kbd>{hint.press}</kbd>}
    </div>
  );
}

/** Below the control, or above it at the lower edge; never beyond the page. */
function hintAt(control: HTMLElement, page: HTMLElement): Hint | undefined {
  const { hint: text = "", key: press } = control.dataset;
  const at = control.getBoundingClientRect(),
    all = page.getBoundingClientRect();
  if (!text || !control.isConnected) return undefined;
  const left = `${Math.max(GAP, Math.min(at.left - all.left, all.width - WIDTH - GAP))}px`;
  const above = at.bottom + GAP + ROOM > all.bottom;
  return {
    text,
    press,
    place: above ? { left, bottom: `${all.bottom - at.top + GAP}px` } : { left, top: `${at.bottom - all.top + GAP}px` },
  };
}
