import { sortByKey } from "../../base/arrays";
import { bucketBy } from "../../base/csr";
import type { Elements } from "../elements";
import type { FlatGraph } from "../types";

/** Where each edge leaves and enters, as x in the drawing. */
export interface Ends {
  readonly sourceX: Float64Array;
  readonly targetX: Float64Array;
}

/** The distance between the ends of two edges, and between an end and the corner of the box. */
const SPACING = 12;
const CORNER = 8;

/**
 * Places the free ports (NaN). Edges leave a box together at its middle, because they carry one value; they enter it
 * side by side in the order in which they arrive, straight from above where possible.
 */
export function settlePorts(graph: FlatGraph, elements: Elements, x: Float64Array): Ends {
  const { nodeCount, edgeSource, edgeTarget, sourcePort, targetPort, width } = graph;
  const edges = edgeSource.length;
  const sourceX = new Float64Array(edges);
  const targetX = new Float64Array(edges);
  const comesFrom = new Float64Array(edges);
  const freeTarget = new Int32Array(edges).fill(-1);
  for (let e = 0; e < edges; e++) {
    const port = sourcePort ? sourcePort[e] : 0;
    sourceX[e] = x[edgeSource[e]] + (Number.isNaN(port) ? 0 : port);
    const entry = targetPort ? targetPort[e] : 0;
    const segment = elements.segmentOfEdge[e];
    comesFrom[e] = segment < 0 ? sourceX[e] : x[segment];
    if (Number.isNaN(entry)) freeTarget[e] = edgeTarget[e];
    targetX[e] = x[edgeTarget[e]] + (Number.isNaN(entry) ? 0 : entry);
  }
  const entering = bucketBy(freeTarget, nodeCount);
  const spare = new Int32Array(entering.value.length);
  for (let v = 0; v < nodeCount; v++) {
    const from = entering.start[v];
    const to = entering.start[v + 1];
    if (from === to) continue;
    sortByKey(entering.value, from, to, comesFrom, spare);
    spread(entering.value, from, to, comesFrom, targetX, x[v], width[v]);
  }
  if (sourcePort) alignLoneSources(graph, elements, x, { sourceX, targetX });
  return { sourceX, targetX };
}

/** Each end as near as possible to where its edge comes from, in order, with a gap between. */
function spread(
  edges: Int32Array,
  from: number,
  to: number,
  preferred: Float64Array,
  end: Float64Array,
  centre: number,
  width: number,
): void {
  const half = Math.max(0, width / 2 - CORNER);
  const room = to - from > 1 ? Math.min(SPACING, (2 * half) / (to - from - 1)) : 0;
  for (let i = from; i < to; i++) {
    const place = Math.min(Math.max(preferred[edges[i]], centre - half), centre + half);
    end[edges[i]] = i > from ? Math.max(place, end[edges[i - 1]] + room) : place;
  }
  for (let i = to - 1; i >= from; i--) {
    const limit = i + 1 < to ? end[edges[i + 1]] - room : centre + half;
    if (end[edges[i]] > limit) end[edges[i]] = limit;
  }
}

/** The only outgoing edge of a box moves along the border if that makes it straight. */
function alignLoneSources(graph: FlatGraph, elements: Elements, x: Float64Array, { sourceX, targetX }: Ends): void {
  const { edgeSource, sourcePort, width } = graph;
  const leaving = new Int32Array(graph.nodeCount);
  for (let e = 0; e < edgeSource.length; e++) leaving[edgeSource[e]]++;
  for (let e = 0; e < edgeSource.length; e++) {
    const u = edgeSource[e];
    if (leaving[u] !== 1 || !sourcePort || !Number.isNaN(sourcePort[e])) continue;
    const segment = elements.segmentOfEdge[e];
    const goesTo = segment < 0 ? targetX[e] : x[segment];
    if (Math.abs(goesTo - x[u]) <= width[u] / 2 - CORNER) sourceX[e] = goesTo;
  }
}
