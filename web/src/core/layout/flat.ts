import { bucketBy } from "../base/csr";
import { findComponents } from "./compound/connected";
import { assignX, distances, type Gaps, keepX } from "./coordinates/coordinates";
import { findSeparations } from "./coordinates/separation";
import { CrossingCounter } from "./order/crossingCount";
import { breakCycles } from "./ranks/cycles";
import { buildElements, type Elements, isHurried } from "./elements";
import { balanceLeaves } from "./order/leaves";
import { orderElements, orderOf } from "./order/ordering";
import { orderOfLoosePorts, untangle } from "./order/portOrder";
import { surround } from "./order/outerAnchors";
import { sideLanes } from "./order/sideLanes";
import { packParcels } from "./compound/packing";
import { WIDEST } from "./coordinates/squeeze";
import { assignRanks } from "./ranks/ranking";
import { breakRows } from "./ranks/rows";
import { draw, BOUNDARY_PORT_GAP } from "./routing/routing";
import type { Attachments } from "./coordinates/straighten";
import { placeReversed } from "./order/backEdges";
import type { FlatGraph, FlatLayout, LayoutOptions, Places } from "./types";

export const NODE_GAP = 24;
export const RANK_GAP = 40;

/** With more boxes than this, or in one of very many containers, crossings are not counted. */
const COUNTED_BOXES = 4000;
const COUNTED_EFFORT = 0.3;

/**
 * Lays out one container's content: boxes in ranks from top to bottom, unconnected parts packed next to each other. `effort`
 * (0…1) is how hard to search for a better order, if this is one container of many.
 */
export function layoutFlat(graph: FlatGraph, options: LayoutOptions = {}, effort = 1): FlatLayout {
  const { count, of } = findComponents(graph.nodeCount, graph.edgeSource, graph.edgeTarget);
  if (count === 1) return layoutConnected(graph, options, effort);
  return joinParts(graph, inBoundaryPortOrder(graph, inEarlierOrder(graph, splitParts(graph, count, of))), options, effort);
}

interface Part {
  readonly nodes: Int32Array;
  readonly edges: Int32Array;
}

function splitParts(graph: FlatGraph, count: number, of: Int32Array): Part[] {
  const nodes = bucketBy(of, count);
  const edgePart = new Int32Array(graph.edgeSource.length);
  for (let e = 0; e < edgePart.length; e++) edgePart[e] = of[graph.edgeSource[e]];
  const edges = bucketBy(edgePart, count);
  const parts: Part[] = [];
  for (let c = 0; c < count; c++) {
    parts.push({
      nodes: nodes.value.subarray(nodes.start[c], nodes.start[c + 1]),
      edges: edges.value.subarray(edges.start[c], edges.start[c + 1]),
    });
  }
  return parts;
}

/** Parts keep their earlier order from left to right; new ones come last. */
function inEarlierOrder({ previousX }: FlatGraph, parts: Part[]): Part[] {
  if (!previousX) return parts;
  const leftmost = (part: Part): number => {
    let least = Number.POSITIVE_INFINITY;
    for (const v of part.nodes) if (previousX[v] < least) least = previousX[v];
    return least;
  };
  const keyed = parts.map((part) => ({ part, x: leftmost(part) }));
  return keyed.sort((a, b) => (a.x === b.x ? 0 : a.x - b.x)).map(({ part }) => part);
}

/** Parts with boundary ports are ordered as the outside prefers these. */
function inBoundaryPortOrder({ boundaryPortOrder, pin, previousX }: FlatGraph, parts: Part[]): Part[] {
  if (!boundaryPortOrder || !pin || previousX) return parts;
  const most = new Float64Array(3);
  for (let v = 0; v < pin.length; v++) if (boundaryPortOrder[v] > most[pin[v]]) most[pin[v]] = boundaryPortOrder[v];
  const middle = (part: Part): number => {
    const ports = part.nodes.filter((v) => !Number.isNaN(boundaryPortOrder[v]));
    return ports.length === 0 ? 1 : ports.reduce((sum, v) => sum + boundaryPortOrder[v] / (most[pin[v]] || 1), 0) / ports.length;
  };
  return parts
    .map((part) => ({ part, at: middle(part) }))
    .sort((a, b) => a.at - b.at)
    .map(({ part }) => part);
}

