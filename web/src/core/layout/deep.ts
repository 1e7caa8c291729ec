import { LayoutCache } from "./compound/cache";
import { layoutCompound } from "./compound/compound";
import { farEdges } from "./compound/farEdges";
import type { CompoundGraph, CompoundLayout, LayoutOptions } from "./types";

/** Boxes in boxes, where edges that lead too far to be followed take no room: they are marked `far`, and have only their two ends. */
export function layoutDeep(graph: CompoundGraph, options: LayoutOptions = {}, cache: LayoutCache = new LayoutCache()): CompoundLayout {
  const direction = options.direction ?? "TB";
  const far = farEdges(graph, direction);
  if (!far) return layoutCompound(graph, options, cache);
  const lines = Int32Array.from(far.keys()).filter((e) => far[e] === 0);
  const layout = layoutCompound(onlyEdges(graph, lines), options, cache);
  return { ...layout, ...withEnds(graph, layout, far, direction), far };
}

function onlyEdges(graph: CompoundGraph, edges: Int32Array): CompoundGraph {
  const { edgeLoose, edgeCloses, edgeWeight } = graph;
  return {
    ...graph,
    edgeSource: edges.map((e) => graph.edgeSource[e]),
    edgeTarget: edges.map((e) => graph.edgeTarget[e]),
    sourcePort: Float32Array.from(edges, (e) => graph.sourcePort[e]),
    targetPort: Float32Array.from(edges, (e) => graph.targetPort[e]),
    edgeValue: edges.map((e) => graph.edgeValue[e]),
    edgeLoose: edgeLoose && Uint8Array.from(edges, (e) => edgeLoose[e]),
    ...(edgeCloses ? { edgeCloses: Uint8Array.from(edges, (e) => edgeCloses[e]) } : {}),
    ...(edgeWeight ? { edgeWeight: edges.map((e) => edgeWeight[e]) } : {}),
  };
}

/** The lines of all edges: of those that were laid out, and from end to end of those that lead far. */
function withEnds(
  graph: CompoundGraph,
  { x, y, w, h, points, pointStart, reversed }: CompoundLayout,
  far: Uint8Array,
  direction: "TB" | "LR",
): Pick<CompoundLayout, "points" | "pointStart" | "reversed"> {
  const count = far.length;
  const allStart = new Int32Array(count + 1);
  let line = 0;
  for (let e = 0; e < count; e++) {
    allStart[e + 1] = allStart[e] + (far[e] ? 2 : pointStart[line + 1] - pointStart[line]);
    if (!far[e]) line++;
  }
  const allPoints = new Float64Array(2 * allStart[count]);
  const allReversed = new Uint8Array(count);
  const end = (box: number, port: number, last: number): [number, number] => {
    const share = Number.isNaN(port) ? 0.5 : port;
    return direction === "TB" ? [x[box] + share * w[box], y[box] + last * h[box]] : [x[box] + last * w[box], y[box] + share * h[box]];
  };
  line = 0;
  for (let e = 0; e < count; e++) {
    if (far[e]) {
      allPoints.set(
        [...end(graph.edgeSource[e], graph.sourcePort[e], 1), ...end(graph.edgeTarget[e], graph.targetPort[e], 0)],
        2 * allStart[e],
      );
      continue;
    }
    allPoints.set(points.subarray(2 * pointStart[line], 2 * pointStart[line + 1]), 2 * allStart[e]);
    allReversed[e] = reversed[line++];
  }
  return { points: allPoints, pointStart: allStart, reversed: allReversed };
}
