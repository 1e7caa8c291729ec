/** What is shown, as a small immutable record: what is in the URL, what back and forward step through, and what the engine draws. */
import type { Place, Size } from "../../core/base/camera";
import { ADDRESS_OPTIONS, type AddressOption, DEFAULTS, isChosen, SPEC_OPTIONS } from "../../core/program/options";
import type { Moment } from "../../core/program/recording/moment";
import type { ViewSpec } from "../../core/program/types";
import type { ViewOptions } from "../../core/program/viewOptions";
import type { PanelName } from "./panels";
import { EVERYTHING_INSIDE, escapeName, isInside, ROOT_KEY, unescapeName } from "../../core/view/choose/keys";

/** The view options, and state that only a page has. */
export interface ViewState extends Pick<ViewOptions, AddressOption> {
  readonly source: number;
  /** The graphs that led to the one that is shown, from the entry inwards. */
  readonly trail: readonly string[];
  readonly open: readonly string[];
  readonly closed: readonly string[];
  readonly unfolded: readonly string[];
  /** Columns beside each other that a long picture is broken into. */
  readonly columns: number;
  readonly query: string;
  /** Show only what the query matches, with neighbours up to this many hops away; -1: show everything. */
  readonly matchesOnly: number;
  /** Nodes whose direct neighbours were added to those of `around`. */
  readonly also: readonly string[];
  /** Keys of the selected boxes. */
  readonly selection: readonly string[];
  /** In a recording: the number of the pass, and whether its changes are coloured. The option `diff` says before, after or overlay. */
  readonly pass: number;
  readonly passColours: boolean;
  /** Where the person looks; undefined: at the start. */
  readonly camera: Place | undefined;
  /** What the panes next to the graph show. */
  readonly panes: readonly PanePlace[];
  /** The panels that are open; undefined: those of a fresh page. */
  readonly panels: readonly PanelName[] | undefined;
  /** The point of the run that the memory panel is about; -1: its peak. */
  readonly step: number;
  /** How many hops up- and downstream of the selection are highlighted; 0: none, ALL: all. */
  readonly upstream: number;
  readonly downstream: number;
  /** Highlight the other half of the selection: its backward nodes, or its forward ones, and what is saved between them. */
  readonly related: boolean;
}

export interface PanePlace {
  readonly source: number;
  readonly pass: number;
  readonly passMode: Moment;
  /** Shows the program before the pass that the graph shows. */
  readonly linked: boolean;
}

export const ALL = 1000;
/** Deeper than any grouping: Expand all. */
export const DEEPEST = 1000;

const OPTIONS = Object.fromEntries(ADDRESS_OPTIONS.map((name) => [name, DEFAULTS[name]])) as unknown as Pick<ViewOptions, AddressOption>;

export const START: ViewState = {
  ...OPTIONS,
  source: 0,
  trail: [],
  open: [],
  closed: [],
  unfolded: [],
  columns: 1,
  query: "",
  matchesOnly: -1,
  also: [],
  selection: [],
  upstream: 0,
  downstream: 0,
  related: false,
  pass: 0,
  passColours: true,
  camera: undefined,
  panes: [],
  panels: undefined,
  step: -1,
};

/** The state that a page starts with; nodes whose surroundings were asked for are selected. */
export function startingAt(initial: Partial<ViewState> = {}): ViewState {
  const selection = initial.around?.map((name) => (/^[ngx]:/.test(name) ? name : `n:${escapeName(name)}`));
  return { ...START, ...(selection ? { selection } : {}), ...initial };
}

/** What boxes are coloured by unless somebody chooses otherwise. */
const CATEGORY = "category";

export function colourOf(view: ViewState): string {
  return view.colourBy ?? CATEGORY;
}

export function colourBy(view: ViewState, colour: string): ViewState {
  return { ...view, colourBy: colour === CATEGORY ? undefined : colour };
}

/** Do two states have the same picture? */
export function sameView(a: ViewState, b: ViewState): boolean {
  return JSON.stringify(pictureOf(a)) === JSON.stringify(pictureOf(b));
}

/** The part of a state that the picture depends on. */
function pictureOf(view: ViewState): unknown {
  const { source, pass, diff, passColours, rankdir, columns, colourBy, colourScale, matchesOnly, query } = view;
  const colours = [colourBy, colourScale];
  return [specOf(view), source, pass, diff ?? "after", passColours, rankdir, columns, colours, matchesOnly < 0 ? [] : [matchesOnly, query]];
}

/** Is the choice of expanded groups still up to the program? */
function isUntouched(view: ViewState): boolean {
  return (
    view.depth === undefined &&
    !view.flatten &&
    !view.forwardBackward &&
    view.around.length === 0 &&
    !view.paths &&
    view.matchesOnly < 0 &&
    view.open.length + view.closed.length + view.unfolded.length === 0
  );
}

/** The room for a picture whose expanded groups are up to the program: they are chosen to fit and, where it is seen first, to fill it. */
export function roomFor(view: ViewState, look: "fit" | "first" | undefined, room: Size): { readonly room?: Size; readonly fill?: Size } {
  const isFirst = look === "first" && isUntouched({ ...view, forwardBackward: false });
  return { ...(isUntouched(view) ? { room } : {}), ...(isFirst ? { fill: room } : {}) };
}