function partGraph(graph: FlatGraph, { nodes, edges }: Part, local: Int32Array): FlatGraph {
  for (let i = 0; i < nodes.length; i++) local[nodes[i]] = i;
  const pick = <T extends Float64Array | Uint8Array | Int32Array>(from: T, ids: Int32Array): T => {
    const to = from.slice(0, ids.length) as T;
    for (let i = 0; i < ids.length; i++) to[i] = from[ids[i]];
    return to;
  };
  return {
    nodeCount: nodes.length,
    width: pick(graph.width, nodes),
    height: pick(graph.height, nodes),
    edgeSource: edges.map((e) => local[graph.edgeSource[e]]),
    edgeTarget: edges.map((e) => local[graph.edgeTarget[e]]),
    sourcePort: graph.sourcePort && pick(graph.sourcePort, edges),
    targetPort: graph.targetPort && pick(graph.targetPort, edges),
    loosePorts: graph.loosePorts && pick(graph.loosePorts, edges),
    closes: graph.closes && pick(graph.closes, edges),
    weight: graph.weight && pick(graph.weight, edges),
    pin: graph.pin && pick(graph.pin, nodes),
    previousX: graph.previousX && pick(graph.previousX, nodes),
    boundaryPortOrder: graph.boundaryPortOrder && pick(graph.boundaryPortOrder, nodes),
    start: graph.start && {
      x: pick(graph.start.x, nodes),
      across: pick(graph.start.across, edges),
      rank: graph.start.rank && pick(graph.start.rank, nodes),
    },
  };
}

function singleBox(graph: FlatGraph, node: number): FlatLayout {
  return {
    width: graph.width[node],
    height: graph.height[node],
    x: Float64Array.of(graph.width[node] / 2),
    y: Float64Array.of(graph.height[node] / 2),
    across: new Float64Array(0),
    rank: new Int32Array(1),
    reversed: new Uint8Array(0),
    points: new Float64Array(0),
    pointStart: new Int32Array(1),
    crossings: 0,
    outOfOrder: 0,
  };
}

function joinParts(graph: FlatGraph, parts: Part[], options: LayoutOptions, effort: number): FlatLayout {
  const local = new Int32Array(graph.nodeCount);
  const layouts = parts.map((part) =>
    part.nodes.length === 1 && part.edges.length === 0
      ? singleBox(graph, part.nodes[0])
      : layoutConnected(partGraph(graph, part, local), options, effort),
  );
  const has = (part: Part, pin: number): boolean => graph.pin !== undefined && part.nodes.some((v) => graph.pin![v] === pin);
  const marginAt = (pin: number): number => (graph.pin?.includes(pin) ? BOUNDARY_PORT_GAP : 0);
  const margin = { top: marginAt(1), bottom: marginAt(2) };
  const down = new Float64Array(parts.length);
  const packed = packParcels(
    layouts.map(({ width, height }, i) => {
      const first = has(parts[i], 1);
      const last = has(parts[i], 2);
      if (!first && !last) return { width, height, pinned: false };
      down[i] = first ? 0 : margin.top;
      return { width, height: down[i] + height + (last ? 0 : margin.bottom), pinned: true };
    }),
    options.nodeGap ?? NODE_GAP,
    margin,
    graph.previousX !== undefined,
  );
  for (let i = 0; i < down.length; i++) packed.y[i] += down[i];
  const edgeCount = graph.edgeSource.length;
  const x = new Float64Array(graph.nodeCount);
  const y = new Float64Array(graph.nodeCount);
  const across = new Float64Array(edgeCount);
  const rank = new Int32Array(graph.nodeCount);
  const reversed = new Uint8Array(edgeCount);
  const pointStart = new Int32Array(edgeCount + 1);
  parts.forEach(({ nodes, edges }, i) => {
    const part = layouts[i];
    for (let k = 0; k < nodes.length; k++) {
      x[nodes[k]] = part.x[k] + packed.x[i];
      y[nodes[k]] = part.y[k] + packed.y[i];
      rank[nodes[k]] = part.rank[k];
    }
    for (let k = 0; k < edges.length; k++) {
      reversed[edges[k]] = part.reversed[k];
      across[edges[k]] = part.across[k] + packed.x[i];
      pointStart[edges[k] + 1] = part.pointStart[k + 1] - part.pointStart[k];
    }
  });
  for (let e = 0; e < edgeCount; e++) pointStart[e + 1] += pointStart[e];
  const points = new Float64Array(2 * pointStart[edgeCount]);
  parts.forEach(({ edges }, i) => {
    const part = layouts[i];
    for (let k = 0; k < edges.length; k++) {
      let out = 2 * pointStart[edges[k]];
      for (let p = part.pointStart[k]; p < part.pointStart[k + 1]; p++) {
        points[out++] = part.points[2 * p] + packed.x[i];
        points[out++] = part.points[2 * p + 1] + packed.y[i];
      }
    }
  });
  const crossings = layouts.reduce((sum, part) => sum + part.crossings, 0);
  const outOfOrder = layouts.reduce((sum, part) => sum + part.outOfOrder, 0);
  const { width, height } = packed;
  const joined = { width, height, x, y, across, rank, reversed, points, pointStart, crossings, outOfOrder };
  if (graph.pin) stretchToBottom(graph, joined);
  return joined;
}

