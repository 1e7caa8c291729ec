/** What the program costs. */
import { Cost } from "../cost";
import { Roofline } from "../roofline";
import type { Handler } from "./handler";

export const cost: Handler<"cost"> = (state, request) => {
  const shown = new Cost(state.index, request, state.highlighter.runs, state.drawn?.grouping);
  state.cells.cost = shown.cells;
  return shown.view;
};

export const roofline: Handler<"roofline"> = (state, request) => {
  const shown = new Roofline(state.index, request, state.highlighter.runs, state.drawn?.grouping);
  state.cells.roofline = shown.cells;
  return shown.view;
};

export const cellsAt: Handler<"cellsAt"> = ({ cells, index, drawn }, { of, key, node }) => {
  const shown = cells[of];
  if (shown?.index !== index || !drawn) return [];
  return node === undefined ? shown.ofBox(drawn.visible, drawn.visible.key.indexOf(key), drawn.grouping) : [shown.ofNode(node)];
};
