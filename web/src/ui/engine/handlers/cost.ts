/** What the program costs. */
import { Cost } from "../cost";
import type { Handler } from "./handler";

export const cost: Handler<"cost"> = (state, request) => {
  state.cost = new Cost(state.index, request, state.highlighter.runs, state.drawn?.grouping);
  return state.cost.view;
};

export const costCells: Handler<"costCells"> = ({ cost: shown, index, drawn }, { key, node }) => {
  if (shown?.index !== index || !drawn) return [];
  return node === undefined ? shown.cellsOfBox(drawn.visible, drawn.visible.key.indexOf(key), drawn.grouping) : shown.cellsOfNode(node);
};
