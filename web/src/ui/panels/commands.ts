/** Everything that can be done, once: the keys, the menus, the palette and the sheet of shortcuts are made of this table. */
import { ATTRIBUTE, DATA } from "../../core/highlight/highlighter";
import { VIEW_OPTIONS } from "../../core/program/viewOptions";
import type { Session } from "../session";
import type { PanelName } from "../state/panels";
import { colourBy } from "../state/view";
import { MOST_PANES } from "../timeline/panes";
import { WHY } from "../timeline/reasons";
import { actions, showsOperands } from "./actions";

export interface Command {
  /** What menus and the palette call it; absent for keys that make sense only as keys. */
  readonly name?: string;
  /** The key that runs it. */
  readonly press?: string;
  /** Its row of the sheet; several keys may share one. */
  readonly keys?: string;
  readonly what?: string;
  readonly run?: (at: Where) => void;
  /** Of a switch: is it on? */
  readonly isOn?: (at: Where) => boolean;
  /** Can it be done here? */
  readonly exists?: (at: Where) => boolean;
}

/** What a command applies to. `session` may be that of a pane; panels belong to the page. */
export interface Where {
  readonly session: Session;
  readonly page: Session;
  readonly focusSearch: () => void;
  readonly chooseComparison: () => void;
  readonly openSheet: () => void;
  readonly openPalette: () => void;
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

const toggleSelected =
  (deep: boolean) =>
  ({ session }: Where) => {
    const item = session.selectedItems.at(-1);
    if (item !== undefined) session.toggle(item, deep);
  };

function selectParent(session: Session): void {
  const item = session.selectedItems.at(-1);
  const parent = item === undefined ? -1 : session.shown!.scene.parent[item];
  if (parent >= 0) session.selectItem(parent, false, true);
}

const hasSelection = ({ session }: Where) => session.view.selection.length > 0;
const hasMatches = ({ session }: Where) => session.view.query !== "";
const hasPasses = ({ page }: Where) => page.timeline.exists;
const panel = (name: PanelName): Pick<Command, "run" | "isOn"> => ({
  run: ({ page }) => page.openPanels.toggle(name),
  isOn: ({ page }) => page.openPanels.has(name),
});

export const BACKGROUNDS = { theme: "Background as seen", white: "White background", transparent: "Transparent background" } as const;

export const COMMANDS: readonly Command[] = [
  { keys: "Ctrl+K", what: "Command palette: every action, module and node", press: "Ctrl+k", run: ({ openPalette }) => openPalette() },
  { keys: "↓ ↑", what: "Follow outputs, inputs", press: "ArrowDown", run: arrow("down") },
  { press: "ArrowUp", run: arrow("up") },
  { keys: "← →", what: "Previous, next in the row", press: "ArrowLeft", run: arrow("left") },
  { press: "ArrowRight", run: arrow("right") },
  { keys: "Enter", what: "Expand or collapse a group", press: "Enter", run: toggleSelected(false) },
  { keys: "Shift+Enter", what: "Expand all inside", press: "Shift+Enter", run: toggleSelected(true) },
  {
    name: "Select the parent group",
    keys: "Backspace",
    what: "Select the parent group",
    press: "Backspace",
    run: ({ session }) => selectParent(session),
    exists: hasSelection,
  },
  { name: "Search", keys: "/", what: "Search", press: "/", run: ({ focusSearch }) => focusSearch() },
  { press: "Ctrl+f", run: ({ focusSearch }) => focusSearch() },
  {
    name: "Next match",
    keys: "n  N",
    what: "Next, previous match",
    press: "n",
    run: ({ session }) => void session.finder.step(1),
    exists: hasMatches,
  },
  { name: "Previous match", press: "N", run: ({ session }) => void session.finder.step(-1), exists: hasMatches },
  { name: "Fit the whole graph", keys: "f", what: "Fit the whole graph", press: "f", run: ({ session }) => actions.fit(session) },
  {
    name: "Zoom to the selection",
    keys: "z",
    what: "Zoom to the selection",
    press: "z",
    run: ({ session }) => actions.zoomToSelection(session),
    exists: hasSelection,
  },
  { name: "Zoom in", keys: "+  −  0", what: "Zoom in, zoom out, 100 %", press: "+", run: ({ session }) => session.stage?.zoomBy(1.5) },
  { press: "=", run: ({ session }) => session.stage?.zoomBy(1.5) },
  { name: "Zoom out", press: "-", run: ({ session }) => session.stage?.zoomBy(1 / 1.5) },
  { name: "Zoom to 100 %", press: "0", run: ({ session }) => session.stage?.zoomBy(1 / session.stage.camera.scale) },
  { name: "Expand all", keys: "e", what: "Expand all", press: "e", run: ({ session }) => actions.expandAll(session) },
  {
    name: "Collapse all",
    keys: "c",
    what: "Collapse all; again: the whole graph",
    press: "c",
    run: ({ session }) => actions.collapseAll(session),
  },
  {
    name: "Flatten",
    keys: "l",
    what: "Flatten",
    press: "l",
    run: ({ session }) => actions.flatten(session),
    isOn: ({ session }) => session.view.flatten,
  },
  {
    name: "Fold repeats",
    keys: "r",
    what: "Fold repeats",
    press: "r",
    run: ({ session }) => actions.foldRepeats(session),
    isOn: ({ session }) => session.view.fold,
  },
  {
    name: "Layout direction",
    keys: "d",
    what: "Layout direction",
    press: "d",
    run: ({ session }) => actions.direction(session),
    isOn: ({ session }) => session.view.rankdir === "LR",
  },
  {
    name: "Forward beside backward",
    keys: "g",
    what: "Forward beside backward",
    press: "g",
    run: ({ session }) => actions.forwardBackward(session),
    isOn: ({ session }) => session.view.forwardBackward,
    exists: ({ session }) => session.program?.halves !== undefined,
  },
  {
    name: "Show operand index",
    keys: "#",
    what: "Show operand index",
    press: "#",
    run: ({ session }) => actions.operands(session),
    isOn: ({ session }) => showsOperands(session),
  },
  {
    name: "Show op names",
    keys: "m",
    what: "Show op names",
    press: "m",
    run: ({ session }) => actions.names(session),
    isOn: ({ session }) => session.view.names,
  },
  {
    name: "Show all nodes",
    keys: "a",
    what: "Show all nodes",
    press: "a",
    run: ({ session }) => actions.allNodes(session),
    isOn: ({ session }) => session.view.allNodes,
  },
  {
    name: "Show all frames",
    keys: "w",
    what: "Show all frames",
    press: "w",
    run: ({ session }) => actions.frames(session),
    isOn: ({ session }) => session.view.frames,
  },
  {
    name: "Show tensors as nodes",
    keys: "v",
    what: "Show tensors as nodes",
    press: "v",
    run: ({ session }) => actions.values(session),
    isOn: ({ session }) => session.view.values === "boxes",
  },
  {
    name: "Show layouts",
    run: ({ session }) => actions.layouts(session),
    isOn: ({ session }) => session.view.layouts,
    exists: ({ session }) => session.program?.layouts ?? false,
  },
  {
    name: "Edge overlays",
    run: ({ session }) => actions.overlays(session),
    isOn: ({ session }) => session.view.overlays,
    exists: ({ session }) => session.program?.overlays ?? false,
  },
  {
    name: "Theme",
    keys: "t",
    what: "Theme",
    press: "t",
    run: ({ page }) => actions.theme(page),
  },
  { name: "Outline", keys: "o  i  b", what: "Outline, details, table", press: "o", ...panel("outline") },
  { name: "Details", press: "i", ...panel("details") },
  { name: "Table", press: "b", ...panel("table") },
  { name: "Memory", keys: "u", what: "Memory: what is in use while the program runs", press: "u", ...panel("memory") },
  { name: "Cost", keys: "h", what: "Cost: the heaviest modules and source lines", press: "h", ...panel("cost") },
  {
    name: "Roofline",
    keys: "H",
    what: "Roofline: the limits of a device, and where time could be saved",
    press: "H",
    ...panel("roofline"),
  },
  { name: "Kernels", keys: "q", what: "Kernels: one step in the order of time", press: "q", ...panel("kernels") },
  { name: "Text", keys: "x", what: "Text: the program line by line, before and after a pass", press: "x", ...panel("listing") },
  {
    name: "Source",
    keys: "X",
    what: "Source: the lines of your program, and how many nodes come from each",
    press: "X",
    ...panel("source"),
  },
  { name: "Styles", ...panel("styles") },
  {
    name: "Compare with…",
    run: ({ chooseComparison }) => chooseComparison(),
    exists: ({ page }) => page.options.files !== undefined,
  },
  {
    name: "Add pane",
    run: ({ page }) => page.panes.add(),
    exists: ({ page }) => (page.timeline.exists || page.options.sources.length > 1) && page.panes.list.length < MOST_PANES,
  },
  {
    name: "Next change",
    keys: "j  k",
    what: "Next, previous change in a recording",
    press: "j",
    run: ({ session }) => session.timeline.step(1),
    exists: hasPasses,
  },
  { name: "Previous change", press: "k", run: ({ session }) => session.timeline.step(-1), exists: hasPasses },
  {
    name: WHY,
    run: ({ session }) => session.timeline.explain(),
    exists: ({ session: { timeline, about } }) => timeline.exists && !timeline.compares && about.node !== undefined,
  },
  { name: "Passes", keys: "p", what: "Passes", press: "p", ...panel("passes"), exists: hasPasses },
  { name: "Back", keys: "[  ]", what: "Back, forward", press: "[", run: ({ session }) => session.back() },
  { name: "Forward", press: "]", run: ({ session }) => session.forward() },
  { keys: "Ctrl+Z", what: "Back (Ctrl+Shift+Z: forward)", press: "Ctrl+z", run: ({ session }) => session.back() },
  { press: "Ctrl+Shift+z", run: ({ session }) => session.forward() },
  { press: "Ctrl+y", run: ({ session }) => session.forward() },
  { name: "Save SVG", keys: "s", what: "Save SVG", press: "s", run: ({ session }) => void actions.saveSvg(session, "seen") },
  { name: "Save SVG as a figure", run: ({ session }) => void actions.saveSvg(session, "file") },
  { name: "Save PNG", run: ({ session }) => void actions.savePng(session, false) },
  { name: "Save visible part as PNG", run: ({ session }) => void actions.savePng(session, true) },
  {
    name: "Save HTML as seen",
    run: ({ page }) => void actions.saveHtml(page),
    exists: ({ page }) => page.options.writePage !== undefined,
  },
  ...VIEW_OPTIONS.background.choices.map((background) => ({
    name: BACKGROUNDS[background],
    run: ({ session }: Where) => actions.background(session, background),
    isOn: ({ session }: Where) => session.background === background,
  })),
  { name: "Copy link", keys: "y", what: "Copy link", press: "y", run: ({ page }) => void actions.copyLink(page) },
  { name: "Copy as Markdown", run: ({ session }) => void actions.copyMarkdown(session) },
  {
    keys: "Esc",
    what: "Clear the selection; stop",
    press: "Escape",
    run: ({ session }) =>
      session.pointing.menu ? session.pointing.closeMenu() : session.progress ? session.stop() : session.selectItem(undefined),
  },
  { name: "Shortcuts", keys: "?", what: "Keyboard shortcuts", press: "?", run: ({ openSheet }) => openSheet() },
  { keys: "Wheel", what: "Zoom. Trackpad: pan, pinch to zoom" },
  { keys: "Double click", what: "Expand or collapse a group (inside an open group: zoom to it)" },
  { keys: "Shift click", what: "Add to the selection" },
  { keys: "Alt double click", what: "Expand all inside" },
  { keys: "Right click", what: "Context menu", press: "ContextMenu", run: ({ session }) => session.pointing.openMenuAtSelection() },
  { press: "Shift+F10", run: ({ session }) => session.pointing.openMenuAtSelection() },
];

/** The commands of a menu, in its order, that make sense here. */
export function commandsNamed(names: readonly string[], at: Where): Command[] {
  return names.flatMap((name) => COMMANDS.filter((command) => command.name === name && (command.exists?.(at) ?? true)));
}

/** Everything that the palette offers: the table, and a command for each choice of the lists. */
export function paletteCommands(at: Where): Command[] {
  const { session } = at;
  const { view, program } = session;
  return [
    ...COMMANDS.filter(({ name, run, exists }) => name && run && (exists?.(at) ?? true)),
    ...(program?.groupings ?? []).map((name) => ({
      name: `Group by ${name}`,
      run: () => actions.groupBy(session, name),
    })),
    ...labelChoices(session).map((name) => ({ name: `Write ${name} on boxes`, run: () => actions.label(session, [name]) })),
    ...colourChoices(session).map(([colour, name]) => ({
      name: `Colour by ${name}`,
      run: () => session.change(colourBy(view, colour), { keepCamera: true }),
    })),
    ...COLOUR_SCALES.map((scale) => ({ name: `Colour scale: ${scale}`, run: () => scaleColours(session, scale) })),
  ];
}

/** How the numbers of a metric become colours. */
export const COLOUR_SCALES = VIEW_OPTIONS.colourScale.choices;

export function scaleColours(session: Session, colourScale: (typeof COLOUR_SCALES)[number]): void {
  session.change({ ...session.view, colourScale }, { keepCamera: true });
}

/** Metrics and attributes that can be written on boxes. */
export function labelChoices({ program, attributes }: Session): string[] {
  return [...new Set([...(program?.metrics ?? []), ...attributes])];
}

/** What boxes can be coloured by, and what it is called. */
export function colourChoices(session: Session): [string, string][] {
  return [
    ["category", "op category"],
    ["op", "op"],
    ["dtype", "dtype"],
    ["group", "group"],
    ...(session.program?.metrics ?? []).map((name): [string, string] => [name, name]),
    ...session.styling.runs.map(({ name }): [string, string] => [`${DATA}${name}`, name]),
    ...session.attributes.map((name): [string, string] => [`${ATTRIBUTE}${name}`, name]),
  ];
}

/** Handles a key; returns whether it has a meaning. */
export function pressKey(event: KeyboardEvent, at: Where): boolean {
  const command = COMMANDS.find(({ press }) => press === keyName(event));
  command?.run?.(at);
  return command !== undefined;
}

/** A key with its modifiers. Shift is part of most characters, so it counts only where it makes a difference. */
export function keyName({ key, ctrlKey, metaKey, altKey, shiftKey }: KeyboardEvent): string {
  if (altKey) return "";
  if (ctrlKey || metaKey) return `Ctrl+${shiftKey ? "Shift+" : ""}${key.toLowerCase()}`;
  return shiftKey && /^(Enter|F10)$/.test(key) ? `Shift+${key}` : key;
}
