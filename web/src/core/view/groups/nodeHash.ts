/** A label for each node that says what it is, whatever its name: op, types, operand count and the content of what it calls. */

import type { ProgramData } from "../../program/types";
import { mix } from "../../base/csr";
import { isArgument } from "../../program/roles";

const known = new WeakMap<ProgramData, Int32Array>();

export function nodeLabels(program: ProgramData): Int32Array {
  let labels = known.get(program);
  if (!labels) {
    labels = work(program);
    known.set(program, labels);
  }
  return labels;
}

function work(program: ProgramData): Int32Array {
  const { graphCount, graphStart, nodeCount, calls } = program;
  const labels = new Int32Array(nodeCount);
  const graphLabel = new Int32Array(graphCount);
  const state = new Uint8Array(graphCount);
  // Called graphs before their callers; a graph that calls itself finds its own label still empty.
  const path: number[] = [];
  const nextCall = new Int32Array(graphCount);
  for (let top = 0; top < graphCount; top++) {
    if (state[top]) continue;
    path.push(top);
    state[top] = 1;
    while (path.length > 0) {
      const graph = path[path.length - 1];
      const last = calls.start[graphStart[graph + 1]];
      let at = calls.start[graphStart[graph]] + nextCall[graph];
      while (at < last && state[calls.value[at]]) at++;
      nextCall[graph] = at - calls.start[graphStart[graph]];
      if (at < last) {
        state[calls.value[at]] = 1;
        path.push(calls.value[at]);
      } else {
        graphLabel[graph] = labelGraph(program, graph, labels, graphLabel);
        path.pop();
      }
    }
  }
  return labels;
}

function labelGraph(program: ProgramData, graph: number, labels: Int32Array, graphLabel: Int32Array): number {
  const { graphStart, nodeOp, nodeRole, nodeText, outputs, inputs, calls, types } = program;
  let whole = graphStart[graph + 1] - graphStart[graph];
  for (let n = graphStart[graph]; n < graphStart[graph + 1]; n++) {
    let label = mix(nodeOp[n], nodeRole[n]);
    if (!isArgument(nodeRole[n])) label = mix(label, nodeText[n]);
    for (let i = outputs.start[n]; i < outputs.start[n + 1]; i++) label = mix(label, types.text[outputs.value[i]]);
    label = mix(label, inputs.start[n + 1] - inputs.start[n]);
    for (let i = calls.start[n]; i < calls.start[n + 1]; i++) label = mix(label, graphLabel[calls.value[i]]);
    labels[n] = label;
    whole = mix(whole, label);
    for (let i = inputs.start[n]; i < inputs.start[n + 1]; i++) whole = mix(whole, mix(n - inputs.value[i], inputs.extra[i]));
  }
  return whole;
}
