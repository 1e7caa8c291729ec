/**
 * Nodes that nothing connects with the rest of their graph: a buffer that nothing reads, constants that a fusion left behind, a mask that
 * is not used. Drawn one by one they fill a corner of the picture; together they are one box.
 */
import { memoized } from "../../base/memoized";
import { Role } from "../../program/roles";
import type { Traits } from "../traits";

/** A larger part is a computation of its own. */
const LARGEST_PART = 12;

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
