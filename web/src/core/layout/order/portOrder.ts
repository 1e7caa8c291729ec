/**
 * Operands enter a box side by side in their order. Where numbers at the heads say which is which, and the drawing is small, they enter
 * in the order in which they arrive instead, if fewer lines cross then.
 */
import { CrossingCounter } from "./crossingCount";
import { settled } from "./ordering";
import { buildElements, type Elements } from "../elements";
import type { FlatGraph } from "../types";

/** The most boxes of a container whose ports may change places: in a larger one, searching twice would take too long. */
export const MOST_BOXES = 60;

const mayMove = ({ targetPort, loosePorts }: FlatGraph): boolean => targetPort !== undefined && loosePorts?.includes(1) === true;

/** A graph whose edges enter in the order in which they arrive, its elements, and the boxes where that is not the order of their operands. */
export interface Untangled {
  readonly graph: FlatGraph;
  readonly elements: Elements;
  readonly outOfOrder: readonly number[];
}

export function untangle(graph: FlatGraph, elements: Elements, position: Int32Array, reversed: Uint8Array, rank: Int32Array): Untangled {
  const arrived = mayMove(graph) ? portsByArrival(graph, elements, position) : undefined;
  if (!arrived) return { graph, elements, outOfOrder: [] };
  const untangled = { ...graph, targetPort: arrived.targetPort };
  return { graph: untangled, elements: buildElements(untangled, reversed, rank), outOfOrder: arrived.outOfOrder };
}

/**
 * The best of an order, of one that is searched for without regard to the order of operands, and of these with branches mirrored: the
 * fewest crossings, then the fewest boxes whose operands are out of order.
 */
export function orderOfLoosePorts(
  graph: FlatGraph,
  elements: Elements,
  position: Int32Array,
  reversed: Uint8Array,
  rank: Int32Array,
  search: (elements: Elements) => Int32Array,
): Int32Array {
  if (!mayMove(graph)) return position;
  let best = position;
  let fewest = Number.POSITIVE_INFINITY;
  let outOfOrder: readonly number[] = [];
  const offer = (order: Int32Array): boolean => {
    const untangled = untangle(graph, elements, order, reversed, rank);
    const crossings = new CrossingCounter(untangled.elements).count(order);
    if (crossings > fewest || (crossings === fewest && untangled.outOfOrder.length >= outOfOrder.length)) return false;
    [best, fewest, outOfOrder] = [order, crossings, untangled.outOfOrder];
    return true;
  };
  offer(position);
  if (fewest > 0) offer(search({ ...elements, tiltLower: new Float64Array(elements.tiltLower.length) }));
  // What stayed since an earlier drawing keeps its order.
  if (graph.previousX || outOfOrder.length === 0) return best;
  offer(settled(elements, best.slice()));
  for (const box of outOfOrder) offer(settled(elements, withBranchesMirrored(elements, best, box)));
  return best;
}

/** An order in which the branches that meet at a box change sides: all that is upstream of one of its operands and not of all of them. */
function withBranchesMirrored({ above, linkUpper, count }: Elements, position: Int32Array, box: number): Int32Array {
  const reaches = new Int32Array(count);
  const arriving = above.value.subarray(above.start[box], above.start[box + 1]);
  for (const link of arriving) {
    const upstream = new Set([linkUpper[link]]);
    for (const v of upstream) {
      reaches[v]++;
      for (let k = above.start[v]; k < above.start[v + 1]; k++) upstream.add(linkUpper[above.value[k]]);
    }
  }
  const branches = Array.from(reaches.keys()).filter((v) => reaches[v] > 0 && reaches[v] < arriving.length);
  branches.sort((a, b) => position[a] - position[b]);
  const mirrored = position.slice();
  branches.forEach((v, i) => {
    mirrored[v] = position[branches[branches.length - 1 - i]];
  });
  return mirrored;
}

/** New target ports, and where they are not in the order of operands; nothing if they are everywhere. */
function portsByArrival(
  graph: FlatGraph,
  elements: Elements,
  position: Int32Array,
): { readonly targetPort: Float64Array; readonly outOfOrder: readonly number[] } | undefined {
  const { nodeCount, edgeTarget, width } = graph;
  const { linkOfEdge, segmentOfEdge, linkUpper, tiltUpper } = elements;
  const targetPort = graph.targetPort!;
  const arrival = (e: number): number => {
    const link = linkOfEdge[e] + (segmentOfEdge[e] < 0 ? 0 : 1);
    return position[linkUpper[link]] + tiltUpper[link] / 2;
  };
  const entering: number[][] = Array.from({ length: nodeCount }, () => []);
  for (let e = 0; e < edgeTarget.length; e++) if (graph.loosePorts![e] && linkOfEdge[e] >= 0) entering[edgeTarget[e]].push(e);
  const ports = targetPort.slice();
  const outOfOrder: number[] = [];
  entering.forEach((edges, box) => {
    const arriving = edges.sort((a, b) => arrival(a) - arrival(b));
    if (arriving.every((e, i) => i === 0 || targetPort[arriving[i - 1]] <= targetPort[e])) return;
    outOfOrder.push(box);
    const places = placesFor(arriving, targetPort, width[box]);
    for (let i = 0; i < arriving.length; i++) ports[arriving[i]] = places[i];
  });
  return outOfOrder.length === 0 ? undefined : { targetPort: ports, outOfOrder };
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
