/**
 * What a program shows at first: as much as fits on a page and the eye can follow.
 *
 * It depends on the program alone, not on what a person has expanded since, so that expanding a group moves nothing else, and not on how
 * things are drawn (values as boxes, all nodes, frames), so that a display option opens and closes nothing.
 */

import { memoized } from "../../base/memoized";
import { POSITION_AND_MASK } from "../../program/names";
import { BoxKind, CATEGORIES, type ProgramData, type ViewSpec, type Visible } from "../../program/types";
import { build } from "../build";
import { groupingOf } from "../groups/grouping";
import { type Folding, findRepeats } from "../groups/fold";
import { type GroupTree, groupTree } from "../groups/tree";
import { traitsOf } from "../traits";
import { PAGE } from "./depth";
import { openAmongClosed } from "./equals";
import { hasLoops, openLoopCount, openLoops } from "./loops";
import { neighbourhood } from "./neighbourhood";

const PARAMETER = CATEGORIES.indexOf("parameter");
/** More edges per box than this are a tangle. */
const EDGES_PER_BOX = 4;
const ALWAYS_CALM = 80;
const FEW = 10;
/** Building a view of 100,000 nodes takes a few hundredths of a second; only this many are tried. */
const MOST_TRIED = 4;
const FEWEST_LAYERS = 3;
/** Loops are open where that takes no more boxes than this: they have the layers. */
export const MOST_WITH_LOOPS = 2 * PAGE;

interface Expansion {
  /** Undefined: as deep as fits on a page. */
  readonly depth: number | undefined;
  /** Groups that are open beyond that depth, and groups that are closed above it. */
  readonly open: readonly string[];
  readonly closed: readonly string[];
  /** What is seen then. */
  readonly view: Visible;
}

/** The view of a specification without a depth: what is open at first is added to it. */
export function initialView(program: ProgramData, spec: ViewSpec): Visible {
  if (spec.around?.length && !spec.paths && !spec.only) return neighbourhood(program, spec);
  if (spec.around?.length || spec.paths || spec.only) return build(program, spec);
  const { graph, groupBy, calls, fold, rules, hideRoles, ...rest } = spec;
  const expansion = expansionOf(program, { graph, groupBy, calls, fold, rules, hideRoles });
  if (Object.values(rest).every(saysNothing)) return expansion.view;
  const [open, closed] = [new Set(spec.open), new Set(spec.closed)];
  for (const key of expansion.open) if (!closed.has(key)) open.add(key);
  for (const key of expansion.closed) if (!open.has(key)) closed.add(key);
  const { depth } = expansion;
  return build(program, { ...spec, depth, calls: depth === undefined ? calls : false, open: [...open], closed: [...closed] });
}

function saysNothing(option: unknown): boolean {
  return option === undefined || (Array.isArray(option) && option.length === 0);
}

/** Worked out once for each way to look at a program. */
const expansionsOf = memoized((_: ProgramData) => new Map<string, Expansion>());

function expansionOf(program: ProgramData, plain: ViewSpec): Expansion {
  const expansions = expansionsOf(program);
  const key = JSON.stringify(plain);
  const expansion = expansions.get(key) ?? expand(program, plain);
  expansions.set(key, expansion);
  return expansion;
}

function expand(program: ProgramData, plain: ViewSpec): Expansion {
  const expansion = closeEquals(program, plain, expandGroups(program, plain));
  if (plain.calls === false) return expansion;
  const { depth, open, closed, view } = expansion;
  const spec = { ...plain, depth, calls: depth === undefined ? plain.calls : false, open, closed };
  const opened = { ...expansion, ...openLoops(program, spec, view, (tried) => tried.boxCount <= PAGE && isCalm(tried)) };
  return openOnlyLoops(program, plain, opened) ?? opened;
}

/** The loops over layers rather than other groups, where both do not fit on a page. */
function openOnlyLoops(program: ProgramData, plain: ViewSpec, other: Expansion): Expansion | undefined {
  if (!hasLoops(program, other.view.graph)) return undefined;
  const { soleLevels } = groupTree(traitsOf(program), groupingOf(program, plain.groupBy));
  const spec = { ...plain, calls: false, depth: soleLevels[other.view.graph] };
  const bare = build(program, spec);
  const loops = openLoops(program, spec, bare, (tried) => tried.boxCount <= MOST_WITH_LOOPS && isCalm(tried));
  if (!loops || openLoopCount(program, loops.view) <= openLoopCount(program, other.view)) return undefined;
  return { depth: spec.depth, ...loops };
}

