/** The state in the address bar, so that back, forward, reload and a copied link work; where the page has its own address, in memory. */
import { fromHash, toHash } from "./url";
import type { ViewState } from "./view";

export interface History {
  read(): ViewState;
  push(view: ViewState): void;
  replace(view: ViewState): void;
  back(): void;
  forward(): void;
  link(view: ViewState): string;
  dispose(): void;
}

export function urlHistory(onStep: (view: ViewState) => void): History {
  const step = () => onStep(fromHash(location.hash));
  window.addEventListener("popstate", step);
  const href = (view: ViewState) => {
    const hash = toHash(view);
    return hash ? `#${hash}` : `${location.pathname}${location.search}`;
  };
  const write = (how: "pushState" | "replaceState", view: ViewState) => {
    try {
      history[how](null, "", href(view));
    } catch {
      // A file: page may not drop its hash, and a very long state may be refused. The picture matters more than its address.
      if (how === "pushState") location.hash = toHash(view);
    }
  };
  return {
    read: () => fromHash(location.hash),
    push: (view) => write("pushState", view),
    replace: (view) => write("replaceState", view),
    back: () => history.back(),
    forward: () => history.forward(),
    link: (view) => new URL(`#${toHash(view)}`, location.href).href,
    dispose: () => window.removeEventListener("popstate", step),
  };
}

/** For notebooks, where several viewers share a page with its own address. */
export function memoryHistory(start: ViewState, onStep: (view: ViewState) => void): History {
  const steps = [start];
  let at = 0;
  return {
    read: () => steps[at],
    push: (view) => {
      steps.splice(at + 1, steps.length, view);
      at++;
    },
    replace: (view) => {
      steps[at] = view;
    },
    back: () => {
      if (at > 0) onStep(steps[--at]);
    },
    forward: () => {
      if (at + 1 < steps.length) onStep(steps[++at]);
    },
    link: (view) => `#${toHash(view)}`,
    dispose: () => undefined,
  };
}
