/** The state in the address bar, so that back, forward, reload and a copied link work; where the page has its own address, in memory. */
import { fromHash, toHash } from "./url";
import type { ViewState } from "./view";

/** How a state was reached: by a step back or forward, or by an address that somebody typed or pasted. */
export type Reached = "step" | "address";

export interface History {
  /** Is there a step of this viewer before, or after, the current one? */
  readonly hasEarlier: boolean;
  readonly hasLater: boolean;
  read(): ViewState;
  push(view: ViewState): void;
  replace(view: ViewState): void;
  back(): void;
  forward(): void;
  link(view: ViewState): string;
  dispose(): void;
}

export function urlHistory(onStep: (view: ViewState, how: Reached) => void): History {
  /** Steps are numbered in the browser's own entries: before the first is a page that is not this viewer. */
  let at = numberOf(history.state) ?? 0;
  let last = at;
  const href = (view: ViewState) => {
    const hash = toHash(view);
    return hash ? `#${hash}` : `${location.pathname}${location.search}`;
  };
  const mark = () => {
    try {
      history.replaceState({ step: at }, "");
    } catch {
      // Then every step is one that somebody typed.
    }
  };
  const step = (event: PopStateEvent) => {
    const number = numberOf(event.state);
    if (number === undefined) {
      last = ++at;
      mark();
    } else {
      at = number;
      last = Math.max(at, last);
    }
    onStep(fromHash(location.hash), number === undefined ? "address" : "step");
  };
  mark();
  window.addEventListener("popstate", step);
  const write = (how: "pushState" | "replaceState", view: ViewState) => {
    try {
      history[how]({ step: how === "pushState" ? at + 1 : at }, "", href(view));
      if (how === "pushState") last = ++at;
    } catch {
      // A file: page may not drop its hash, and a very long state may be refused. The picture matters more than its address.
      if (how === "pushState") location.hash = toHash(view);
    }
  };
  return {
    get hasEarlier() {
      return at > 0;
    },
    get hasLater() {
      return at < last;
    },
    read: () => fromHash(location.hash),
    push: (view) => write("pushState", view),
    replace: (view) => write("replaceState", view),
    back: () => {
      if (at > 0) history.back();
    },
    forward: () => history.forward(),
    link: (view) => new URL(`#${toHash(view)}`, location.href).href,
    dispose: () => window.removeEventListener("popstate", step),
  };
}

function numberOf(state: unknown): number | undefined {
  const step = (state as { readonly step?: unknown } | null)?.step;
  return typeof step === "number" ? step : undefined;
}

/** For notebooks, where several viewers share a page with its own address. */
export function memoryHistory(start: ViewState, onStep: (view: ViewState, how: Reached) => void): History {
  const steps = [start];
  let at = 0;
  return {
    get hasEarlier() {
      return at > 0;
    },
    get hasLater() {
      return at + 1 < steps.length;
    },
    read: () => steps[at],
    push: (view) => {
      steps.splice(at + 1, steps.length, view);
      at++;
    },
    replace: (view) => {
      steps[at] = view;
    },
    back: () => {
      if (at > 0) onStep(steps[--at], "step");
    },
    forward: () => {
      if (at + 1 < steps.length) onStep(steps[++at], "step");
    },
    link: (view) => `#${toHash(view)}`,
    dispose: () => undefined,
  };
}
