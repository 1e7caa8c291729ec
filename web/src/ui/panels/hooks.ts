import { useEffect, useReducer } from "preact/hooks";
import type { Signal } from "../state/signal";

/** Render again whenever a signal fires. */
export function useSignal(signal: Signal): void {
  const [, again] = useReducer((count: number, _: undefined) => count + 1, 0);
  useEffect(() => signal.subscribe(() => again(undefined)), [signal]);
}
