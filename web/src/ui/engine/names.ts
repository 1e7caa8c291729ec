/** Nodes and graphs as the page's lists and panels name them. */
import type { ProgramIndex } from "../../core/program/programIndex";
import type { GraphRow, NodeName } from "./protocol";

export function nodeName(index: ProgramIndex, node: number): NodeName {
  return { node, id: index.id(node), op: index.op(node), graph: index.graphName(index.graphOf[node]), type: index.typeText(node) };
}

export function graphRow(index: ProgramIndex, graph: number): GraphRow {
  const { graphStart } = index.program;
  const { start } = index.callers;
  return { name: index.graphName(graph), nodes: graphStart[graph + 1] - graphStart[graph], callers: start[graph + 1] - start[graph] };
}
