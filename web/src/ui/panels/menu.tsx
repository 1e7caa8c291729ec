/** The context menu: what can be done with what is under the pointer. */
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Shape } from "../../core/scene/types";
import type { MenuAt } from "../pointing";
import type { Session } from "../session";
import { ALL, enterGraph } from "../state/view";
import { WHY } from "../timeline/reasons";
import { actions, copy, isGroupKey, SHOW_ONLY_GROUP } from "./actions";
import { showPaths } from "./details";
import { foldings } from "./folded";
import { type MenuEntry, MenuList } from "./menuList";
import { clipped } from "./outline";

/** Between a menu, its box and the edges of the graph. */
const MARGIN = 6;

export function ContextMenu({ session, at }: { readonly session: Session; readonly at: MenuAt }): JSX.Element {
  const menu = useRef<HTMLDivElement>(null);
  const entries = entriesFor(session, at);
  useLayoutEffect(() => {
    const element = menu.current!;
    const { left, top } = placeOfMenu(session, at, element.offsetWidth, element.offsetHeight);
    element.style.left = `${left}px`;
    element.style.top = `${top}px`;
    element.querySelector("button")?.focus();
  }, [session, at]);
  return (
    <MenuList
      name="Context menu"
      entries={entries}
      list={menu}
      onClose={() => session.pointing.closeMenu()}
      onLeave={(to) => {
        // The canvas handles its own presses: this may be the end of the press that opened the menu.
        if (to !== session.stage?.canvas && !menu.current?.contains(to) && session.pointing.menu === at) session.pointing.closeMenu();
      }}
    />
  );
}

/** Next to the box that it is about, where it covers no part of it; else, and for open groups, at the pointer. */
function placeOfMenu({ stage, shown }: Session, { picked, x, y }: MenuAt, width: number, height: number): { left: number; top: number } {
  const top = Math.max(MARGIN, Math.min(y + 2, stage!.height - height - MARGIN));
  const isBox = picked?.kind === "box" && shown!.scene.shape[picked.item] !== Shape.Frame;
  if (isBox) {
    const box = stage!.onScreen(shown!.rect(picked.item));
    const [before, after] = [box.x - width - MARGIN, box.x + box.w + MARGIN];
    if (after + width + MARGIN <= stage!.width) return { left: after, top };
    if (before >= MARGIN) return { left: before, top };
  }
  return { left: Math.max(MARGIN, Math.min(x + 2, stage!.width - width - MARGIN)), top };
}

function entriesFor(session: Session, { picked }: MenuAt): MenuEntry[] {
  if (picked?.kind === "edge") return edgeEntries(session, picked.edge);
  return picked ? boxEntries(session, picked.item) : graphEntries(session);
}

function boxEntries(session: Session, item: number): MenuEntry[] {
  const { scene, result } = session.shown!;
  const { view } = session;
  const box = scene.box[item];
  const open = result.open[box] === 1,
    container = open || scene.expandable[box] === 1;
  const node = result.node[box];
  const facts = session.about.node?.node === node ? session.about.node : undefined;
  const name = facts?.id ?? scene.title[box];
  const [a, b, ...more] = session.selectedNodes;
  const entries: (MenuEntry | false)[] = [
    container && { text: open ? "Collapse" : "Expand", press: "Enter", run: () => session.toggle(item) },
    container && { text: "Expand all inside", press: "Shift+Enter", run: () => session.toggle(item, true) },
    scene.repeat[box] > 1 && {
      text: `Unstack the ${scene.repeat[box]} repeats`,
      run: () => actions.unfold(session, [scene.key[box]], scene.key[box]),
    },
    ...(facts ? foldings(session, facts) : []),
    { text: "Zoom to it", press: "z", run: () => session.stage?.reveal([item], true) },
    isGroupKey(scene.key[box]) && { text: SHOW_ONLY_GROUP, run: () => actions.isolateGroup(session, scene.key[box]) },
    node >= 0 && { text: "Isolate (2 hops)", run: () => void actions.isolate(session, node) },
    node >= 0 && session.timeline.exists && !session.timeline.compares && { text: WHY, run: () => session.timeline.explain() },
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

function edgeEntries(session: Session, edge: number): MenuEntry[] {
  const { scene } = session.shown!;
  const { source, target } = session.shown!.endsOf(edge);
  const go = (text: string, item: number) => ({
    text: `${text} ${clipped(scene.title[scene.box[item]], 40)}`,
    run: () => session.selectItem(item, false, true),
  });
  return [go("From", source), go("To", target)];
}

function graphEntries(session: Session): MenuEntry[] {
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
