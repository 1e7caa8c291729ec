/** What the controls and the keys do, in one place. */
import { NO_HALVES } from "../../core/view/twoHalves/halves";
import type { Paper } from "../engine/protocol";
import { seenIn } from "../files/saveHtml";
import type { Session } from "../session";
import {
  collapseAll,
  expandAll,
  fold,
  groupBy,
  inHalves,
  START,
  toggle,
  toggleAllNodes,
  toggleFlatten,
  toggleFrames,
  toggleNames,
  unfold,
  type ViewState,
} from "../state/view";

export const actions = {
  expandAll: (session: Session) => session.change(expandAll(session.view), { look: "fit" }),
  collapseAll: (session: Session) => session.change(collapseAll(session.view), { look: "fit" }),
  flatten: (session: Session) => void session.display.toggle("flatten", toggleFlatten(session.view), { look: "fit" }),
  foldRepeats: (session: Session) => void session.display.toggle("fold", { ...session.view, fold: !session.view.fold, unfolded: [] }),
  /** Another hierarchy is another picture: it is seen as a newly opened one, not so small that nothing can be read. */
  groupBy: (session: Session, grouping: string) => session.change(groupBy(session.view, grouping), { look: "first" }),
  /** Unstacks the repeats of a stack, or gives nodes that are folded into a box their own; that box keeps its place on the screen. */
  unfold: (session: Session, keys: readonly string[], box: string) => session.change(unfold(session.view, keys), { anchor: box }),
  fold: (session: Session, keys: readonly string[], box: string) => session.change(fold(session.view, keys), { anchor: box }),
  direction: (session: Session) =>
    void session.display.toggle("rankdir", {
      ...(session.view.forwardBackward ? asShown(session) : session.view),
      forwardBackward: false,
      rankdir: session.view.rankdir === "TB" ? "LR" : "TB",
    }),
  operands: (session: Session) =>
    void session.display.toggle("operands", { ...session.view, operands: !showsOperands(session) }, { keepCamera: true }),
  names: (session: Session) => void session.display.toggle("names", toggleNames(session.view)),
  allNodes: (session: Session) => void session.display.toggle("allNodes", toggleAllNodes(session.view)),
  frames: (session: Session) => void session.display.toggle("frames", toggleFrames(session.view)),
  layouts: (session: Session) => void session.display.toggle("layouts", { ...session.view, layouts: !session.view.layouts }),
  label: (session: Session, label: readonly string[]) => void session.display.set({ ...session.view, label }),
  values: (session: Session) =>
    void session.display.toggle("values", { ...session.view, values: session.view.values === "boxes" ? "edges" : "boxes" }),
  overlays: (session: Session) =>
    void session.display.toggle("overlays", { ...session.view, overlays: !session.view.overlays }, { keepCamera: true }),
  forwardBackward: (session: Session) => {
    const { view, program } = session;
    if (!program?.halves) return session.say(NO_HALVES);
    void session.display.toggle("forwardBackward", view.forwardBackward ? { ...view, forwardBackward: false } : inHalves(view, program), {
      look: "fit",
    });
  },
  /** Shows only a node of the shown graph and its surroundings. */
  async isolate(session: Session, node: number): Promise<void> {
    const { id, graph } = await session.ask("node", { node });
    if (graph !== session.graphName) return session.say(`This node is in ${graph}; open that graph first`);
    session.change({ ...session.view, around: [id], hops: START.hops, stopAt: [], also: [] }, { look: "fit" });
  },
  /** Shows only a group of the shown graph, open, with what goes in and out of it. */
  isolateGroup: (session: Session, key: string) =>
    session.change({ ...toggle(session.view, key, false), around: [key], hops: 1, stopAt: [], also: [] }, { look: "fit" }),
  theme: (session: Session) => session.setTheme(session.theme.name === "dark" ? "light" : "dark"),
  fit: (session: Session) => session.stage?.fit(),
  zoomToSelection: (session: Session) => session.stage?.reveal(session.selectedItems, true),

  /** As shown, or as a figure for a page: what `opscope export` draws of the same view. */
  async saveSvg(session: Session, as: "seen" | "file"): Promise<void> {
    const svg = await session.ask("svg", { ...paperOf(session), as });
    download(new Blob([svg], { type: "image/svg+xml" }), `${fileName(session)}.svg`);
  },

  async savePng(session: Session, visibleOnly: boolean): Promise<void> {
    const { stage } = session;
    if (!stage) return;
    const part = visibleOnly ? { part: { ...stage.sight, ratio: Math.max(2, stage.sight.ratio), theme: session.theme.name } } : {};
    download(await session.ask("png", { ...paperOf(session), ...part }), `${fileName(session)}.png`);
  },

  /** One file with the whole viewer, which opens with what is seen now. */
  async saveHtml(session: Session): Promise<void> {
    session.say("Writing the page…");
    try {
      const page = await session.idle.during(session.options.writePage!(seenIn(session)));
      download(new Blob([page], { type: "text/html" }), `${fileName(session)}.html`);
    } catch (error) {
      session.say(error instanceof Error ? error.message : String(error));
    }
  },

  /** The background of the pictures that are saved from now on. */
  background: (session: Session, background: Session["background"]) => {
    session.background = background;
    session.changed();
  },

  async copyLink(session: Session): Promise<void> {
    await copy(session, session.link(), "Link copied");
  },

  async copyMarkdown(session: Session): Promise<void> {
    const text = await session.ask("markdown", { nodes: session.selectedNodes });
    await copy(session, text, session.selectedNodes.length ? "Selection copied as Markdown" : "View copied as Markdown");
  },
};

export const SHOW_ONLY_GROUP = "Show only this group";

/** The state that names what is open: forward beside backward opens other groups of its own accord than the same program does downwards. */
function asShown({ shown, view }: Session): ViewState {
  if (!shown) return view;
  const [open, closed] = [new Set<string>(), new Set<string>()];
  for (const [item, box] of shown.scene.box.entries()) {
    if (shown.result.open[box]) open.add(shown.keyOf(item));
    else if (shown.scene.expandable[box]) closed.add(shown.keyOf(item));
  }
  return { ...view, open: [...open], closed: [...closed] };
}

/** Can a box be shown alone? A group of the shown graph can; one inside an expanded call, and a stack of several, cannot. */
export function isGroupKey(key: string): boolean {
  return key.startsWith("g:") && !key.includes(">");
}

/** What pictures are saved on. Light text would be lost on white. */
function paperOf({ background, theme }: Session): Paper {
  return { theme: background === "white" ? "light" : theme.name, background };
}

/** Are operand numbers shown? By default the picture decides. */
export function showsOperands({ view, shown }: Session): boolean {
  return view.operands ?? shown?.scene.labels.has("operand") ?? false;
}

export async function copy(session: Session, text: string, done: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    if (!copyBySelection(text)) {
      session.say("This page is not allowed to write to the clipboard");
      return;
    }
  }
  session.say(done);
}

/** Pages from file: and frames without permission have no clipboard API, but can copy a selection. */
function copyBySelection(text: string): boolean {
  const area = document.createElement("textarea");
  area.value = text;
  area.setAttribute("aria-hidden", "true");
  area.style.position = "fixed";
  area.style.opacity = "0";
  document.body.append(area);
  const before = document.activeElement;
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (before instanceof HTMLElement) before.focus();
  return done;
}

export function download(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function fileName(session: Session): string {
  const name = `${session.program?.name ?? "graph"}${session.view.graph !== undefined ? `.${session.graphName}` : ""}`;
  return name.replace(/[^\p{L}\p{N}._-]+/gu, "_").slice(0, 100) || "graph";
}
