import { marked } from "../base/arrays";
import { LayoutCache } from "./compound/cache";
import { layoutCompound } from "./compound/compound";
import { farEdges } from "./compound/farEdges";
import type { CompoundGraph, CompoundLayout, LayoutOptions } from "./types";

/** Boxes in boxes, where edges that lead too far to be followed take no room: they are marked `far`, and have only their two ends. */
export function layoutDeep(graph: CompoundGraph, options: LayoutOptions = {}, cache: LayoutCache = new LayoutCache()): CompoundLayout {
  const direction = options.direction ?? "TB";
  const far = farEdges(graph, direction);
  if (!far) return layoutCompound(graph, options, cache);
  const layout = layoutCompound(onlyLines(graph, far), options, cache);
  return { ...layout, ...withEnds(graph, layout, far, direction), far };
}

/** The graph without the edges that lead far. */
function onlyLines(graph: CompoundGraph, far: Uint8Array): CompoundGraph {
  const { edgeLoose, edgeCloses, edgeWeight } = graph;
  const lines = <T extends Int32Array | Float32Array | Uint8Array>(column: T): T => marked(column, far, 0);
  return {
    ...graph,
    edgeSource: lines(graph.edgeSource),
    edgeTarget: lines(graph.edgeTarget),
    sourcePort: lines(graph.sourcePort),
    targetPort: lines(graph.targetPort),
    edgeValue: lines(graph.edgeValue),
    edgeLoose: edgeLoose && lines(edgeLoose),
    ...(edgeCloses ? { edgeCloses: lines(edgeCloses) } : {}),
    ...(edgeWeight ? { edgeWeight: lines(edgeWeight) } : {}),
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
  const setEnd = (at: number, box: number, port: number, last: number): void => {
    const share = Number.isNaN(port) ? 0.5 : port;
    const [across, along] = direction === "TB" ? [share, last] : [last, share];
    allPoints[at] = x[box] + across * w[box];
    allPoints[at + 1] = y[box] + along * h[box];
  };
  line = 0;
  for (let e = 0; e < count; e++) {
    if (far[e]) {
      setEnd(2 * allStart[e], graph.edgeSource[e], graph.sourcePort[e], 1);
      setEnd(2 * allStart[e] + 2, graph.edgeTarget[e], graph.targetPort[e], 0);
      continue;
    }
    for (let from = 2 * pointStart[line], to = 2 * allStart[e]; from < 2 * pointStart[line + 1]; from++, to++) allPoints[to] = points[from];
    allReversed[e] = reversed[line++];
  }
  return { points: allPoints, pointStart: allStart, reversed: allReversed };
}
