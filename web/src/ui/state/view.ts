/** What is shown, as a small immutable record: it is what the URL holds, what back and forward step through, and what the engine draws. */
import type { Place } from "../../core/base/camera";
import { ADDRESS_OPTIONS, type AddressOption, DEFAULTS, isChosen, SPEC_OPTIONS } from "../../core/program/options";
import type { Moment } from "../../core/program/recording/moment";
import type { ViewSpec } from "../../core/program/types";
import type { ViewOptions } from "../../core/program/viewOptions";
import { EVERYTHING_INSIDE, escapeName, isInside, unescapeName } from "../../core/view/choose/keys";

/** The view options, and what only a person at a page can say. */
export interface ViewState extends Pick<ViewOptions, AddressOption> {
  readonly source: number;
  /** The graphs through which the person walked to the one that is shown, from the entry inwards. */
  readonly trail: readonly string[];
  readonly open: readonly string[];
  readonly closed: readonly string[];
  readonly fold: boolean;
  readonly unfolded: readonly string[];
  readonly colour: string;
  readonly query: string;
  /** Show only what the query finds, with neighbours this many steps away; -1: show everything. */
  readonly matchesOnly: number;
  /** Nodes whose direct neighbours were added to what is `around`. */
  readonly also: readonly string[];
  /** Draw the edges that the program's file lays over the graph. */
  readonly overlays: boolean;
  /** Keys of the selected boxes. */
  readonly selection: readonly string[];
  /** Of a recording: which pass, and whether what it did is coloured. Which side of it is the option `diff`. */
  readonly pass: number;
  readonly passColours: boolean;
  /** Where the person looks; undefined: as one does at first. */
  readonly camera: Place | undefined;
  /** What the panes beside the graph show. */
  readonly panes: readonly PanePlace[];
  /** How far what feeds and what uses the selection is lit; 0: not at all, ALL: to the end. */
  readonly upstream: number;
  readonly downstream: number;
  /** Light up the other half of the selection: its backward nodes, or its forward ones, and what is kept between them. */
  readonly related: boolean;
}

export interface PanePlace {
  readonly source: number;
  readonly pass: number;
  readonly passMode: Moment;
  /** Shows what was there before the pass that the graph shows. */
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
  fold: true,
  unfolded: [],
  colour: "category",
  query: "",
  matchesOnly: -1,
  also: [],
  overlays: true,
  selection: [],
  upstream: 0,
  downstream: 0,
  related: false,
  pass: 0,
  passColours: true,
  camera: undefined,
  panes: [],
};

/** The state that a page begins with: who asked for the surroundings of nodes finds them selected. */
export function startingAt(initial: Partial<ViewState> = {}): ViewState {
  const asked = initial.around?.map((name) => (/^[ngx]:/.test(name) ? name : `n:${escapeName(name)}`));
  return { ...START, ...(asked ? { selection: asked } : {}), ...initial };
}

/** Does a change need another picture, or only other colours on the one that is there? */
export function sameView(a: ViewState, b: ViewState): boolean {
  return JSON.stringify(pictureOf(a)) === JSON.stringify(pictureOf(b));
}

/** All of a state that the picture depends on. */
function pictureOf(view: ViewState): unknown {
  const { source, pass, diff, passColours, rankdir, colour, matchesOnly, query } = view;
  return [specOf(view), source, pass, diff ?? "after", passColours, rankdir, colour, matchesOnly < 0 ? [] : [matchesOnly, query]];
}

/** Has nobody said yet what of the program is open? */
export function asItComes(view: ViewState): boolean {
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

export function expandAll(view: ViewState): ViewState {
  return { ...view, depth: DEEPEST, flatten: false, open: [], closed: [] };
}

export function collapseAll(view: ViewState): ViewState {
  return { ...view, depth: 0, flatten: false, open: [], closed: [] };
}

export function toggleFlatten(view: ViewState): ViewState {
  return { ...view, flatten: !view.flatten };
}

export function toggleNames(view: ViewState): ViewState {
  return { ...view, names: !view.names };
}

/** Open a closed container or close an open one. */
export function toggle(view: ViewState, key: string, isOpen: boolean): ViewState {
  const without = (keys: readonly string[]) => keys.filter((other) => other !== key);
  if (isOpen) return { ...view, open: without(view.open), closed: [...without(view.closed), key] };
  return { ...view, open: [...without(view.open), key], closed: without(view.closed) };
}

/** Open a container and all groups in it, however deep. */
export function openAllInside(view: ViewState, key: string): ViewState {
  const outside = (other: string) => !isInside(other, key);
  return { ...view, open: [...view.open.filter(outside), key + EVERYTHING_INSIDE], closed: view.closed.filter(outside) };
}

/** Show another graph; going back to one that was passed on the way returns to it. */
export function enterGraph(view: ViewState, graph: string): ViewState {
  const walked = walkedGraphs(view);
  const at = walked.indexOf(graph);
  return { ...view, ...NOTHING_CHOSEN, graph, trail: at >= 0 ? walked.slice(0, at) : walked };
}

/** The graphs from the entry inwards, as the person walked; the last is shown. Empty: the entry is. */
export function walkedGraphs({ trail, graph }: ViewState): readonly string[] {
  return graph === undefined ? trail : [...trail, graph];
}

/** Another hierarchy has other groups: what was open in the old one means nothing in the new. */
export function groupBy(view: ViewState, grouping: string): ViewState {
  return { ...view, groupBy: grouping, open: [], closed: [], unfolded: [], flatten: false };
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

/** The state with what an "n more" box (by its key) stands for added; undefined for other boxes. */
export function addOmitted(view: ViewState, key: string): ViewState | undefined {
  const node = /^o:(?:in|out):n:(.*)$/.exec(key)?.[1];
  if (node === undefined || view.around.length === 0) return undefined;
  return { ...view, also: [...view.also, unescapeName(node)] };
}

/** The engine's question for a state. */
export function specOf(view: ViewState): ViewSpec {
  return {
    ...Object.fromEntries(SPEC_OPTIONS.filter((name) => isChosen(view, name)).map((name) => [name, view[name]])),
    open: view.open,
    closed: view.closed,
    unfolded: view.unfolded,
    ...(view.also.length ? { also: view.also } : {}),
    rules: { foldRepeats: view.fold, ...(view.overlays ? {} : { overlays: false }) },
  };
}
