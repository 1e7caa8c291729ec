/**
 * The one script of every host. On a page it finds its data and mounts the viewer; the same script, started as a worker, is the
 * engine. So a page is one file with one script, and needs nothing else.
 */
import type { Carrier, StartEngine } from "../ui/engine/client";
import type { DataFile, WireAt } from "../ui/engine/protocol";
import { localCarrier, serveWorker } from "../ui/engine/serve";
import { ownPage, servedPage } from "../ui/files/saveHtml";
import { FileServer, type ServerSettings } from "../ui/files/fileServer";
import type { Offer } from "../ui/files/home";
import { type HomePage, mountHome } from "../ui/files/mountHome";
import { mount, type Viewer } from "../ui/mount";
import type { PredefinedStyle, SourceEntry } from "../ui/options";
import type { DockPanel } from "../ui/state/panels";
import type { ViewState } from "../ui/state/view";

/** What the host writes into the page, as JSON in an inert script element. */
interface PageConfig {
  readonly sources: readonly (
    | { readonly name: string; readonly data: string; readonly memory: Readonly<Record<string, string>> }
    | { readonly name: string; readonly url: string; readonly details: string; readonly memory: string; readonly source: string }
    | { readonly name: string; readonly recording: string }
  )[];
  readonly initial?: Partial<ViewState>;
  readonly theme?: "light" | "dark" | "auto";
  readonly url?: boolean;
  readonly compact?: boolean;
  /** Style rules, and files of node data. */
  readonly styles?: unknown;
  readonly nodeData?: readonly DataFile[];
  readonly predefinedStyles: readonly PredefinedStyle[];
  readonly dock?: DockPanel;
  readonly table?: "nodes" | "modules";
  /** What the server reads files for; a page from a file has none. */
  readonly files?: ServerSettings;
  /** This is the home page. */
  readonly home?: Offer;
  /** Address of a stream of "changed" events, if the host watches its files. */
  readonly events?: string;
}

function element(id: string): HTMLElement {
  const part = document.getElementById(id);
  if (!part) throw new Error(`this page is damaged: its part "${id}" is missing; export it again`);
  return part;
}

/** Starts a worker from this script: by its address if it has one, else from its text. */
function engineStarter(script: HTMLScriptElement | null): StartEngine {
  let address = script?.src ?? "";
  return (): Carrier => {
    try {
      address ||= URL.createObjectURL(new Blob([script?.textContent ?? ""], { type: "text/javascript" }));
      return new Worker(address) as unknown as Carrier;
    } catch {
      return localCarrier();
    }
  };
}

function sourceOf(source: PageConfig["sources"][number]): SourceEntry {
  const address = (path: string): string => new URL(path, location.href).href;
  const part = (id: string): WireAt => ({ kind: "base64", text: document.getElementById(id)?.textContent ?? "" });
  const { name } = source;
  if ("recording" in source) {
    const url = address(source.recording);
    return { name, at: { kind: "recording", url }, memory: (pass) => ({ kind: "url", url: `${url}/memory/${pass}` }) };
  }
  if ("url" in source) {
    const url = address(source.memory);
    return {
      name,
      at: { kind: "url", url: address(source.url), detailsUrl: address(source.details), sourceUrl: address(source.source) },
      memory: () => ({ kind: "url", url }),
    };
  }
  return { name, at: part(source.data), memory: (pass) => (pass in source.memory ? part(source.memory[pass]) : undefined) };
}

/** What a page shows: a viewer, the home page, or why it shows nothing. */
type Page = Viewer | HomePage | { whenIdle(): Promise<void>; state(): { readonly status: "failed"; readonly problem: string } };

function open(script: HTMLScriptElement | null): Page {
  const place = document.getElementById("opscope") ?? document.body;
  try {
    const config = JSON.parse(element("opscope-config").textContent ?? "") as PageConfig;
    const files = config.files && new FileServer(config.files);
    return files && config.home ? mountHome(place, files, config.home, config.theme ?? "auto") : startViewer(place, config, files, script);
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    place.textContent = `This page cannot be shown: ${problem}`;
    return { whenIdle: () => Promise.resolve(), state: () => ({ status: "failed", problem }) };
  }
}

/** In a task of its own: one that compiles this script and starts the viewer would block for too long. */
function start(script: HTMLScriptElement | null): void {
  let page: Page | undefined;
  const opened = new Promise<void>((resolve) => {
    setTimeout(() => {
      page = open(script);
      resolve();
    });
  });
  Object.assign(window, {
    opscope: {
      whenIdle: () => opened.then(() => page?.whenIdle()),
      state: () => page?.state() ?? { status: "loading" },
      sides: () => (page && "sides" in page ? page.sides() : []),
    },
  });
}

function startViewer(place: HTMLElement, config: PageConfig, files: FileServer | undefined, script: HTMLScriptElement | null): Viewer {
  const viewer = mount(place, {
    sources: config.sources.map(sourceOf),
    start: engineStarter(script),
    predefinedStyles: config.predefinedStyles,
    ...(config.initial ? { initial: config.initial } : {}),
    ...(config.styles === undefined ? {} : { styles: config.styles }),
    ...(config.nodeData ? { nodeData: config.nodeData } : {}),
    theme: config.theme ?? "auto",
    url: config.url ?? false,
    ...(config.compact === undefined ? {} : { compact: config.compact, inlined: config.compact }),
    ...(config.dock ? { dock: config.dock } : {}),
    ...(config.table ? { table: config.table } : {}),
    ...(files ? { files } : {}),
    writePage: config.sources.every((source) => "data" in source) ? ownPage(config) : servedPage,
  });
  if (config.events) {
    const events = new EventSource(config.events);
    events.addEventListener("changed", () => viewer.reload());
    events.addEventListener("view", (event: MessageEvent<string>) => viewer.show(JSON.parse(event.data) as Partial<ViewState>));
    events.addEventListener("replaced", () => {
      history.replaceState(null, "", location.pathname);
      location.reload();
    });
  }
  return viewer;
}

if (typeof document === "undefined") serveWorker(self as unknown as DedicatedWorkerGlobalScope);
else start(document.currentScript as HTMLScriptElement | null);