/** Has nobody said yet what to show? */
export function isFresh(view: ViewState): boolean {
  return view.camera === undefined && sameView(view, { ...START, source: view.source, rankdir: view.rankdir });
}

export function expandAll(view: ViewState): ViewState {
  return { ...view, depth: DEEPEST, flatten: false, open: [], closed: [] };
}

/** Closes every group; if they are closed already, the graph itself, which is then one node. */
export function collapseAll(view: ViewState): ViewState {
  const isCollapsed = view.depth === 0 && !view.flatten && view.open.length === 0;
  return { ...view, depth: 0, flatten: false, open: [], closed: isCollapsed ? [ROOT_KEY] : [] };
}

export function toggleFlatten(view: ViewState): ViewState {
  return { ...view, flatten: !view.flatten };
}

export function toggleNames(view: ViewState): ViewState {
  return { ...view, names: !view.names };
}

/** Expands a collapsed container or collapses an expanded one. */
export function toggle(view: ViewState, key: string, isOpen: boolean): ViewState {
  const without = (keys: readonly string[]) => keys.filter((other) => other !== key);
  if (isOpen) return { ...view, open: without(view.open), closed: [...without(view.closed), key] };
  return { ...view, open: [...without(view.open), key], closed: without(view.closed) };
}

/** Expands a container and all groups inside, however deep. */
export function openAllInside(view: ViewState, key: string): ViewState {
  const outside = (other: string) => !isInside(other, key);
  return { ...view, open: [...view.open.filter(outside), key + EVERYTHING_INSIDE], closed: view.closed.filter(outside) };
}

/** Shows the repeats of stacks one by one, and nodes as boxes of their own. */
export function unfold(view: ViewState, keys: readonly string[]): ViewState {
  return { ...view, unfolded: [...new Set([...view.unfolded, ...keys])] };
}

/** Folds them again; what then has no box cannot be selected. */
export function fold(view: ViewState, keys: readonly string[]): ViewState {
  const others = (all: readonly string[]) => all.filter((key) => !keys.includes(key));
  return { ...view, unfolded: others(view.unfolded), selection: others(view.selection) };
}

export function toggleAllNodes(view: ViewState): ViewState {
  return { ...view, allNodes: !view.allNodes };
}

export function toggleFrames(view: ViewState): ViewState {
  return { ...view, frames: !view.frames };
}

/** Shows another graph; one that is already on the trail shortens the trail. */
export function enterGraph(view: ViewState, graph: string): ViewState {
  const walked = walkedGraphs(view);
  const at = walked.indexOf(graph);
  return { ...view, ...NOTHING_CHOSEN, graph, trail: at >= 0 ? walked.slice(0, at) : walked };
}

/** The graphs from the entry inwards as the person entered them; the last is shown. Empty: the entry is shown. */
export function walkedGraphs({ trail, graph }: ViewState): readonly string[] {
  return graph === undefined ? trail : [...trail, graph];
}

/** Another hierarchy has other groups: what was expanded in the old one means nothing in the new one. */
export function groupBy(view: ViewState, grouping: string): ViewState {
  return {
    ...view,
    groupBy: grouping,
    forwardBackward: view.forwardBackward && grouping === view.groupBy,
    open: [],
    closed: [],
    unfolded: [],
    flatten: false,
  };
}

/** Forward beside backward: the halves are groups of one grouping, laid out downwards. */
export function inHalves(
  view: ViewState,
  { groupings, halves }: { readonly groupings: readonly string[]; readonly halves?: string },
): ViewState {
  const grouped = !halves || (view.groupBy ?? groupings[0]) === halves ? view : groupBy(view, halves);
  return { ...grouped, forwardBackward: true, rankdir: "TB", depth: undefined, flatten: false };
}

const NOTHING_CHOSEN = {
  open: [],
  closed: [],
  unfolded: [],
  paths: undefined,
  around: [],
  stopAt: [],
  also: [],
  matchesOnly: -1,
  selection: [],
  upstream: 0,
  downstream: 0,
} as const;

export function select(view: ViewState, key: string | undefined, add: boolean): ViewState {
  if (key === undefined) return view.selection.length ? { ...view, selection: [], upstream: 0, downstream: 0 } : view;
  if (!add) return view.selection.length === 1 && view.selection[0] === key ? view : { ...view, selection: [key] };
  const without = view.selection.filter((other) => other !== key);
  return { ...view, selection: without.length < view.selection.length ? without : [...without, key] };
}

/** The state with the nodes of a "+n hidden" box (by its key) added; undefined for other boxes. */
export function addOmitted(view: ViewState, key: string): ViewState | undefined {
  const node = /^o:(?:in|out):n:(.*)$/.exec(key)?.[1];
  if (node === undefined || view.around.length === 0) return undefined;
  return { ...view, also: [...view.also, unescapeName(node)] };
}

/** The view specification of a state, for the engine. */
export function specOf(view: ViewState): ViewSpec {
  return {
    ...Object.fromEntries(SPEC_OPTIONS.filter((name) => isChosen(view, name)).map((name) => [name, view[name]])),
    open: view.open,
    closed: view.closed,
    unfolded: view.unfolded,
    ...(view.also.length ? { also: view.also } : {}),
  };
}
