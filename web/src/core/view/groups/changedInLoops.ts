import { Control } from "../../program/ops";
import { yieldsForCaller } from "../boxes/instance";
import type { Traits } from "../traits";

/** 1: a parameter of a loop's body that each iteration changes: what the loop carries and the stacks that it fills, which are not weights. */
export function changedInLoops({ program, index: { parameters } }: Traits): Uint8Array {
  const { calls, graphOutputs, nodeCount, nodeOp, ops } = program;
  const changed = new Uint8Array(nodeCount);
  for (let n = 0; n < nodeCount; n++) {
    if (ops.control[nodeOp[n]] !== Control.While) continue;
    for (const graph of calls.value.subarray(calls.start[n], calls.start[n + 1])) {
      const first = graphOutputs.start[graph];
      const from = parameters.start[graph];
      const count = parameters.start[graph + 1] - from;
      if (graphOutputs.start[graph + 1] - first !== count || !yieldsForCaller(program, n, graph)) continue;
      for (let p = from; p < from + count; p++) {
        const place = parameters.extra[p];
        if (place < count && graphOutputs.value[first + place] !== parameters.value[p]) changed[parameters.value[p]] = 1;
      }
    }
  }
  return changed;
}
