/**
 * Operands enter a box side by side in their order. Where numbers at the heads say which is which, and the drawing is small, they enter
 * in the order in which they arrive instead, if fewer lines cross then.
 */
import { CrossingCounter } from "./crossingCount";
import { buildElements, type Elements } from "../elements";
import type { FlatGraph } from "../types";

/** The most boxes of a container whose ports may change places: in a larger one, searching twice would take too long. */
export const MOST_BOXES = 60;

const mayMove = ({ targetPort, loosePorts }: FlatGraph): boolean => targetPort !== undefined && loosePorts?.includes(1) === true;

/** The elements of a graph whose edges enter in the order in which they arrive, and that graph. */
export function untangle(
  graph: FlatGraph,
  elements: Elements,
  position: Int32Array,
  reversed: Uint8Array,
  rank: Int32Array,
): { readonly graph: FlatGraph; readonly elements: Elements } {
  const targetPort = mayMove(graph) ? portsByArrival(graph, elements, position) : undefined;
  if (!targetPort) return { graph, elements };
  const untangled = { ...graph, targetPort };
  return { graph: untangled, elements: buildElements(untangled, reversed, rank) };
}

/** The better of an order and of one that is searched for without regard to the order of operands. */
export function orderOfLoosePorts(
  graph: FlatGraph,
  elements: Elements,
  position: Int32Array,
  reversed: Uint8Array,
  rank: Int32Array,
  search: (elements: Elements) => Int32Array,
): Int32Array {
  if (!mayMove(graph)) return position;
  const crossings = (order: Int32Array): number =>
    new CrossingCounter(untangle(graph, elements, order, reversed, rank).elements).count(order);
  const fewest = crossings(position);
  if (fewest === 0) return position;
  const other = search({ ...elements, tiltLower: new Float64Array(elements.tiltLower.length) });
  return crossings(other) < fewest ? other : position;
}

/** New target ports, or nothing if all edges arrive in the order of their ports. */
function portsByArrival(graph: FlatGraph, elements: Elements, position: Int32Array): Float64Array | undefined {
  const { nodeCount, edgeTarget, width } = graph;
  const { linkOfEdge, segmentOfEdge, linkUpper, tiltUpper } = elements;
  const targetPort = graph.targetPort!;
  const arrival = (e: number): number => {
    const link = linkOfEdge[e] + (segmentOfEdge[e] < 0 ? 0 : 1);
    return position[linkUpper[link]] + tiltUpper[link] / 2;
  };
  const entering: number[][] = Array.from({ length: nodeCount }, () => []);
  for (let e = 0; e < edgeTarget.length; e++) if (graph.loosePorts![e] && linkOfEdge[e] >= 0) entering[edgeTarget[e]].push(e);
  let ports: Float64Array | undefined;
  entering.forEach((edges, box) => {
    const arriving = edges.sort((a, b) => arrival(a) - arrival(b));
    if (arriving.every((e, i) => i === 0 || targetPort[arriving[i - 1]] <= targetPort[e])) return;
    ports ??= targetPort.slice();
    const places = placesFor(arriving, targetPort, width[box]);
    for (let i = 0; i < arriving.length; i++) ports[arriving[i]] = places[i];
  });
  return ports;
}

/** The ports from left to right; the main operand stays in the middle (see `placeOperands`), with the others on both sides of it. */
function placesFor(arriving: readonly number[], targetPort: Float64Array, width: number): readonly number[] {
  const ports = arriving.map((e) => targetPort[e]);
  const sorted = [...ports].sort((a, b) => a - b);
  const main = ports.indexOf(0);
  if (main < 0 || main !== ports.lastIndexOf(0) || isEven(sorted)) return sorted;
  const left = main + 1;
  const right = ports.length - main;
  return ports.map((_, i) => (width / 2) * (i < main ? (i + 1) / left - 1 : (i - main) / right));
}

/** Do ports lie evenly on both sides of the middle? Then none of them is the main operand's, or all may change places. */
const isEven = (sorted: readonly number[]): boolean => Math.abs(sorted[0] + sorted[sorted.length - 1]) < 1e-3;
