import { type Buckets, bucketBy } from "../../base/arrays";
import type { CompoundGraph } from "../types";

/** A list of numbers that grows; the number of pieces is not known before the edges are cut. */
class Column {
  private cells = new Int32Array(64);
  length = 0;

  push(value: number): void {
    if (this.length === this.cells.length) {
      const bigger = new Int32Array(2 * this.length);
      bigger.set(this.cells);
      this.cells = bigger;
    }
    this.cells[this.length++] = value;
  }

  get(index: number): number {
    return this.cells[index];
  }

  set(index: number, value: number): void {
    this.cells[index] = value;
  }

  done(): Int32Array {
    return this.cells.slice(0, this.length);
  }
}

/**
 * Edges cut at the frames they cross. Each frame has one gate per value and direction, so a value enters a group once and
 * fans out inside. A piece lies within one container and runs from a child (or the container's own inward gate) to a child
 * (or its own outward gate); where the child is an open group, the piece ends at that group's gate.
 *
 * Every gate is fed by one piece, so an edge is found again from its last piece backwards.
 */
export interface Pieces {
  /** Containers are numbered by box; the whole drawing is number `boxCount`. */
  readonly container: Int32Array;
  /** Child box at either end, or -1 for the container's own gate. */
  readonly fromBox: Int32Array;
  readonly toBox: Int32Array;
  /** Gate at either end (the child's, or the container's own), or -1 for a plain box end. */
  readonly fromGate: Int32Array;
  readonly toGate: Int32Array;
  /** The edge for which the piece was made; it knows the slots of plain box ends. */
  readonly edge: Int32Array;
  readonly lastPieceOfEdge: Int32Array;
  readonly gateContainer: Int32Array;
  /** 0: values come in through the gate, 1: they go out. */
  readonly gateOutward: Int32Array;
  /** The piece that feeds a gate, or -1 where the edge begins at the frame itself. */
  readonly gateFeed: Int32Array;
  readonly piecesOf: Buckets;
  readonly gatesOf: Buckets;
}

/** Depth of every box (0 at the top); iterative, since nesting is as deep as the user's program. */
export function depths(graph: CompoundGraph): Int32Array {
  const depth = new Int32Array(graph.boxCount).fill(-1);
  const path = new Int32Array(graph.boxCount);
  for (let box = 0; box < graph.boxCount; box++) {
    let length = 0;
    let b = box;
    while (b >= 0 && depth[b] < 0) {
      path[length++] = b;
      b = graph.parent[b];
    }
    let d = b < 0 ? 0 : depth[b] + 1;
    while (length > 0) depth[path[--length]] = d++;
  }
  return depth;
}

export function cutEdges(graph: CompoundGraph, depth: Int32Array): Pieces {
  const { boxCount, parent, edgeSource, edgeTarget } = graph;
  const root = boxCount;
  const container = new Column();
  const fromBox = new Column();
  const toBox = new Column();
  const fromGate = new Column();
  const toGate = new Column();
  const edge = new Column();
  const gateContainer = new Column();
  const gateOutward = new Column();
  const gateFeed = new Column();
  const lastPieceOfEdge = new Int32Array(edgeSource.length).fill(-1);
  const gateOf = [new Int32Array(boxCount), new Int32Array(boxCount)];
  const stamp = [new Int32Array(boxCount).fill(-1), new Int32Array(boxCount).fill(-1)];

  const addPiece = (where: number, from: number, gateFrom: number, to: number, gateTo: number, e: number): number => {
    container.push(where < 0 ? root : where);
    fromBox.push(from);
    fromGate.push(gateFrom);
    toBox.push(to);
    toGate.push(gateTo);
    edge.push(e);
    return container.length - 1;
  };
  const addGate = (where: number, outward: number, value: number): number => {
    const gate = gateContainer.length;
    gateContainer.push(where);
    gateOutward.push(outward);
    gateFeed.push(-1);
    stamp[outward][where] = value;
    gateOf[outward][where] = gate;
    return gate;
  };
  const values = valuesInOrder(graph);
  for (let i = 0; i < values.edges.length; i++) {
    const e = values.edges[i];
    const value = values.value[e];
    const s = edgeSource[e];
    const t = edgeTarget[e];
    let a = s;
    let b = t;
    while (depth[a] > depth[b]) a = parent[a];
    while (depth[b] > depth[a]) b = parent[b];
    const fromFrame = a === b && a === s && s !== t;
    const toFrame = a === b && a === t && s !== t;
    while (parent[a] !== parent[b]) {
      a = parent[a];
      b = parent[b];
    }
    const common = fromFrame ? s : toFrame ? t : parent[a];

    // Outwards: from the source up to the common container.
    let box = s;
    let gate = -1;
    while (!fromFrame && parent[box] !== common) {
      const where = parent[box];
      const known = stamp[1][where] === value;
      const out = known ? gateOf[1][where] : addGate(where, 1, value);
      if (!known) gateFeed.set(out, addPiece(where, box, gate, -1, out, e));
      box = where;
      gate = out;
    }
    if (toFrame) {
      const known = stamp[1][t] === value;
      const out = known ? gateOf[1][t] : addGate(t, 1, value);
      if (!known) gateFeed.set(out, addPiece(t, box, gate, -1, out, e));
      lastPieceOfEdge[e] = gateFeed.get(out);
      continue;
    }
    let first = box;
    let firstGate = gate;
    if (fromFrame) {
      first = -1;
      firstGate = stamp[0][s] === value ? gateOf[0][s] : addGate(s, 0, value);
    }

    // Inwards: from the target up to the common container, until a gate is met that is already fed.
    let to = t;
    let toThe = -1;
    for (;;) {
      const where = parent[to];
      let piece: number;
      let fed = true;
      let own = -1;
      if (where === common) piece = addPiece(where, first, firstGate, to, toThe, e);
      else {
        fed = stamp[0][where] === value;
        own = fed ? gateOf[0][where] : addGate(where, 0, value);
        piece = addPiece(where, -1, own, to, toThe, e);
      }
      if (toThe >= 0) gateFeed.set(toThe, piece);
      else lastPieceOfEdge[e] = piece;
      if (fed) break;
      to = where;
      toThe = own;
    }
  }
  const containers = container.done();
  const gateContainers = gateContainer.done();
  return {
    container: containers,
    fromBox: fromBox.done(),
    toBox: toBox.done(),
    fromGate: fromGate.done(),
    toGate: toGate.done(),
    edge: edge.done(),
    lastPieceOfEdge,
    gateContainer: gateContainers,
    gateOutward: gateOutward.done(),
    gateFeed: gateFeed.done(),
    piecesOf: bucketBy(containers, boxCount + 1),
    gatesOf: bucketBy(gateContainers, boxCount + 1),
  };
}

/** Edges sorted so that those of one value from one source follow each other, and a number for each such value. */
function valuesInOrder({ edgeSource, edgeValue }: CompoundGraph): { edges: Int32Array; value: Int32Array } {
  const value = new Int32Array(edgeSource.length);
  const known = new Map<number, number>();
  let count = 0;
  for (let e = 0; e < edgeSource.length; e++) {
    if (edgeValue[e] < 0) {
      value[e] = count++;
      continue;
    }
    const key = edgeValue[e] * 0x400000 + edgeSource[e];
    let number = known.get(key);
    if (number === undefined) {
      number = count++;
      known.set(key, number);
    }
    value[e] = number;
  }
  return { edges: bucketBy(value, count).items, value };
}