/** Boxes pinned to the last rank of a shorter part go down to the common bottom, and the ends of their edges with them. */
function stretchToBottom(graph: FlatGraph, layout: FlatLayout): void {
  const { pin, height, edgeTarget } = graph;
  if (!pin) return;
  for (let v = 0; v < graph.nodeCount; v++) if (pin[v] === 2) layout.y[v] = layout.height - height[v] / 2;
  for (let e = 0; e < edgeTarget.length; e++) {
    const v = edgeTarget[e];
    if (pin[v] === 2 && !layout.reversed[e]) layout.points[2 * layout.pointStart[e + 1] - 1] = layout.y[v] - height[v] / 2;
  }
}

function layoutConnected(graph: FlatGraph, options: LayoutOptions, effort: number): FlatLayout {
  const { nodeCount, width, edgeSource, edgeTarget, pin } = graph;
  const nodeGap = options.nodeGap ?? NODE_GAP;
  const rankGap = options.rankGap ?? RANK_GAP;
  const report = (done: number): void => options.progress?.(done);

  const previous = previousRanks(graph);
  const reversed = previous?.reversed ?? breakCycles(graph);
  const rank = previous?.rank ?? breakRows(assignRanks(nodeCount, edgeSource, edgeTarget, reversed, pin), graph, nodeGap);
  report(0.2);
  const elements = buildElements(graph, reversed, rank);
  const gaps = { betweenBoxes: nodeGap, besideSegment: nodeGap / 2, betweenSegments: nodeGap / 3 };
  if (previous) {
    const position = orderOf(elements, previous);
    return finish(position, (drawn, all) => keepX(all, position, drawn, gaps, previous));
  }
  const outside = graph.previousX ? undefined : surround(graph, reversed, rank);
  const search = (all: Elements): Int32Array => orderElements(all, effort, { start: graph.start, previousX: graph.previousX });
  const fewCrossings = outside
    ? outside.inner(orderElements(outside.elements, effort, outside))
    : orderOfLoosePorts(graph, elements, search(elements), reversed, rank, search);
  if (!graph.previousX) balanceLeaves(elements, fewCrossings);
  placeReversed(elements, fewCrossings, edgeSource, edgeTarget, reversed);
  const position = sideLanes(elements, fewCrossings, graph, gaps);
  report(0.7);
  const resumed = graph.previousX !== undefined;
  return finish(position, (drawn, all) => assignX(all, position, drawn, gaps, attachments(drawn, all), resumed, isHurried(all, effort)));

  function finish(order: Int32Array, xOf: (drawn: FlatGraph, all: Elements) => Float64Array): FlatLayout {
    const { graph: drawn, elements: all, outOfOrder } = untangle(graph, elements, order, reversed, rank);
    const x = xOf(drawn, all);
    const total = moveToOrigin(x, width, nodeCount);
    centreWide(x, drawn, all, total, order, gaps);
    const { y, height, points, pointStart } = draw(drawn, all, x, reversed, rankGap);
    report(1);
    const crossings = nodeCount <= COUNTED_BOXES && effort >= COUNTED_EFFORT ? new CrossingCounter(all).count(order) : 0;
    const across = new Float64Array(edgeSource.length);
    for (let e = 0; e < across.length; e++) across[e] = all.segmentOfEdge[e] < 0 ? Number.NaN : x[all.segmentOfEdge[e]];
    const centres = x.slice(0, nodeCount);
    return { width: total, height, x: centres, y, across, rank, reversed, points, pointStart, crossings, outOfOrder: outOfOrder.length };
  }
}

