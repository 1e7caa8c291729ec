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

export interface OpenedLoops {
  readonly open: readonly string[];
  readonly closed: readonly string[];
  readonly view: Visible;
}

/** A view with its largest loops and the groups around them opened; a condition stays closed. `accepts` says what is still easy to follow. */
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
    const opened = openLoop(program, spec, best, loop, around);
    if (opened && accepts(opened.view)) best = opened;
  }
  return best.view === first ? undefined : best;
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

/** The loops of a graph with the largest bodies, the largest first; those much smaller than it are details. */
function largestLoops(program: ProgramData, graph: number): number[] {
  const { graphStart, nodeOp, ops, calls } = program;
  const size = new Map<number, number>();
  for (let n = graphStart[graph]; n < graphStart[graph + 1]; n++) {
    if (calls.start[n + 1] === calls.start[n] || ops.control[nodeOp[n]] < Control.While) continue;
    let nodes = 0;
    for (const called of calls.value.subarray(calls.start[n], calls.start[n + 1])) nodes += graphStart[called + 1] - graphStart[called];
    size.set(n, nodes);
  }
  const loops = [...size.keys()].sort((a, b) => size.get(b)! - size.get(a)!);
  return loops.filter((loop) => 2 * size.get(loop)! >= size.get(loops[0])!).slice(0, MOST_OPENED);
}
