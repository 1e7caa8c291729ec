/** The context menu: what can be done with what is under the pointer. */
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { MenuAt } from "../pointing";
import type { Session } from "../session";
import { ALL, enterGraph } from "../state/view";
import { actions, copy } from "./actions";
import { showPaths } from "./details";
import { foldings } from "./folded";
import { clipped } from "./outline";

interface Entry {
  readonly text: string;
  readonly press?: string;
  readonly run: () => void;
}

export function ContextMenu({ session, at }: { readonly session: Session; readonly at: MenuAt }): JSX.Element {
  const menu = useRef<HTMLDivElement>(null);
  const entries = entriesFor(session, at);
  useEffect(() => {
    const element = menu.current!;
    const { width, height } = session.stage!;
    element.style.left = `${Math.max(4, Math.min(at.x + 2, width - element.offsetWidth - 6))}px`;
    element.style.top = `${Math.max(4, Math.min(at.y + 2, height - element.offsetHeight - 6))}px`;
    element.querySelector("button")?.focus();
  }, [session, at]);
  const onKey = (event: KeyboardEvent) => {
    const buttons = [...menu.current!.querySelectorAll("button")];
    const now = buttons.indexOf(event.composedPath()[0] as HTMLButtonElement);
    const to = { ArrowDown: now + 1, ArrowUp: now - 1, Home: 0, End: -1 }[event.key];
    if (to !== undefined) buttons.at(to % buttons.length)?.focus();
    else if (event.key === "Escape" || event.key === "Tab") session.pointing.closeMenu();
    else if (event.key !== "Enter" && event.key !== " ") return;
    if (event.key !== "Enter" && event.key !== " ") event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div
      class="menu"
      ref={menu}
      role="menu"
      tabIndex={-1}
      aria-label="Context menu"
      onKeyDown={onKey}
      onContextMenu={(event) => event.preventDefault()}
      onFocusOut={(event) => {
        // The canvas handles its own presses: this may be the end of the press that opened the menu.
        const to = event.relatedTarget as Node | null;
        if (to !== session.stage?.canvas && !menu.current?.contains(to) && session.pointing.menu === at) session.pointing.closeMenu();
      }}
    >
      {entries.map(({ text, press, run }) => (
        <button
          type="button"
          role="menuitem"
          key={text}
          tabIndex={-1}
          onClick={() => {
            session.pointing.closeMenu();
            run();
          }}
        >
          <span>{text}</span>
          {press && <kbd>{press}</kbd>}
        </button>
      ))}
    </div>
  );
}

function entriesFor(session: Session, { picked }: MenuAt): Entry[] {
  if (picked?.kind === "edge") return edgeEntries(session, picked.edge);
  return picked ? boxEntries(session, picked.item) : graphEntries(session);
}

function boxEntries(session: Session, item: number): Entry[] {
  const { scene, result } = session.shown!;
  const { view } = session;
  const box = scene.box[item];
  const open = result.open[box] === 1,
    container = open || scene.expandable[box] === 1;
  const node = result.node[box];
  const facts = session.about.node?.node === node ? session.about.node : undefined;
  const name = facts?.id ?? scene.title[box];
  const [a, b, ...more] = session.selectedNodes;
  const entries: (Entry | false)[] = [
    container && { text: open ? "Collapse" : "Expand", press: "Enter", run: () => session.toggle(item) },
    container && { text: "Expand all inside", press: "Shift+Enter", run: () => session.toggle(item, true) },
    scene.repeat[box] > 1 && {
      text: `Unstack the ${scene.repeat[box]} repeats`,
      run: () => actions.unfold(session, [scene.key[box]], scene.key[box]),
    },
    ...(facts ? foldings(session, facts) : []),
    { text: "Zoom to it", press: "z", run: () => session.stage?.reveal([item], true) },
    node >= 0 && { text: "Isolate (2 hops)", run: () => void actions.isolate(session, node) },
    node >= 0 && { text: "Highlight upstream", run: () => session.change({ ...view, upstream: ALL, downstream: 0 }) },
    node >= 0 && { text: "Highlight downstream", run: () => session.change({ ...view, upstream: 0, downstream: ALL }) },
    b !== undefined && more.length === 0 && { text: "Show all paths between them", run: () => void showPaths(session, a, b) },
    ...(facts?.calls ?? []).slice(0, 4).map((graph) => ({
      text: `Enter ${clipped(graph.name, 40)}`,
      run: () => session.change(enterGraph(view, graph.name), { look: "first" }),
    })),
    { text: "Copy name", run: () => void copy(session, name, "Name copied") },
    node >= 0 && { text: "Copy as Markdown", run: () => void actions.copyMarkdown(session) },
  ];
  return entries.filter((entry) => entry !== false);
}

function edgeEntries(session: Session, edge: number): Entry[] {
  const { scene } = session.shown!;
  const go = (text: string, item: number) => ({
    text: `${text} ${clipped(scene.title[scene.box[item]], 40)}`,
    run: () => session.selectItem(item, false, true),
  });
  return [
    ...(scene.edgeSource[edge] >= 0 ? [go("From", scene.edgeSource[edge])] : []),
    ...(scene.edgeTarget[edge] >= 0 ? [go("To", scene.edgeTarget[edge])] : []),
  ];
}

function graphEntries(session: Session): Entry[] {
  return [
    { text: "Fit the whole graph", press: "f", run: () => actions.fit(session) },
    { text: "Expand all", press: "e", run: () => actions.expandAll(session) },
    { text: "Collapse all", press: "c", run: () => actions.collapseAll(session) },
    { text: "Back", press: "[", run: () => session.back() },
    { text: "Copy link", press: "y", run: () => void actions.copyLink(session) },
    { text: "Save SVG", press: "s", run: () => void actions.saveSvg(session, "seen") },
    { text: "Save SVG as a figure", run: () => void actions.saveSvg(session, "file") },
    { text: "Save visible part as PNG", run: () => void actions.savePng(session, true) },
  ];
}
