/** The page as one file that opens with what is seen now. */
import type { DataFile } from "../engine/protocol";
import type { Session } from "../session";
import type { ViewState } from "../state/view";

/** The settings of a page that make it show what another one shows. */
export interface SeenSettings {
  readonly initial: ViewState;
  readonly theme: "light" | "dark" | "auto";
  readonly styles: unknown;
  readonly nodeData: readonly DataFile[];
}

/** Gives the text of a page with these settings. */
export type PageWriter = (seen: SeenSettings) => Promise<string>;

export function seenIn(session: Session): SeenSettings {
  const { styling } = session;
  return { initial: session.seen(), theme: session.themeChoice, styles: styling.rules, nodeData: styling.files };
}

/** A page that has its programs in it: a copy with other settings. */
export function ownPage(config: object): PageWriter {
  return (seen) => {
    const copy = document.documentElement.cloneNode(true) as HTMLElement;
    copy.querySelector("#opscope")?.replaceChildren();
    const { compact: _, ...settings } = { ...config, ...seen, url: true } as Record<string, unknown>;
    copy.querySelector("#opscope-config")!.textContent = forScript(settings);
    const text = copy.outerHTML.replace(/[\u0080-\u{10ffff}]/gu, (sign) => `&#${sign.codePointAt(0)};`);
    return Promise.resolve(`<!doctype html>\n${text}\n`);
  };
}

/** A page whose programs are on a server, which writes the file. */
export async function servedPage(seen: SeenSettings): Promise<string> {
  const response = await fetch("page.html", { method: "POST", body: JSON.stringify(seen) }).catch(() => {
    throw new Error("The server does not answer; if it was stopped, run `opscope view` again");
  });
  const text = await response.text();
  if (!response.ok) throw new Error(text || `the server answered ${response.status}`);
  return text;
}

/** JSON that is safe inside a script element: it contains no markup, whatever the names are, and is ASCII like the rest of the page. */
function forScript(value: unknown): string {
  return JSON.stringify(value).replace(/[<>&\u0080-\uffff]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