/** Equal modules are equally open. */
function closeEquals(program: ProgramData, plain: ViewSpec, expansion: Expansion): Expansion {
  const equals = openAmongClosed(program, expansion.view);
  if (equals.length === 0) return expansion;
  const isClosed = new Set(equals);
  const { depth } = expansion;
  const open = expansion.open.filter((key) => !isClosed.has(key));
  const closed = [...expansion.closed, ...equals];
  const view = build(program, { ...plain, depth, calls: depth === undefined ? plain.calls : false, open, closed });
  return { depth, open, closed, view };
}

function expandGroups(program: ProgramData, plain: ViewSpec): Expansion {
  const aside: string[] = [];
  let spec = plain;
  let fitting = build(program, plain);
  // With these closed, a deeper level may fit, and have more of them.
  for (let more = openIndexOps(program, fitting); more.length > 0; more = openIndexOps(program, fitting)) {
    aside.push(...more);
    spec = { ...plain, closed: [...aside] };
    fitting = build(program, spec);
  }
  const expansion = expandFrom(program, spec, fitting);
  return { ...expansion, closed: [...aside, ...expansion.closed] };
}

/** The open groups that compute positions and masks: rarely the question, and half of the picture. */
export function openIndexOps({ groupings, strings }: ProgramData, view: Visible): string[] {
  const isAside = (box: number): boolean =>
    view.open[box] === 1 &&
    view.kind[box] === BoxKind.Group &&
    view.group[box] >= 0 &&
    strings.at(groupings[view.grouping].groupName[view.group[box]]) === POSITION_AND_MASK;
  return Array.from(view.group.keys())
    .filter(isAside)
    .map((box) => view.key[box]);
}

function expandFrom(program: ProgramData, plain: ViewSpec, fitting: Visible): Expansion {
  const { soleLevels, depth: depthOf } = groupTree(traitsOf(program), groupingOf(program, plain.groupBy));
  const depth = soleLevels[fitting.graph];
  const wide = wideGroups(fitting)
    .filter((box) => depthOf[fitting.group[box]] >= depth)
    .map((box) => fitting.key[box]);
  if (!isCalm(fitting)) return { depth, closed: [], ...openOneByOne(program, { ...plain, calls: false, depth }) };
  if (wide.length > 0)
    return { depth: undefined, closed: wide, ...openOneByOne(program, { ...plain, closed: [...(plain.closed ?? []), ...wide] }) };
  const around = openAroundLayers(program, plain, fitting);
  if (around) return { depth: undefined, closed: [], ...around };
  const calls = plain.calls === false ? undefined : openFewCallsDeeply(program, plain, fitting, depth + 1);
  return calls ?? { depth: undefined, open: [], closed: [], view: fitting };
}

/** Few calls, opened; where they contain few groups (the two halves of a recomputed layer), these too. */
function openFewCallsDeeply(program: ProgramData, plain: ViewSpec, closed: Visible, first: number): Expansion | undefined {
  let best: Expansion | undefined;
  for (let depth = first; depth <= first + 1; depth++) {
    const opened = openTheFewCalls(program, { ...plain, calls: false, depth }, closed);
    if (!opened || (best && wideGroups(opened.view).length > 0)) break;
    best = { depth, closed: [], ...opened };
    if (opened.view.boxCount > FEW) break;
  }
  return best;
}

/** Groups and calls that are opened, and the view with them. */
type Opened = Pick<Expansion, "open" | "view">;

/** A graph of a few boxes that mostly calls others (two halves of a step, one loop) shows nothing while closed: its calls are opened. */
function openTheFewCalls(program: ProgramData, plain: ViewSpec, closed: Visible): Opened | undefined {
  if (closed.boxCount > FEW) return undefined;
  const open: string[] = [];
  let view = closed;
  for (let b = 0; b < closed.boxCount; b++) {
    if (!closed.expandable[b] || closed.kind[b] !== BoxKind.Call) continue;
    const tried = build(program, { ...plain, open: [...open, closed.key[b]] });
    if (tried.boxCount > PAGE || !isCalm(tried)) continue;
    open.push(closed.key[b]);
    view = tried;
  }
  return open.length > 0 ? { open, view } : undefined;
}

/**
 * The closed groups around the repeated layers, if a view without them shows none: people look for the layers of a model first. Nothing
 * if the picture would not be calm.
 */
