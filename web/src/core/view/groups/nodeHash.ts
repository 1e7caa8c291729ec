/** A label for each node that says what it is, whatever its name: op, types, operand count and the content of what it calls. */

import { memoized } from "../../base/memoized";
import { calleesFirst } from "../../program/callees";
import type { ProgramData } from "../../program/types";
import { mix } from "../../base/csr";
import { isNamed } from "../../program/roles";

export const nodeLabels = memoized((program: ProgramData): Int32Array => {
  const labels = new Int32Array(program.nodeCount);
  const graphLabel = new Int32Array(program.graphCount);
  // A graph that calls itself finds its own label still empty.
  for (const graph of calleesFirst(program)) graphLabel[graph] = labelGraph(program, graph, labels, graphLabel);
  return labels;
});

function labelGraph(program: ProgramData, graph: number, labels: Int32Array, graphLabel: Int32Array): number {
  const { graphStart, nodeOp, nodeRole, nodeText, outputs, inputs, calls, types } = program;
  let whole = graphStart[graph + 1] - graphStart[graph];
  for (let n = graphStart[graph]; n < graphStart[graph + 1]; n++) {
    let label = mix(nodeOp[n], nodeRole[n]);
    if (!isNamed(nodeRole[n])) label = mix(label, nodeText[n]);
    for (let i = outputs.start[n]; i < outputs.start[n + 1]; i++) label = mix(label, types.text[outputs.value[i]]);
    label = mix(label, inputs.start[n + 1] - inputs.start[n]);
    for (let i = calls.start[n]; i < calls.start[n + 1]; i++) label = mix(label, graphLabel[calls.value[i]]);
    labels[n] = label;
    whole = mix(whole, label);
    for (let i = inputs.start[n]; i < inputs.start[n + 1]; i++) whole = mix(whole, mix(n - inputs.value[i], inputs.extra[i]));
  }
  return whole;
}
