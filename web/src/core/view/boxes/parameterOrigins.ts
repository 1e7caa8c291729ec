/** A graph that is called from one place: its parameters show where their values come from. */
import type { ProgramData } from "../../program/types";
import { bindOperands } from "./instance";
import type { Placement } from "./placement";
import type { Traits } from "../traits";

/** The only node that calls a graph and which of its calls that is, or undefined. */
function onlyCaller(program: ProgramData, graph: number): { readonly node: number; readonly index: number } | undefined {
  const { calls, nodeCount } = program;
  const at = calls.value.indexOf(graph);
  if (at < 0 || calls.value.indexOf(graph, at + 1) >= 0) return undefined;
  let low = 0;
  let high = nodeCount;
  while (low + 1 < high) {
    const middle = (low + high) >> 1;
    if (calls.start[middle] <= at) low = middle;
    else high = middle;
  }
  return { node: low, index: at - calls.start[low] };
}

/** For each parameter of a graph, by its place, the node whose value it is, looking through plumbing; empty if there is not exactly one caller. */
export function originsOf(traits: Traits, graph: number): Int32Array {
  const { program, plumbing } = traits;
  const caller = graph === program.entry ? undefined : onlyCaller(program, graph);
  if (!caller) return new Int32Array(0);
  return bindOperands(traits, caller.node, caller.index).map((operand) => {
    if (operand < 0) return -1;
    const source = program.inputs.value[program.inputs.start[caller.node] + operand];
    return plumbing.node[source] >= 0 ? plumbing.node[source] : source;
  });
}

/** Writes the origins into the boxes of the shown graph's parameters. */
export function showOrigins({ traits, boxes, instances }: Placement): void {
  const { program } = traits;
  const { parameters } = traits.index;
  const { graph } = instances[0];
  originsOf(traits, graph).forEach((origin, i) => {
    const parameter = parameters.value[parameters.start[graph] + i];
    const box = instances[0].place(parameter);
    if (origin < 0 || box < 0 || boxes.node[box] !== parameter) return;
    boxes.subtitle[box] = [boxes.subtitle[box], `from ${program.strings.at(program.nodeId[origin])}`].filter(Boolean).join(" · ");
  });
}
