/** Facts about nodes, groups and edges, and the gradients and paths through them. */
import { foldedOperands } from "../../../core/view/foldedOperands";
import { edgeFacts } from "../edgeFacts";
import { boxMetrics, groupFacts, nodeFacts, nodeMetrics, scopeOf } from "../facts";
import { chainRule, gradientFacts } from "../gradient";
import { savedTensors } from "../savedTensors";
import { markdownOf } from "../markdown";
import { nodeName } from "../names";
import { outputFacts } from "../outputFacts";
import { overview as overviewOf } from "../overview";
import { trace as traced } from "../trace";
import { valueFacts } from "../valueFacts";
import type { Handler } from "./handler";

export const node: Handler<"node"> = async (state, { node: number, output }) => {
  await state.needDetails(number, number + 1);
  const { index, drawn } = state;
  const visible = drawn?.program === index.program ? drawn.visible : undefined;
  const operands = visible ? foldedOperands(index.program, visible, number) : { folded: [], foldable: [] };
  const facts = {
    ...nodeFacts(index, number, index.program.details(number), scopeOf(index, number, "")),
    metrics: nodeMetrics(index, state.highlighter, number, visible),
    folded: operands.folded.map((operand) => nodeName(index, operand)),
    foldable: operands.foldable.map((operand) => nodeName(index, operand)),
  };
  return output === undefined ? facts : valueFacts(index, facts, output);
};

export const group: Handler<"group"> = ({ index, shown, highlighter }, { key }) => {
  const { visible, operations } = shown;
  const box = visible.key.indexOf(key);
  if (box < 0) return undefined;
  return { ...groupFacts(index, visible, box, operations[box]), metrics: boxMetrics(index, highlighter, visible, box) };
};

export const output: Handler<"output"> = ({ index, shown }) => outputFacts(index, shown.visible.graph);

export const edge: Handler<"edge"> = ({ index, shown }, { edge: number }) => edgeFacts(index, shown.visible, shown.scene, number);

export const trace: Handler<"trace"> = ({ index }, { nodes, up, down }) => traced(index, nodes, up, down);

export const gradient: Handler<"gradient"> = ({ index }, { node: number }) => gradientFacts(index, number);

export const overview: Handler<"overview"> = ({ index }) => overviewOf(index);

export const saved: Handler<"saved"> = ({ index }) => savedTensors(index);

/** Whichever way the gradient runs between the two. */
export const chain: Handler<"chain"> = ({ index }, { from, to }) => {
  const steps = chainRule(index, from, to);
  return steps.length ? steps : chainRule(index, to, from);
};

export const markdown: Handler<"markdown"> = ({ index, shown }, { nodes }) => markdownOf(index, shown.visible, nodes);
