/** The table of nodes or modules, and where its rows are in the picture. */
import { search } from "../../../core/search/search";
import { groupingOf } from "../../../core/view/groups/grouping";
import { Table } from "../table";
import type { Handler } from "./handler";
import { needFor } from "./search";

export const table: Handler<"table"> = async (state, request) => {
  const { index } = state;
  if (request.attributes.length) await state.needDetails(...state.nodesOf(request.graph));
  if (request.rows === "nodes") await needFor(state, request.filter);
  const matches = request.filter && request.rows === "nodes" ? search(index.program, request.filter, {}).nodes : undefined;
  const grouping = groupingOf(index.program, request.grouping);
  state.table = new Table(index, request, grouping, matches, (node) => index.program.details(node), state.highlighter);
  return state.table.result;
};

export const tableRows: Handler<"tableRows"> = (state, { from, to }) => state.table?.cells(from, to) ?? [];

export const modulePlace: Handler<"modulePlace"> = (state, { row }) => state.table?.modules?.place(row, state.shown.grouping);

export const moduleRow: Handler<"moduleRow"> = (state, { key }) => {
  const { visible, grouping } = state.shown;
  return state.table?.modules?.rowOf(visible, visible.key.indexOf(key), grouping) ?? -1;
};
