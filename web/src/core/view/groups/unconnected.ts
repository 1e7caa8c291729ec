/**
 * Nodes that are for nothing: those that nothing connects with the rest of their graph (a buffer that nothing reads, constants that a fusion
 * left behind), and operations whose results lead nowhere (a mask that is not used, what tracing left of a derivative). Drawn one by one
 * they fill a corner of the picture; together they are one box.
 */
import { memoized } from "../../base/memoized";
import { opName } from "../../program/ops";
import { Role } from "../../program/roles";
import { CATEGORIES } from "../../program/types";
import type { Traits } from "../traits";

/** A larger part is a computation of its own. */
const LARGEST_PART = 12;

/** Operations of these only compute: what nothing reads of them has no effect. */
const COMPUTES = new Set((["elementwise", "matmul", "reduce", "shape", "data"] as const).map((name) => CATEGORIES.indexOf(name)));
/** In PyTorch, the name of an operation that writes to its operand ends so. */
const WRITES = /_(\.|$)/;

/**
 * 1: an operation, or a weight or constant, from which no way leads to a result, where that is the smaller part of the graph. What a pass
 * removed has no users left, and is the question.
 */
export const findUnused = memoized(({ program, index }: Traits): Uint8Array => {
  const { graphCount, graphStart, nodeCount, nodeRole, nodeCategory, calls, control, graphOutputs } = program;
  const unused = new Uint8Array(nodeCount);
  if (program.hasGhosts) return unused;
  const isWaitedFor = new Uint8Array(nodeCount);
  for (const node of control.value) isWaitedFor[node] = 1;
  const isRemovable = (n: number): boolean => {
    if (index.isOutput[n] || isWaitedFor[n]) return false;
    if (nodeRole[n] !== Role.Op) return nodeRole[n] === Role.Parameter || nodeRole[n] === Role.Buffer || nodeRole[n] === Role.Constant;
    return COMPUTES.has(nodeCategory[n]) && calls.start[n] === calls.start[n + 1] && !WRITES.test(opName(program, n));
  };
  for (let graph = 0; graph < graphCount; graph++) {
    if (graphOutputs.start[graph] === graphOutputs.start[graph + 1]) continue;
    const [from, to] = [graphStart[graph], graphStart[graph + 1]];
    let count = 0;
    for (let n = to - 1; n >= from; n--) {
      let used = false;
      for (let u = index.uses.start[n]; u < index.uses.start[n + 1] && !used; u++) used = unused[index.uses.value[u]] === 0;
      if (used || !isRemovable(n)) continue;
      unused[n] = 1;
      count++;
    }
    if (2 * count > to - from) unused.fill(0, from, to);
  }
  return unused;
});

/** 1: a node of a small part of its graph that has no result, where the graph has other parts. */
export const findUnconnected = memoized((traits: Traits): Uint8Array => {
  const { graphCount, graphStart, nodeCount, control } = traits.program;
  const isResult = traits.index.isOutput.slice();
  // What others wait for has a purpose, too.
  for (const node of control.value) isResult[node] = 1;
  const unconnected = new Uint8Array(nodeCount);
  for (let graph = 0; graph < graphCount; graph++) {
    const [from, to] = [graphStart[graph], graphStart[graph + 1]];
    let members = 0;
    for (let n = from; n < to; n++) {
      if (unconnected[n] || !isUnused(traits, n)) continue;
      const part = smallPart(traits, n, isResult);
      for (const node of part) unconnected[node] = 1;
      members += part.length;
    }
    if (members === to - from) unconnected.fill(0, from, to);
  }
  return unconnected;
});

/** Every part without a result has a node that nothing uses. */
function isUnused({ index }: Traits, node: number): boolean {
  return index.uses.start[node] === index.uses.start[node + 1];
}

/** Everything that a node is connected with, if that is little and nothing of it is a result; else nothing. */
function smallPart({ program, index }: Traits, start: number, isResult: Uint8Array): number[] {
  const { inputs, control, nodeRole } = program;
  const part = [start];
  const isIn = new Set(part);
  for (const node of part) {
    if (isResult[node] || nodeRole[node] === Role.Output || nodeRole[node] === Role.Gradient) return [];
    for (const row of [inputs, control, index.uses]) {
      for (let i = row.start[node]; i < row.start[node + 1]; i++) {
        if (isIn.has(row.value[i])) continue;
        if (part.length === LARGEST_PART) return [];
        part.push(row.value[i]);
        isIn.add(row.value[i]);
      }
    }
  }
  return part;
}
