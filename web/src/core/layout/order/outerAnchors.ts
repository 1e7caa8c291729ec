import { buildElements, type Elements } from "../elements";
import type { FlatGraph, Places } from "../types";

/** Boxes that keep their relative order whatever the search does with the rest. */
export interface Anchors {
  /** 1 for the elements that never move. */
  readonly fixed: Uint8Array;
  /** Those of the first rank, and those of the last one, from left to right. */
  readonly rows: readonly Int32Array[];
}

/**
 * The elements of a container's content, with one anchor outside every boundary port whose outside place is known: one more rank above
 * and below, in a fixed order. Crossings outside the frame then count like those inside.
 */
export interface Surrounded {
  readonly elements: Elements;
  readonly anchors: Anchors;
  readonly start?: Places;
  /** The order of the content alone. */
  inner(position: Int32Array): Int32Array;
}

export function surround(graph: FlatGraph, reversed: Uint8Array, rank: Int32Array): Surrounded | undefined {
  const { nodeCount, pin, boundaryPortOrder } = graph;
  if (!pin || !boundaryPortOrder) return undefined;
  const ports = Array.from(boundaryPortOrder.keys()).filter((v) => pin[v] > 0 && !Number.isNaN(boundaryPortOrder[v]));
  if (ports.length === 0) return undefined;
  ports.sort((a, b) => boundaryPortOrder[a] - boundaryPortOrder[b]);
  const count = nodeCount + ports.length;
  const down = ports.some((v) => pin[v] === 1) ? 1 : 0;
  const last = rank.reduce((most, r) => Math.max(most, r), 0) + down + 1;
  const anchorOf = (i: number): number => nodeCount + i;
  const sources = ports.map((v, i) => (pin[v] === 1 ? anchorOf(i) : v));
  const targets = ports.map((v, i) => (pin[v] === 1 ? v : anchorOf(i)));
  const none = new Float64Array(ports.length);
  const elements = buildElements(
    {
      nodeCount: count,
      width: joined(graph.width, none),
      height: joined(graph.height, none),
      edgeSource: Int32Array.of(...graph.edgeSource, ...sources),
      edgeTarget: Int32Array.of(...graph.edgeTarget, ...targets),
      sourcePort: graph.sourcePort && joined(graph.sourcePort, none),
      targetPort: graph.targetPort && joined(graph.targetPort, none),
      pin: Uint8Array.from({ length: count }, (_, v) => (v < nodeCount ? pin[v] : pin[ports[v - nodeCount]])),
    },
    Uint8Array.from({ length: reversed.length + ports.length }, (_, e) => reversed[e] ?? 0),
    Int32Array.from({ length: count }, (_, v) => (v < nodeCount ? rank[v] + down : pin[ports[v - nodeCount]] === 1 ? 0 : last)),
  );
  const fixed = new Uint8Array(elements.count);
  fixed.fill(1, nodeCount, count);
  const row = (side: number): Int32Array =>
    Int32Array.from(
      [...ports.keys()].filter((i) => pin[ports[i]] === side),
      anchorOf,
    );
  const start = graph.start && {
    x: joined(
      graph.start.x,
      Float64Array.from(ports, (v) => graph.start!.x[v]),
    ),
    across: joined(
      graph.start.across,
      none.map(() => Number.NaN),
    ),
  };
  return { elements, anchors: { fixed, rows: [row(1), row(2)] }, start, inner: (position) => without(position, nodeCount, count) };
}

/** Puts the anchors of each row into their order, on the places that they occupy. */
export function arrange({ rows }: Anchors, position: Int32Array): void {
  for (const row of rows) {
    const places = row.map((v) => position[v]).sort();
    for (let i = 0; i < row.length; i++) position[row[i]] = places[i];
  }
}

function joined(a: Float64Array, b: Float64Array): Float64Array {
  const both = new Float64Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}

/** Drops the elements from…to from an order. */
function without(position: Int32Array, from: number, to: number): Int32Array {
  const count = position.length;
  const byPosition = new Int32Array(count);
  for (let v = 0; v < count; v++) byPosition[position[v]] = v;
  const inner = new Int32Array(count - (to - from));
  let next = 0;
  for (const v of byPosition) if (v < from || v >= to) inner[v < from ? v : v - (to - from)] = next++;
  return inner;
}
