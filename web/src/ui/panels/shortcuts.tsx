/** The table of keys, and the sheet that lists them. */
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Session } from "../session";
import { actions } from "./actions";
import type { Panels } from "./app";
import { IconButton } from "./icons";

interface Key {
  readonly keys: string;
  readonly what: string;
  /** The key that triggers it. */
  readonly press?: string;
  readonly run?: (at: Where) => void;
}

export interface Where {
  readonly session: Session;
  readonly panels: Panels;
  readonly setPanels: (panels: Panels) => void;
  readonly focusSearch: () => void;
}

const walk =
  (way: "forward" | "back" | "left" | "right") =>
  ({ session }: Where) => {
    const { shown } = session;
    if (!shown || shown.scene.boxCount === 0) return;
    const from = session.selectedItems.at(-1);
    const to = from === undefined ? firstBox(session) : shown.neighbour(from, way);
    if (to >= 0) session.selectItem(to, false, true);
  };

/** Arrows follow the picture: in a graph that runs to the right, right is forward. */
const arrow = (name: "up" | "down" | "left" | "right") => (at: Where) => {
  const across = at.session.view.rankdir === "LR";
  const way = {
    up: across ? "left" : "back",
    down: across ? "right" : "forward",
    left: across ? "back" : "left",
    right: across ? "forward" : "right",
  } as const;
  walk(way[name])(at);
};

function firstBox(session: Session): number {
  const { shown, stage } = session;
  const { result } = shown!;
  for (const box of result.outline) if (!result.open[box]) return box;
  return stage ? result.outline[0] : -1;
}

export const KEYS: readonly Key[] = [
  { keys: "↓ ↑", what: "Follow outputs, inputs", press: "ArrowDown", run: arrow("down") },
  { keys: "", what: "", press: "ArrowUp", run: arrow("up") },
  { keys: "← →", what: "Previous, next in the row", press: "ArrowLeft", run: arrow("left") },
  { keys: "", what: "", press: "ArrowRight", run: arrow("right") },
  {
    keys: "Enter",
    what: "Expand or collapse a group",
    press: "Enter",
    run: ({ session }) =>
      session.selectedItems.slice(-1).forEach((item) => {
        session.toggle(item);
      }),
  },
  {
    keys: "Shift+Enter",
    what: "Expand all inside",
    press: "Shift+Enter",
    run: ({ session }) =>
      session.selectedItems.slice(-1).forEach((item) => {
        session.toggle(item, true);
      }),
  },
  { keys: "Backspace", what: "Select the parent group", press: "Backspace", run: ({ session }) => selectParent(session) },
  { keys: "/", what: "Search", press: "/", run: ({ focusSearch }) => focusSearch() },
  { keys: "n  N", what: "Next, previous match", press: "n", run: ({ session }) => void session.finder.step(1) },
  { keys: "", what: "", press: "N", run: ({ session }) => void session.finder.step(-1) },
  { keys: "f", what: "Fit the whole graph", press: "f", run: ({ session }) => actions.fit(session) },
  { keys: "z", what: "Zoom to the selection", press: "z", run: ({ session }) => actions.zoomToSelection(session) },
  { keys: "+  −  0", what: "Zoom in, zoom out, 100 %", press: "+", run: ({ session }) => session.stage?.zoomBy(1.5) },
  { keys: "", what: "", press: "=", run: ({ session }) => session.stage?.zoomBy(1.5) },
  { keys: "", what: "", press: "-", run: ({ session }) => session.stage?.zoomBy(1 / 1.5) },
  { keys: "", what: "", press: "0", run: ({ session }) => session.stage?.zoomBy(1 / session.stage.camera.scale) },
  { keys: "e", what: "Expand all", press: "e", run: ({ session }) => actions.expandAll(session) },
  { keys: "c", what: "Collapse all; again: the whole graph", press: "c", run: ({ session }) => actions.collapseAll(session) },
  { keys: "l", what: "Flatten", press: "l", run: ({ session }) => actions.flatten(session) },
  { keys: "r", what: "Fold repeats", press: "r", run: ({ session }) => actions.foldRepeats(session) },
  { keys: "d", what: "Layout direction", press: "d", run: ({ session }) => actions.direction(session) },
  { keys: "g", what: "Forward beside backward", press: "g", run: ({ session }) => actions.forwardBackward(session) },
  { keys: "#", what: "Show operand index", press: "#", run: ({ session }) => actions.operands(session) },
  { keys: "m", what: "Show op names", press: "m", run: ({ session }) => actions.names(session) },
  { keys: "a", what: "Show all nodes", press: "a", run: ({ session }) => actions.allNodes(session) },
  { keys: "w", what: "Show all frames", press: "w", run: ({ session }) => actions.frames(session) },
  { keys: "v", what: "Show tensors as nodes", press: "v", run: ({ session }) => actions.values(session) },
  { keys: "t", what: "Theme", press: "t", run: ({ session }) => actions.theme(session) },
  {
    keys: "o  i  b",
    what: "Outline, details, table",
    press: "o",
    run: ({ panels, setPanels }) => setPanels({ ...panels, outline: !panels.outline }),
  },
  { keys: "", what: "", press: "i", run: ({ panels, setPanels }) => setPanels({ ...panels, details: !panels.details }) },
  { keys: "", what: "", press: "b", run: ({ panels, setPanels }) => setPanels({ ...panels, table: !panels.table }) },
  { keys: "j  k", what: "Next, previous change in a recording", press: "j", run: ({ session }) => session.timeline.step(1) },
  { keys: "", what: "", press: "k", run: ({ session }) => session.timeline.step(-1) },
  { keys: "p", what: "Passes", press: "p", run: ({ panels, setPanels }) => setPanels({ ...panels, passes: !panels.passes }) },
  { keys: "[  ]", what: "Back, forward", press: "[", run: ({ session }) => session.back() },
  { keys: "", what: "", press: "]", run: ({ session }) => session.forward() },
  { keys: "s", what: "Save SVG", press: "s", run: ({ session }) => void actions.saveSvg(session, "seen") },
  { keys: "y", what: "Copy link", press: "y", run: ({ session }) => void actions.copyLink(session) },
  {
    keys: "Esc",
    what: "Clear the selection; stop",
    press: "Escape",
    run: ({ session }) =>
      session.pointing.menu ? session.pointing.closeMenu() : session.progress ? session.stop() : session.selectItem(undefined),
  },
  { keys: "?", what: "Keyboard shortcuts", press: "?", run: ({ panels, setPanels }) => setPanels({ ...panels, shortcuts: true }) },
  { keys: "Wheel", what: "Zoom. Trackpad: pan, pinch to zoom" },
  { keys: "Double click", what: "Expand or collapse a group (inside an open group: zoom to it)" },
  { keys: "Shift click", what: "Add to the selection" },
  { keys: "Alt double click", what: "Expand all inside" },
  {
    keys: "Right click",
    what: "Context menu",
    press: "ContextMenu",
    run: ({ session }) => session.pointing.openMenuAtSelection(),
  },
  { keys: "", what: "", press: "Shift+F10", run: ({ session }) => session.pointing.openMenuAtSelection() },
];

