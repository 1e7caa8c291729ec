/** The loops of a program at first: a model whose layers are scanned shows nothing while the loop over them is closed. */
import { Control } from "../../program/ops";
import { BoxKind, type ProgramData, type ViewSpec, type Visible } from "../../program/types";
import { yieldsForCaller } from "../boxes/instance";
import { build } from "../build";
import { groupingOf } from "../groups/grouping";
import { groupTree } from "../groups/tree";
import { traitsOf } from "../traits";

/** Forward and backward. */
const MOST_OPENED = 2;
/** Loops with a body of less than this share of the largest are details. The backward body of a recomputed layer has the forward one too. */
const LEAST_SHARE = 0.2;
/** So many loops are not the layers of a model. */
const MANY_LOOPS = 32;
/** A body may be a call of a function that has all of a layer. */
const MOST_INNER = 2;

export interface OpenedLoops {
  readonly open: readonly string[];
  readonly closed: readonly string[];
  readonly view: Visible;
}

/**
 * A view with its largest loops and the groups around them opened, the first of them first; a condition stays closed. `accepts` says what
 * is still easy to follow.
 */
export function openLoops(
  program: ProgramData,
  spec: ViewSpec,
  first: Visible,
  accepts: (view: Visible) => boolean,
): OpenedLoops | undefined {
  const { nodeGroup, parent } = groupTree(traitsOf(program), groupingOf(program, spec.groupBy));
  let best: OpenedLoops = { open: spec.open ?? [], closed: spec.closed ?? [], view: first };
  for (const loop of largestLoops(program, first.graph)) {
    const around = new Set<number>();
    for (let group = nodeGroup[loop]; group >= 0; group = parent[group]) around.add(group);
    let opened = openLoop(program, spec, best, loop, around);
    for (let inner = 0; opened && accepts(opened.view) && inner <= MOST_INNER; inner++) {
      best = opened;
      opened = openLayer(program, spec, best, loop);
    }
  }
  return best.view === first ? undefined : best;
}

/** Has a graph loops that may be opened at first? */
export function hasLoops(program: ProgramData, graph: number): boolean {
  return largestLoops(program, graph).length > 0;
}

/** How many of the largest loops of a graph are open in a view of it. */
export function openLoopCount(program: ProgramData, view: Visible): number {
  return largestLoops(program, view.graph).filter((loop) => isOpenLoop(view, loop)).length;
}

/** Are all of the largest loops open? One half with its layers beside another without them cannot be compared. */
export function hasAllLoopsOpen(program: ProgramData, view: Visible): boolean {
  return largestLoops(program, view.graph).every((loop) => isOpenLoop(view, loop));
}

function isOpenLoop(view: Visible, loop: number): boolean {
  const box = view.node.indexOf(loop);
  return box >= 0 && view.open[box] === 1;
}

/** Opens the call that has most of what is in the body of an open loop. */
function openLayer(program: ProgramData, spec: ViewSpec, { open, closed, view }: OpenedLoops, loop: number): OpenedLoops | undefined {
  const frame = view.node.indexOf(loop);
  const isInside = new Uint8Array(view.boxCount);
  let whole = 0;
  let largest = -1;
  for (let box = frame + 1; box < view.boxCount; box++) {
    if (view.parent[box] !== frame && !(view.parent[box] >= 0 && isInside[view.parent[box]])) continue;
    isInside[box] = 1;
    const size = view.kind[box] === BoxKind.Call && view.node[box] !== loop ? reachable(program, view.node[box]) : view.open[box] ? 0 : 1;
    whole += size;
    if (view.kind[box] === BoxKind.Call && view.expandable[box] && view.node[box] !== loop && 2 * size >= whole)
      largest = largest < 0 || size > reachable(program, view.node[largest]) ? box : largest;
  }
  if (largest < 0 || 2 * reachable(program, view.node[largest]) < whole) return undefined;
  open = [...open, view.key[largest]];
  return { open, closed, view: build(program, { ...spec, open, closed }) };
}

/** The nodes of the graphs that a node calls, and of those that they call. */
function reachable({ graphStart, calls }: ProgramData, node: number): number {
  const graphs = new Set<number>(calls.value.subarray(calls.start[node], calls.start[node + 1]));
  let nodes = 0;
  for (const graph of graphs) {
    nodes += graphStart[graph + 1] - graphStart[graph];
    for (let c = calls.start[graphStart[graph]]; c < calls.start[graphStart[graph + 1]]; c++) graphs.add(calls.value[c]);
  }
  return nodes;
}

/** Opens one group after another until the loop is drawn, and then the loop. */
function openLoop(
  program: ProgramData,
  spec: ViewSpec,
  { open, closed, view }: OpenedLoops,
  loop: number,
  around: ReadonlySet<number>,
): OpenedLoops | undefined {
  for (let tried = 0; tried <= around.size; tried++) {
    const box = view.node.indexOf(loop);
    const isDrawn = box >= 0 && view.kind[box] === BoxKind.Call;
    if (isDrawn && view.open[box]) return undefined;
    const next = isDrawn ? box : closedAround(view, around);
    if (next < 0 || !view.expandable[next]) return undefined;
    open = [...open, view.key[next]];
    if (isDrawn) closed = [...closed, ...conditions(program, loop, view.key[next])];
    view = build(program, { ...spec, open, closed });
    if (isDrawn) return { open, closed, view };
  }
  return undefined;
}

function closedAround(view: Visible, around: ReadonlySet<number>): number {
  for (let box = 0; box < view.boxCount; box++)
    if (view.kind[box] === BoxKind.Group && view.expandable[box] && around.has(view.group[box])) return box;
  return -1;
}

/** The frames of the graphs that only decide whether a loop goes on. */
function conditions(program: ProgramData, loop: number, key: string): string[] {
  const { calls } = program;
  const called = Array.from(calls.value.subarray(calls.start[loop], calls.start[loop + 1]));
  if (called.length < 2) return [];
  return called.flatMap((graph, c) => (yieldsForCaller(program, loop, graph) ? [] : [`${key}>c:${c}`]));
}

/** The loops of a graph with the largest bodies, in their order; those much smaller than the largest are details. */
function largestLoops(program: ProgramData, graph: number): number[] {
  const { graphStart, nodeOp, ops, calls } = program;
  const loops: number[] = [];
  for (let n = graphStart[graph]; n < graphStart[graph + 1]; n++)
    if (calls.start[n + 1] > calls.start[n] && ops.control[nodeOp[n]] >= Control.While) loops.push(n);
  if (loops.length > MANY_LOOPS) return [];
  const size = new Map(loops.map((loop) => [loop, reachable(program, loop)]));
  const bySize = [...loops].sort((a, b) => size.get(b)! - size.get(a)!);
  const large = bySize.filter((loop) => size.get(loop)! >= LEAST_SHARE * size.get(bySize[0])!);
  return large.slice(0, MOST_OPENED).sort((a, b) => a - b);
}