/** The ranks of the drawing to keep, if they still fit the edges. */
function previousRanks({ start, edgeSource, edgeTarget }: FlatGraph): (Places & { rank: Int32Array; reversed: Uint8Array }) | undefined {
  const rank = start?.rank;
  if (!start || !rank) return undefined;
  const reversed = new Uint8Array(edgeSource.length);
  for (let e = 0; e < reversed.length; e++) {
    const [u, v] = [edgeSource[e], edgeTarget[e]];
    if (rank[u] === rank[v] && u !== v) return undefined;
    reversed[e] = rank[u] >= rank[v] ? 1 : 0;
  }
  return { x: start.x, across: start.across, rank, reversed };
}

/** Shifts everything so that the leftmost border is 0, and returns the width. */
function moveToOrigin(x: Float64Array, width: Float64Array, nodeCount: number): number {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (let v = 0; v < x.length; v++) {
    const half = v < nodeCount ? width[v] / 2 : 0;
    low = Math.min(low, x[v] - half);
    high = Math.max(high, x[v] + half);
  }
  for (let v = 0; v < x.length; v++) x[v] -= low;
  return high - low;
}

/**
 * A box that is wider than a screen and alone in its rank goes to the middle, as far as the lines beside it allow: what it is aligned with
 * is out of sight, and the room beside it would be empty on one side.
 */
function centreWide(x: Float64Array, { width, pin }: FlatGraph, elements: Elements, total: number, position: Int32Array, gaps: Gaps): void {
  if (total <= WIDEST) return;
  const { rankCount, boxCount, top } = elements;
  const boxesIn = new Int32Array(rankCount);
  for (let v = 0; v < boxCount; v++) boxesIn[top[v]]++;
  const isAlone = (v: number): boolean => v < boxCount && width[v] > WIDEST && boxesIn[top[v]] === 1;
  if (!x.some((_, v) => isAlone(v))) return;
  const [low, high] = [new Float64Array(boxCount), new Float64Array(boxCount).fill(total)];
  const separations = findSeparations(elements, position);
  const distance = distances(elements, separations, width, gaps, pin);
  for (let i = 0; i < separations.count; i++) {
    const [a, b] = [separations.left[i], separations.right[i]];
    if (isAlone(b)) low[b] = Math.max(low[b], x[a] + distance[i]);
    if (isAlone(a)) high[a] = Math.min(high[a], x[b] - distance[i]);
  }
  for (let v = 0; v < boxCount; v++) if (isAlone(v)) x[v] = Math.max(low[v], Math.min(high[v], total / 2));
}

/** Ports belong to edges; a free port counts as the middle, and so do the ends of a long edge's segment. */
function attachments({ sourcePort, targetPort }: FlatGraph, { linkUpper, linkOfEdge, segmentOfEdge }: Elements): Attachments {
  const upper = new Float64Array(linkUpper.length);
  const lower = new Float64Array(linkUpper.length);
  for (let e = 0; e < linkOfEdge.length; e++) {
    const link = linkOfEdge[e];
    if (link < 0) continue;
    if (sourcePort) upper[link] = sourcePort[e] || 0;
    if (targetPort) lower[segmentOfEdge[e] < 0 ? link : link + 1] = targetPort[e] || 0;
  }
  return { upper, lower };
}
