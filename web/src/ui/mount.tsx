/** The viewer: one function and no globals, so that a page can have several. */
import { render } from "preact";
import type { Camera, Rect } from "../core/base/camera";
import { ADDRESS_OPTIONS, type AddressOption } from "../core/program/options";
import type { ViewOptions } from "../core/program/viewOptions";
import { loadFonts } from "./fonts";
import { App } from "./panels/app";
import type { SessionOptions } from "./options";
import { Session } from "./session";
import { colourOf, startingAt, type ViewState } from "./state/view";
import dockCss from "./dock/dock.css";
import css from "./style.css";
import panesCss from "./timeline/panes.css";
import timelineCss from "./timeline/timeline.css";

/** The state as scripts and tests see it. */
export interface ViewerState {
  readonly status: "loading" | "ready" | "failed";
  readonly problem: string | null;
  readonly program: string | null;
  readonly graph: string;
  readonly grouping: string;
  readonly nodes: number;
  readonly boxes: number;
  readonly edges: number;
  readonly selection: readonly string[];
  readonly selectedNode: string | null;
  readonly expanded: readonly string[];
  readonly pass: number | null;
  readonly passMode: string;
  readonly panes: readonly {
    readonly pass: number | null;
    readonly program: string | null;
    readonly mode: string;
    readonly boxes: number;
    readonly selection: readonly string[];
    readonly selectedNode: string | null;
  }[];
  readonly query: string;
  readonly matches: number | null;
  readonly flatten: boolean;
  readonly foldRepeats: boolean;
  readonly direction: string;
  readonly colour: string;
  readonly theme: string;
  /** All view options by name. */
  readonly options: Pick<ViewOptions, AddressOption>;
  /** The panels that are open. */
  readonly panels: readonly string[];
  readonly camera: Camera;
  readonly remarks: readonly string[];
  readonly lastViewMs: number | null;
  readonly lastLayoutMs: number | null;
  readonly lastTotalMs: number | null;
}

/** What is seen of the graph or of a pane: no part of the state, which a link restores to the rounded place. */
export interface Side {
  readonly camera: Camera;
  /** Where the box that was selected last is on the screen. */
  readonly selectedAt: Rect | null;
}

export interface Viewer {
  dispose(): void;
  whenIdle(): Promise<void>;
  state(): ViewerState;
  /** The graph, and each pane. */
  sides(): readonly Side[];
  reload(): void;
  /** Shows this state of the first source. */
  show(view: Partial<ViewState>): void;
}

/** Below these widths the side panels would leave no room for the graph, and the outline none for forward beside backward. */
const NARROW = 760;
const SMALL = 1000;

export function mount(element: HTMLElement, options: SessionOptions): Viewer {
  const root = element.shadowRoot ?? element.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css + timelineCss + panesCss + dockCss);
  root.adoptedStyleSheets = [sheet];
  const holder = document.createElement("div");
  holder.style.height = "100%";
  root.append(holder);
  const { clientWidth } = element;
  const session = new Session({ ...options, compact: options.compact ?? clientWidth < NARROW, hasOutline: clientWidth >= SMALL });
  void session.idle.during(loadFonts(document.fonts).catch(() => undefined)).then(() => session.stage?.draw());
  // The engine loads the program meanwhile; and one task that starts the script and builds the page would block for too long.
  const building = setTimeout(() => render(<App session={session} />, holder));
  void session.idle.during(
    new Promise<void>((resolve) => {
      const stop = session.onChange.subscribe(() => {
        if (!session.stage) return;
        stop();
        resolve();
      });
    }),
  );
  return {
    dispose: () => {
      clearTimeout(building);
      render(null, holder);
      session.dispose();
      holder.remove();
    },
    whenIdle: () => session.panes.whenIdle(),
    state: () => describe(session),
    sides: () =>
      [session, ...session.panes.list.map((pane) => pane.session)].map((each) => ({
        camera: cameraOf(each),
        selectedAt: selectedAt(each),
      })),
    reload: () => void session.open(session.view.source),
    show: (view) => session.begin({ ...startingAt(view), panels: session.view.panels }),
  };
}

/** Keys of the groups that are open. */
function expandedIn({ shown }: Session): string[] {
  return shown ? Array.from(shown.result.open.keys(), (box) => shown.scene.key[box]).filter((_, box) => shown.result.open[box]) : [];
}

function selectedAt({ shown, stage }: Session): Rect | null {
  const item = stage?.selected.at(-1);
  return stage && shown && item !== undefined ? stage.onScreen(shown.rect(item)) : null;
}

function cameraOf({ stage }: Session): Camera {
  return stage?.camera ?? { x: 0, y: 0, scale: 1 };
}

function describe(session: Session): ViewerState {
  const { view, shown, program, problem } = session;
  return {
    status: problem ? "failed" : shown ? "ready" : "loading",
    problem: problem ?? null,
    program: program?.name ?? null,
    graph: session.graphName,
    grouping: view.groupBy ?? program?.groupings[0] ?? "",
    nodes: program?.nodes ?? 0,
    boxes: shown?.scene.boxCount ?? 0,
    edges: shown?.scene.edgeCount ?? 0,
    selection: view.selection,
    selectedNode: session.about.node?.id ?? null,
    expanded: expandedIn(session),
    pass: session.timeline.row?.number ?? null,
    passMode: session.panes.sideBySide ? "side by side" : session.timeline.mode,
    panes: session.panes.list.map(({ session: each }) => ({
      pass: each.timeline.row?.number ?? null,
      program: each.program?.name ?? null,
      mode: each.timeline.mode,
      boxes: each.shown?.scene.boxCount ?? 0,
      expanded: expandedIn(each),
      selection: each.view.selection,
      selectedNode: each.about.node?.id ?? null,
    })),
    query: view.query,
    matches: session.finder.result?.total ?? null,
    flatten: view.flatten,
    foldRepeats: view.fold,
    direction: view.rankdir,
    colour: colourOf(view),
    theme: session.theme.name,
    options: Object.fromEntries(ADDRESS_OPTIONS.map((name) => [name, view[name]])) as unknown as Pick<ViewOptions, AddressOption>,
    panels: session.openPanels.names,
    camera: cameraOf(session),
    remarks: shown?.result.remarks ?? [],
    lastViewMs: shown?.result.viewMs ?? null,
    lastLayoutMs: shown?.result.layoutMs ?? null,
    lastTotalMs: shown?.result.totalMs ?? null,
  };
}
