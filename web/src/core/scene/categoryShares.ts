/** The composition of a collapsed group: the share of each category of work inside, for the thin bar at its bottom. */
import { BoxKind, CATEGORIES, type ProgramData, type Visible } from "../program/types";
import { isGroup } from "./boxText";
import { calleesFirst } from "../program/callees";
import { Control } from "../program/ops";

export interface Mix {
  /** Row of `shares` for each box of the view, or -1. */
  readonly row: Int32Array;
  /** Shares by category, CATEGORIES.length to a row; they add up to 1, or are all 0 if there is no work inside. */
  readonly shares: Float32Array;
}

/** Values that are only held, reshaped or forwarded are not work. */
const WORK = CATEGORIES.map((category) =>
  ["parameter", "constant", "output", "other", "shape", "function", "leaf", "saved", "base", "cut", "result"].includes(category) ? 0 : 1,
);
const WIDTH = CATEGORIES.length;

export const noMix = (visible: Visible): Mix => ({ row: new Int32Array(visible.boxCount).fill(-1), shares: new Float32Array(0) });

export function mixOf(program: ProgramData, visible: Visible): Mix {
  const { row } = noMix(visible);
  const plain = plainCalls(program);
  let rows = 0;
  for (let box = 0; box < visible.boxCount; box++) {
    if (visible.open[box] || !visible.expandable[box] || visible.notes[box]?.length) continue;
    const call = visible.kind[box] === BoxKind.Call && visible.node[box] >= 0 && plain(visible.node[box]);
    if (call || isGroup(visible, box)) row[box] = rows++;
  }
  const shares = new Float32Array(rows * WIDTH);
  if (rows > 0) count(program, visible, plain, row, shares);
  for (let at = 0; at < shares.length; at += WIDTH) {
    let sum = 0;
    for (let i = 0; i < WIDTH; i++) sum += shares[at + i];
    for (let i = 0; i < WIDTH && sum > 0; i++) shares[at + i] /= sum;
  }
  return { row, shares };
}

/** Adds up the nodes of the shown graphs, each call with everything that it runs. */
function count(program: ProgramData, visible: Visible, plain: (node: number) => boolean, row: Int32Array, shares: Float32Array): void {
  const { calls, graphStart, nodeCategory } = program;
  const inside = workOfGraphs(program, plain);
  for (const graph of shownGraphs(program, visible)) {
    for (let node = graphStart[graph]; node < graphStart[graph + 1]; node++) {
      const box = visible.boxOfNode[node];
      if (box < 0 || row[box] < 0) continue;
      const at = row[box] * WIDTH;
      if (!plain(node) && visible.node[box] !== node) shares[at + nodeCategory[node]] += WORK[nodeCategory[node]];
      for (let c = calls.start[node]; c < calls.start[node + 1]; c++) {
        for (let i = 0; i < WIDTH; i++) shares[at + i] += inside[calls.value[c] * WIDTH + i];
      }
    }
  }
}

/** The shown graph, and those that open calls show inside it. */
function shownGraphs(program: ProgramData, visible: Visible): Set<number> {
  const shown = new Set([visible.graph]);
  for (let box = 0; box < visible.boxCount; box++) {
    const node = visible.node[box];
    if (!visible.open[box] || node < 0) continue;
    for (let c = program.calls.start[node]; c < program.calls.start[node + 1]; c++) shown.add(program.calls.value[c]);
  }
  return shown;
}

function plainCalls(program: ProgramData): (node: number) => boolean {
  return (node) => program.ops.control[program.nodeOp[node]] === Control.Call;
}

/** Work in each graph with all that it calls. A graph that calls itself counts once. */
function workOfGraphs(program: ProgramData, plain: (node: number) => boolean): Float64Array {
  const { graphCount, graphStart, nodeCategory, calls } = program;
  const work = new Float64Array(graphCount * WIDTH);
  for (const graph of calleesFirst(program)) {
    const at = graph * WIDTH;
    for (let node = graphStart[graph]; node < graphStart[graph + 1]; node++) {
      if (!plain(node)) work[at + nodeCategory[node]] += WORK[nodeCategory[node]];
    }
    for (let c = calls.start[graphStart[graph]]; c < calls.start[graphStart[graph + 1]]; c++) {
      const called = calls.value[c];
      for (let i = 0; i < WIDTH && called !== graph; i++) work[at + i] += work[called * WIDTH + i];
    }
  }
  return work;
}
