/**
 * What a program shows at first: as much as fits on a page and the eye can follow.
 *
 * It depends on the program alone, not on what a person has expanded since, so that expanding a group moves nothing else, and not on how
 * things are drawn (values as boxes, all nodes, frames), so that a display option opens and closes nothing.
 */

import { memoized } from "../../base/memoized";
import { POSITION_AND_MASK } from "../../program/names";
import { BoxKind, type ProgramData, type ViewSpec, type Visible } from "../../program/types";
import { build } from "../build";
import { groupingOf } from "../groups/grouping";
import { type Folding, findRepeats } from "../groups/fold";
import { type GroupTree, groupTree } from "../groups/tree";
import { traitsOf } from "../traits";
import { PAGE } from "./depth";

/** More edges per box than this are a tangle. */
const EDGES_PER_BOX = 4;
const ALWAYS_CALM = 80;
const FEW = 10;
/** Building a view of 100,000 nodes takes a few hundredths of a second; only this many are tried. */
const MOST_TRIED = 4;
const FEWEST_LAYERS = 3;

interface Expansion {
  /** Undefined: as deep as fits on a page. */
  readonly depth: number | undefined;
  /** Groups that are open beyond that depth, and groups that are closed above it. */
  readonly open: readonly string[];
  readonly closed: readonly string[];
}

const AS_IT_FITS: Expansion = { depth: undefined, open: [], closed: [] };

/** A specification without a depth, with what is open at first added. */
export function initialExpansion(program: ProgramData, spec: ViewSpec): ViewSpec {
  if (spec.around?.length || spec.paths || spec.only) return spec;
  const expansion = expansionOf(program, spec);
  if (expansion === AS_IT_FITS) return spec;
  const [open, closed] = [new Set(spec.open), new Set(spec.closed)];
  for (const key of expansion.open) if (!closed.has(key)) open.add(key);
  for (const key of expansion.closed) if (!open.has(key)) closed.add(key);
  const calls = expansion.depth === undefined ? spec.calls : false;
  return { ...spec, depth: expansion.depth, calls, open: [...open], closed: [...closed] };
}

/** Worked out once for each way to look at a program. */
const expansionsOf = memoized((_: ProgramData) => new Map<string, Expansion>());

function expansionOf(program: ProgramData, { graph, groupBy, calls, fold, rules, hideRoles }: ViewSpec): Expansion {
  const plain: ViewSpec = { graph, groupBy, calls, fold, rules, hideRoles };
  const expansions = expansionsOf(program);
  const key = JSON.stringify(plain);
  const expansion = expansions.get(key) ?? expand(program, plain);
  expansions.set(key, expansion);
  return expansion;
}

function expand(program: ProgramData, plain: ViewSpec): Expansion {
  const fitting = build(program, plain);
  const aside = indexOps(program, fitting);
  if (aside.length === 0) return expandFrom(program, plain, fitting);
  const without = { ...plain, closed: aside };
  const expansion = expandFrom(program, without, build(program, without));
  return { ...expansion, closed: [...aside, ...expansion.closed] };
}

/** The open groups that compute positions and masks: rarely the question, and half of the picture. */
function indexOps({ groupings, strings }: ProgramData, view: Visible): string[] {
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
  if (!isCalm(fitting)) return { depth, open: openOneByOne(program, { ...plain, calls: false, depth }), closed: [] };
  if (wide.length > 0)
    return { depth: undefined, open: openOneByOne(program, { ...plain, closed: [...(plain.closed ?? []), ...wide] }), closed: wide };
  const around = openAroundLayers(program, plain, fitting);
  if (around.length > 0) return { depth: undefined, open: around, closed: [] };
  return plain.calls === false ? AS_IT_FITS : openTheFewCalls(program, { ...plain, calls: false, depth: depth + 1 }, fitting);
}

/** A graph of a few boxes that mostly calls others (two halves of a step, one loop) shows nothing while closed: its calls are opened. */
function openTheFewCalls(program: ProgramData, plain: ViewSpec, closed: Visible): Expansion {
  if (closed.boxCount > FEW) return AS_IT_FITS;
  const open: string[] = [];
  for (let b = 0; b < closed.boxCount; b++) {
    if (!closed.expandable[b] || closed.kind[b] !== BoxKind.Call) continue;
    const tried = build(program, { ...plain, open: [...open, closed.key[b]] });
    if (tried.boxCount <= PAGE && isCalm(tried)) open.push(closed.key[b]);
  }
  return open.length > 0 ? { depth: plain.depth, open, closed: [] } : AS_IT_FITS;
}

/**
 * The closed groups around the repeated layers, if a view without them shows none: people look for the layers of a model first. Nothing
 * if the picture would not be calm.
 */
function openAroundLayers(program: ProgramData, plain: ViewSpec, fitting: Visible): string[] {
  if (plain.fold === false || fitting.repeat.some((repeat, box) => repeat > 1 && fitting.kind[box] === BoxKind.Stack)) return [];
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
    if (closed === undefined) return open;
    open.push(shown.key[closed]);
    view = build(program, { ...plain, open });
    if (view.boxCount > PAGE || !isCalm(view) || wideGroups(view).length > 0) return [];
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
function openOneByOne(program: ProgramData, spec: ViewSpec): string[] {
  const closed = build(program, spec);
  const shut = new Set(spec.closed);
  const groups: number[] = [];
  for (let b = 0; b < closed.boxCount; b++) {
    if (closed.expandable[b] && closed.kind[b] === BoxKind.Group && !shut.has(closed.key[b])) groups.push(b);
  }
  groups.sort((a, b) => closed.nodesInside[a] - closed.nodesInside[b]);
  const open: string[] = [];
  for (const b of groups.slice(0, MOST_TRIED)) {
    const tried = build(program, { ...spec, open: [...open, closed.key[b]] });
    const isWide = wideGroups(tried).some((box) => tried.key[box] === closed.key[b]);
    if (tried.boxCount <= PAGE && isCalm(tried) && !isWide) open.push(closed.key[b]);
  }
  return open;
}

function isCalm(view: Visible): boolean {
  return view.edgeCount <= Math.max(ALWAYS_CALM, EDGES_PER_BOX * view.boxCount);
}

/** Open groups with more boxes than this side by side: the same update of every weight would push everything else to a corner. */
const WIDE = 9;

export function wideGroups(view: Visible, most = WIDE): number[] {
  const rank = new Int32Array(view.boxCount);
  const { edgeSource, edgeTarget, parent, kind, boxCount } = view;
  const inGroup = (b: number): boolean => parent[b] >= 0 && kind[parent[b]] === BoxKind.Group;
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
