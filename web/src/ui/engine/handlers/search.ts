/** Finding nodes by name, by what they are, and by their attributes. */
import { groupingNamed, MODULE } from "../../../core/program/names";
import { compileQuery, search as searchProgram } from "../../../core/search/search";
import { nodeTitle } from "../../../core/view/boxes/texts";
import { groupingOf } from "../../../core/view/groups/grouping";
import { Destinations } from "../destinations";
import { scopePath } from "../facts";
import type { EngineState } from "../state";
import type { Handler } from "./handler";
import { nodeName } from "../names";

/** How many nodes of a large graph are sampled for attribute names. */
const SAMPLE = 1500;

export const search: Handler<"search"> = async (state, { query, limit, first }) => {
  await needFor(state, query);
  const start = performance.now();
  const { nodes: hits, problem } = searchProgram(state.index.program, query);
  const { nodes, moduleStart } = byModule(state, graphFirst(state, hits, first).slice(0, limit));
  return {
    nodes,
    total: hits.length,
    moduleStart,
    milliseconds: performance.now() - start,
    ...(problem ? { problem } : {}),
  };
};

export const matchRows: Handler<"matchRows"> = ({ index }, { nodes }) =>
  nodes.map((node) => ({
    ...nodeName(index, node),
    title: nodeTitle(index.program, node, false),
    scope: scopePath(index, node, MODULE),
  }));

export const destinations: Handler<"destinations"> = async (state, { text }) => {
  await needFor(state, text);
  const { index, drawn } = state;
  const grouping = drawn?.grouping ?? groupingOf(index.program, "");
  if (state.destinations?.index !== index || state.destinations.grouping !== grouping)
    state.destinations = new Destinations(index, grouping);
  return state.destinations.find(text);
};

export const destinationRows: Handler<"destinationRows"> = (state, { from, to }) => state.destinations?.rows(from, to) ?? [];

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

/** Nodes of one module together, in the order in which the modules come. */
function byModule(
  { index: { program } }: EngineState,
  nodes: Int32Array,
): { readonly nodes: Int32Array; readonly moduleStart: Int32Array } {
  const { nodeGroup, groupCount } = groupingNamed(program, MODULE) ?? program.groupings[0];
  const rankOf = new Int32Array(groupCount + 1).fill(-1);
  const counts: number[] = [];
  for (const node of nodes) {
    const group = nodeGroup[node] + 1;
    if (rankOf[group] < 0) rankOf[group] = counts.push(0) - 1;
    counts[rankOf[group]]++;
  }
  const moduleStart = new Int32Array(counts.length);
  for (let i = 1; i < counts.length; i++) moduleStart[i] = moduleStart[i - 1] + counts[i - 1];
  const next = moduleStart.slice();
  const sorted = new Int32Array(nodes.length);
  for (const node of nodes) sorted[next[rankOf[nodeGroup[node] + 1]]++] = node;
  return { nodes: sorted, moduleStart };
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
