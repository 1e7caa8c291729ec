/** Finding nodes by name, by what they are, and by their attributes. */
import { compileQuery, search as searchProgram } from "../../../core/search/search";
import type { EngineState } from "../state";
import type { Handler } from "./handler";
import { nodeName } from "../names";

const MOST_ROWS = 200;
/** How many nodes of a large graph are sampled for attribute names. */
const SAMPLE = 1500;

export const search: Handler<"search"> = async (state, { query, limit, first }) => {
  await needFor(state, query);
  const start = performance.now();
  const { nodes: hits, problem } = searchProgram(state.index.program, query);
  const nodes = graphFirst(state, hits, first).slice(0, limit);
  return {
    nodes,
    total: hits.length,
    rows: Array.from(nodes.subarray(0, MOST_ROWS), (node) => nodeName(state.index, node)),
    milliseconds: performance.now() - start,
    ...(problem ? { problem } : {}),
  };
};

export const find: Handler<"find"> = ({ index }, { graph, id }) => index.find(graph ? index.graphNamed(graph) : index.program.entry, id);

/** Names of attributes in a graph. */
export const attributes: Handler<"attributes"> = async (state, { graph: name }) => {
  const { program } = state.index;
  const graph = Math.max(0, state.index.graphNamed(name));
  const first = program.graphStart[graph],
    last = program.graphStart[graph + 1];
  await state.needDetails(first, Math.min(last, first + 1));
  const names = new Set<string>();
  const step = Math.max(1, Math.floor((last - first) / SAMPLE));
  for (let n = first; n < last; n += step) for (const key of Object.keys(program.details(n)?.attrs ?? {})) names.add(key);
  return [...names].sort();
};

/** Attributes that a query asks for may not have been fetched yet. */
export async function needFor(state: EngineState, query: string): Promise<void> {
  if (compileQuery(query).terms.some(({ field }) => field === "attr" || field === "source")) await state.needDetails();
}

function graphFirst({ index }: EngineState, nodes: Int32Array, name: string): Int32Array {
  const { graphStart } = index.program;
  const graph = Math.max(0, index.graphNamed(name));
  const from = nodes.findIndex((node) => node >= graphStart[graph]);
  const after = nodes.findIndex((node) => node >= graphStart[graph + 1]);
  if (from < 0) return nodes;
  const to = after < 0 ? nodes.length : after;
  return Int32Array.from([...nodes.subarray(from, to), ...nodes.subarray(0, from), ...nodes.subarray(to)]);
}
