/** What a graph returns, for the panel of the box "output". */
import type { ProgramIndex } from "../../core/program/programIndex";
import { valueType } from "../../core/view/boxes/texts";
import { nodeName } from "./names";
import { MOST_LISTED } from "./facts";
import type { OutputFacts } from "./protocol";

/** The nodes that compute the listed values. */
export function producersOf({ program: { graphOutputs } }: ProgramIndex, graph: number): Int32Array {
  const from = graphOutputs.start[graph];
  return graphOutputs.value.subarray(from, Math.min(graphOutputs.start[graph + 1], from + MOST_LISTED));
}

/** Each returned value by its name, and the node that computes it. */
export function outputFacts(index: ProgramIndex, graph: number): OutputFacts {
  const { program } = index;
  const { graphOutputs, outputs, types } = program;
  const from = graphOutputs.start[graph];
  return {
    graph: index.graphName(graph),
    total: graphOutputs.start[graph + 1] - from,
    values: Array.from(producersOf(index, graph), (node, i) => {
      const which = Math.max(0, graphOutputs.extra[from + i]);
      const at = outputs.start[node] + which;
      const exists = at < outputs.start[node + 1];
      return {
        name: valueName(index, node, which),
        type: exists ? valueType(program, outputs.value[at], true) : "",
        bytes: exists ? types.bytes[outputs.value[at]] : -1,
        producer: nodeName(index, node),
      };
    }),
  };
}

/** The name of a tensor, where the source gives tensors names (ONNX, AITemplate); else that of its node. */
function valueName(index: ProgramIndex, node: number, which: number): string {
  const names = index.program.details(node)?.attrs.output_names;
  const name = typeof names === "string" ? names.split(", ")[which] : undefined;
  const { start } = index.program.outputs;
  return name ?? (start[node + 1] - start[node] > 1 ? `${index.id(node)}.${which}` : index.id(node));
}
