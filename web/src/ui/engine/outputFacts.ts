/** What a graph returns, for the panel of the box "output". */
import type { ProgramIndex } from "../../core/program/programIndex";
import { valueName, valueType } from "../../core/view/boxes/texts";
import { nodeName } from "./names";
import { MOST_LISTED } from "./facts";
import type { OutputFacts } from "./protocol";

/** Each returned value by its name, and the node that computes it. */
export function outputFacts(index: ProgramIndex, graph: number): OutputFacts {
  const { program } = index;
  const { graphOutputs, outputs, types } = program;
  const from = graphOutputs.start[graph];
  const to = graphOutputs.start[graph + 1];
  return {
    graph: index.graphName(graph),
    total: to - from,
    values: Array.from(graphOutputs.value.subarray(from, Math.min(to, from + MOST_LISTED)), (node, i) => {
      const which = Math.max(0, graphOutputs.extra[from + i]);
      const at = outputs.start[node] + which;
      const exists = at < outputs.start[node + 1];
      return {
        name: valueName(program, node, which),
        type: exists ? valueType(program, outputs.value[at], true) : "",
        bytes: exists ? types.bytes[outputs.value[at]] : -1,
        producer: nodeName(index, node),
      };
    }),
  };
}
