import type { RefObject } from "preact";
import { useEffect, useReducer, useRef } from "preact/hooks";
import type { Signal } from "../state/signal";

/** Render again whenever a signal fires. */
export function useSignal(signal: Signal): void {
  const [, again] = useReducer((count: number, _: undefined) => count + 1, 0);
  useEffect(() => signal.subscribe(() => again(undefined)), [signal]);
}

/** Calls the latest `resized` whenever an element has another size, and once at first and when one of `on` changes. */
export function useResized<E extends Element>(
  element: RefObject<E | null>,
  resized: (element: E) => void,
  on: readonly unknown[] = [],
): void {
  const latest = useRef(resized);
  latest.current = resized;
  useEffect(() => {
    const observed = element.current!;
    const observer = new ResizeObserver(() => latest.current(observed));
    observer.observe(observed);
    return () => observer.disconnect();
  }, [...on]);
}

/** Calls the latest `turned` when the wheel turns over an element. Preact's listeners for the wheel are passive, and the page would scroll. */
export function useWheel(element: RefObject<HTMLElement | null>, turned: (event: WheelEvent) => void): void {
  const latest = useRef(turned);
  latest.current = turned;
  useEffect(() => {
    const turning = element.current!;
    const listener = (event: WheelEvent) => {
      event.preventDefault();
      latest.current(event);
    };
    turning.addEventListener("wheel", listener, { passive: false });
    return () => turning.removeEventListener("wheel", listener);
  }, []);
}
