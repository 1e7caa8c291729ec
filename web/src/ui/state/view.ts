/** What is shown, as a small immutable record: it is what the URL holds, what back and forward step through, and what the engine draws. */
import type { ViewSpec } from "../../core/program/types";
import { EVERYTHING_INSIDE, escapeName, isInside, unescapeName } from "../../core/view/choose/keys";

export interface ViewState {
  readonly source: number;
  /** Graphs from the entry inwards, as the person walked; the last is shown. Empty: the entry. */
  readonly trail: readonly string[];
  readonly grouping: string;
  readonly depth: number | undefined;
  readonly flatten: boolean;
  readonly open: readonly string[];
  readonly closed: readonly string[];
  readonly fold: boolean;
  readonly unfolded: readonly string[];
  readonly direction: "TB" | "LR";
  readonly colour: string;
  readonly query: string;
  /** Show only what the query finds, with neighbours this many steps away; -1: show everything. */
  readonly matchesOnly: number;
  /** Show only the paths between these two nodes. */
  readonly paths: readonly [string, string] | undefined;
  /** At most so many nodes between them; undefined: the view's own limit. */
  readonly pathLimit?: number;
  /** Show only what is this near to these nodes. */
  readonly around:
    | { readonly nodes: readonly string[]; readonly hops: number; readonly stopAt?: readonly string[]; readonly also?: readonly string[] }
    | undefined;
  /** Numbers at the heads of edges whose order matters; undefined: where there are few. */
  readonly operands?: boolean;
  /** Boxes of operations show their ids. */
  readonly names?: boolean;
  /** Tensors are boxes of their own between the operations. */
  readonly values?: boolean;
  /** Forward and backward beside each other. */
  readonly beside?: boolean;
  /** false: edges that the program's file lays over the graph are not drawn. */
  readonly overlays?: boolean;
  /** false: called graphs (fusions, loops) stay closed whatever the depth. */
  readonly calls?: boolean;
  /** Keys of the selected boxes. */
  readonly selection: readonly string[];
  /** Of a recording: which pass, the program before it, after it or both in one, and whether what it did is coloured. */
  readonly pass: number;
  readonly passMode: "before" | "after" | "overlay";
  readonly passColours: boolean;
  /** What the panes beside the graph show. */
  readonly panes: readonly PanePlace[];
  /** How far what feeds and what uses the selection is lit; 0: not at all, ALL: to the end. */
  readonly upstream: number;
  readonly downstream: number;
  /** Light up the other half of the selection: its backward nodes, or its forward ones, and what is kept between them. */
  readonly related?: boolean;
}

export interface PanePlace {
  readonly source: number;
  readonly pass: number;
  readonly passMode: ViewState["passMode"];
  /** Shows what was there before the pass that the graph shows. */
  readonly linked: boolean;
}

export const ALL = 1000;
/** Deeper than any grouping: Expand all. */
export const DEEPEST = 1000;

export const START: ViewState = {
  source: 0,
  trail: [],
  grouping: "",
  depth: undefined,
  flatten: false,
  open: [],
  closed: [],
  fold: true,
  unfolded: [],
  direction: "TB",
  colour: "category",
  query: "",
  matchesOnly: -1,
  paths: undefined,
  around: undefined,
  selection: [],
  upstream: 0,
  downstream: 0,
  pass: 0,
  passMode: "after",
  passColours: true,
  panes: [],
};

/** The state that a page begins with: who asked for the surroundings of nodes finds them selected. */
export function startingAt(initial: Partial<ViewState> = {}): ViewState {
  const asked = initial.around?.nodes.map((name) => (/^[ngx]:/.test(name) ? name : `n:${escapeName(name)}`));
  return { ...START, ...(asked ? { selection: asked } : {}), ...initial };
}

/** Does a change need another picture, or only other colours on the one that is there? */
export function sameView(a: ViewState, b: ViewState): boolean {
  return (
    a.source === b.source &&
    a.pass === b.pass &&
    a.passMode === b.passMode &&
    a.passColours === b.passColours &&
    a.trail.at(-1) === b.trail.at(-1) &&
    a.grouping === b.grouping &&
    a.depth === b.depth &&
    a.flatten === b.flatten &&
    a.open === b.open &&
    a.closed === b.closed &&
    a.fold === b.fold &&
    a.unfolded === b.unfolded &&
    a.direction === b.direction &&
    a.overlays === b.overlays &&
    a.beside === b.beside &&
    a.operands === b.operands &&
    a.names === b.names &&
    a.values === b.values &&
    a.colour === b.colour &&
    a.paths === b.paths &&
    a.around === b.around &&
    a.matchesOnly === b.matchesOnly &&
    (a.matchesOnly < 0 || a.query === b.query)
  );
}

/** Has nobody said yet what of the program is open? */
export function asItComes(view: ViewState): boolean {
  return (
    view.depth === undefined &&
    !view.flatten &&
    !view.beside &&
    !view.around &&
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
  const at = view.trail.indexOf(graph);
  const trail = at >= 0 ? view.trail.slice(0, at + 1) : [...view.trail, graph];
  return { ...view, ...NOTHING_CHOSEN, trail };
}

/** Another hierarchy has other groups: what was open in the old one means nothing in the new. */
export function groupBy(view: ViewState, grouping: string): ViewState {
  return { ...view, grouping, open: [], closed: [], unfolded: [], flatten: false };
}

const NOTHING_CHOSEN = {
  open: [],
  closed: [],
  unfolded: [],
  paths: undefined,
  around: undefined,
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
  if (node === undefined || !view.around) return undefined;
  return { ...view, around: { ...view.around, also: [...(view.around.also ?? []), unescapeName(node)] } };
}

/** The engine's question for a state. */
export function specOf(view: ViewState): ViewSpec {
  return {
    ...(view.trail.length ? { graph: view.trail[view.trail.length - 1] } : {}),
    ...(view.grouping ? { grouping: view.grouping } : {}),
    ...(view.depth === undefined ? {} : { depth: view.depth }),
    flatten: view.flatten,
    open: view.open,
    closed: view.closed,
    unfolded: view.unfolded,
    rules: { foldRepeats: view.fold, ...(view.overlays === false ? { overlays: false } : {}) },
    ...(view.operands === undefined ? {} : { operands: view.operands }),
    ...(view.names ? { names: true } : {}),
    ...(view.values ? { values: "boxes" } : {}),
    ...(view.beside ? { beside: true } : {}),
    ...(view.around ? { around: view.around } : {}),
    ...(view.paths ? { paths: { from: view.paths[0], to: view.paths[1], ...(view.pathLimit ? { limit: view.pathLimit } : {}) } } : {}),
    ...(view.calls === false ? { calls: false } : {}),
  };
}