function selectParent(session: Session): void {
  const item = session.selectedItems.at(-1);
  const parent = item === undefined ? -1 : session.shown!.scene.parent[item];
  if (parent >= 0) session.selectItem(parent, false, true);
}

/** Handles a key; returns whether it has a meaning. */
export function pressKey(event: KeyboardEvent, where: Where): boolean {
  if ((event.ctrlKey || event.metaKey) && event.key === "f") {
    where.focusSearch();
    return true;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const name = event.shiftKey && /^(Enter|F10)$/.test(event.key) ? `Shift+${event.key}` : event.key;
  const key = KEYS.find(({ press }) => press === name);
  key?.run?.(where);
  return key !== undefined;
}

export function ShortcutSheet({ onClose }: { readonly onClose: () => void }): JSX.Element {
  const card = useRef<HTMLDivElement>(null);
  useEffect(() => card.current?.focus(), []);
  return (
    <div class="veil" role="presentation" onClick={onClose}>
      <div
        class="card"
        ref={card}
        role="dialog"
        aria-modal="true"
        aria-label="Keyboard"
        tabIndex={-1}
        onClick={(event) => event.stopPropagation()}
        onKeyDown={(event) => {
          if (event.key === "Escape" || event.key === "?") {
            onClose();
            event.stopPropagation();
          }
        }}
      >
        <h2>
          Keyboard and mouse <IconButton name="Close sheet" icon="close" onClick={onClose} />
        </h2>
        <dl class="keys">
          {KEYS.filter(({ what }) => what).map(({ keys, what }) => (
            <div key={keys}>
              <dt>{what}</dt>
              <dd>
                {keys.split(/ {1,2}(?=\S)/).length > 1 && !/[a-z]{3}/i.test(keys) ? (
                  keys.split(/ +/).map((each) => <kbd key={each}>{each}</kbd>)
                ) : (
                  <kbd>{keys}</kbd>
                )}
              </dd>
            </div>
          ))}
        </dl>
      </div>
    </div>
  );
}
