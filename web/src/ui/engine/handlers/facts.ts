/** Facts about nodes, groups and edges, and the gradients and paths through them. */
import { edgeFacts } from "../edgeFacts";
import { boxMetrics, groupFacts, nodeFacts, nodeMetrics, scopeOf } from "../facts";
import { chainRule, gradientFacts, savedTensors } from "../gradient";
import { markdownOf } from "../markdown";
import { trace as traced } from "../trace";
import type { Handler } from "./handler";

export const node: Handler<"node"> = async (state, { node: number }) => {
  await state.needDetails(number, number + 1);
  const { names } = state;
  return {
    ...nodeFacts(names, number, names.program.details(number), scopeOf(names, number, "")),
    metrics: nodeMetrics(names, state.highlighter, number),
  };
};

export const group: Handler<"group"> = ({ names, shown, highlighter }, { key }) => {
  const { visible, operations } = shown;
  const box = visible.key.indexOf(key);
  if (box < 0) return undefined;
  return { ...groupFacts(names, visible, box, operations[box]), metrics: boxMetrics(names, highlighter, visible, box) };
};

export const edge: Handler<"edge"> = ({ names, shown }, { edge: number }) => edgeFacts(names, shown.visible, shown.scene, number);

export const trace: Handler<"trace"> = ({ names }, { nodes, up, down }) => traced(names, nodes, up, down);

export const gradient: Handler<"gradient"> = ({ names }, { node: number }) => gradientFacts(names, number);

export const saved: Handler<"saved"> = ({ names }) => savedTensors(names);

/** Whichever way the gradient runs between the two. */
export const chain: Handler<"chain"> = ({ names }, { from, to }) => {
  const steps = chainRule(names, from, to);
  return steps.length ? steps : chainRule(names, to, from);
};

export const markdown: Handler<"markdown"> = ({ names, shown }, { nodes }) => markdownOf(names, shown.visible, nodes);
