/** The home page on a page. */
import { render } from "preact";
import { loadFonts } from "../fonts";
import { Scheme, type ThemeChoice } from "../state/scheme";
import css from "../style.css";
import { Chooser } from "./chooser";
import type { FileServer } from "./fileServer";
import homeCss from "./home.css";
import { Home, type Offer } from "./home";

/** As scripts and tests see it. */
export interface StateOfHome {
  readonly status: "home";
  readonly selected: readonly { readonly name: string; readonly problem: string | null }[];
}

export interface HomePage {
  whenIdle(): Promise<void>;
  state(): StateOfHome;
}

export function mountHome(element: HTMLElement, server: FileServer, offer: Offer, theme: ThemeChoice): HomePage {
  const root = element.shadowRoot ?? element.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css + homeCss);
  root.adoptedStyleSheets = [sheet];
  const chooser = new Chooser(server);
  const scheme = new Scheme(theme, () => chooser.onChange.emit());
  void chooser.idle.during(loadFonts(document.fonts).catch(() => undefined));
  render(<Home chooser={chooser} offer={offer} scheme={scheme} />, root);
  // A page that Back brings out of the browser's cache still waits for what it opened.
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) location.reload();
  });
  return {
    whenIdle: () => chooser.idle.whenIdle(),
    state: () => ({ status: "home", selected: chooser.selected.map(({ name, problem }) => ({ name, problem: problem ?? null })) }),
  };
}