function openAroundLayers(program: ProgramData, plain: ViewSpec, fitting: Visible): Opened | undefined {
  if (plain.fold === false || fitting.repeat.some((repeat, box) => repeat > 1 && fitting.kind[box] === BoxKind.Stack)) return undefined;
  const traits = traitsOf(program);
  const tree = groupTree(traits, groupingOf(program, plain.groupBy));
  const layer = largestStack(findRepeats(traits, tree), tree, fitting.graph);
  const ancestors = new Set<number>();
  for (let g = layer < 0 ? -1 : tree.parent[layer]; g >= 0; g = tree.parent[g]) ancestors.add(g);
  const open: string[] = [];
  let view = fitting;
  for (;;) {
    const shown = view;
    const closed = Array.from(shown.group.keys()).find(
      (box) => shown.kind[box] === BoxKind.Group && shown.expandable[box] === 1 && ancestors.has(shown.group[box]),
    );
    if (closed === undefined) return open.length > 0 ? { open, view } : undefined;
    open.push(shown.key[closed]);
    view = build(program, { ...plain, open });
    if (view.boxCount > PAGE || !isCalm(view) || wideGroups(view).length > 0) return undefined;
  }
}

/** The first group of the stack with the most operations, or -1. */
function largestStack(folding: Folding, tree: GroupTree, graph: number): number {
  let largest = -1;
  let most = 0;
  for (let g = tree.firstGroup[graph]; g < tree.firstGroup[graph + 1]; g++) {
    const stack = folding.stackOf[g];
    if (stack < 0 || folding.first(stack) !== g || folding.size(stack) < FEWEST_LAYERS) continue;
    const operations = tree.opCount[g] * folding.size(stack);
    if (operations > most) [largest, most] = [g, operations];
  }
  return largest;
}

/** The smallest of the closed groups of a view, as long as the picture stays calm with them open. */
function openOneByOne(program: ProgramData, spec: ViewSpec): Opened {
  const closed = build(program, spec);
  const shut = new Set(spec.closed);
  const groups: number[] = [];
  for (let b = 0; b < closed.boxCount; b++) {
    if (closed.expandable[b] && closed.kind[b] === BoxKind.Group && !shut.has(closed.key[b])) groups.push(b);
  }
  groups.sort((a, b) => closed.nodesInside[a] - closed.nodesInside[b]);
  const open: string[] = [];
  let view = closed;
  for (const b of groups.slice(0, MOST_TRIED)) {
    const tried = build(program, { ...spec, open: [...open, closed.key[b]] });
    const isWide = wideGroups(tried).some((box) => tried.key[box] === closed.key[b]);
    if (tried.boxCount > PAGE || !isCalm(tried) || isWide) continue;
    open.push(closed.key[b]);
    view = tried;
  }
  return { open, view };
}

export function isCalm(view: Visible): boolean {
  return view.edgeCount <= Math.max(ALWAYS_CALM, EDGES_PER_BOX * view.boxCount);
}

/** The body of a loop has its frame, and the module's around it. */
const WIDE_CALL = 6;

/** Has an open call more boxes side by side than can be followed? The body of a loop in HLO takes each stacked weight apart. */
export const hasWideCalls = (view: Visible): boolean => wideGroups(view, WIDE_CALL, BoxKind.Call).length > 0;

/** Open groups with more boxes than this side by side: the same update of every weight would push everything else to a corner. */
const WIDE = 9;

export function wideGroups(view: Visible, most = WIDE, of = BoxKind.Group): number[] {
  const rank = new Int32Array(view.boxCount);
  const { edgeSource, edgeTarget, parent, kind, category, boxCount } = view;
  // Weights and stubs are small, and a loop has those of a layer.
  const counts = (b: number): boolean => of === BoxKind.Group || (category[b] !== PARAMETER && kind[b] !== BoxKind.Stub);
  const inGroup = (b: number): boolean => parent[b] >= 0 && kind[parent[b]] === of && counts(b);
  // Boxes are listed in the order of the flow: one pass over the edges gives each nearly the length of the longest path to it.
  const within = Array.from(edgeSource.keys()).filter((e) => inGroup(edgeSource[e]) && parent[edgeSource[e]] === parent[edgeTarget[e]]);
  for (const e of within.sort((a, b) => edgeSource[a] - edgeSource[b])) {
    const [s, t] = [edgeSource[e], edgeTarget[e]];
    if (s < t) rank[t] = Math.max(rank[t], rank[s] + 1);
  }
  const countAt = new Map<number, number>();
  const wide = new Set<number>();
  for (let b = 0; b < boxCount; b++) {
    if (!inGroup(b)) continue;
    const around = parent[b];
    const place = around * boxCount + rank[b];
    const count = (countAt.get(place) ?? 0) + 1;
    countAt.set(place, count);
    if (count > most) wide.add(around);
  }
  return [...wide];
}
