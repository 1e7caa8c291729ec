import { type Csr, bucketBy, TripleMap } from "../../base/csr";
import type { CompoundGraph } from "../types";

/** A growing list of numbers; the number of parts is unknown before the edges are cut. */
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
 * Edges cut at the frames they cross. Each frame has one boundary port per value and direction, so a value enters a group once and
 * fans out inside. A part lies within one container and runs from a child (or an inward boundary port of the container) to a child
 * (or an outward one); if the child is an open group, the part ends at that group's boundary port.
 *
 * Every boundary port is fed by one part, so an edge can be followed from its last part backwards.
 */
export interface EdgeParts {
  /** Containers are numbered by box; the whole drawing is number `boxCount`. */
  readonly container: Int32Array;
  /** Child box at either end, or -1 for a boundary port of the container. */
  readonly fromBox: Int32Array;
  readonly toBox: Int32Array;
  /** Boundary port at either end (of the child or of the container), or -1 for a plain box end. */
  readonly fromBoundaryPort: Int32Array;
  readonly toBoundaryPort: Int32Array;
  /** The edge that the part was cut from; it has the ports of plain box ends. */
  readonly edge: Int32Array;
  readonly lastPartOfEdge: Int32Array;
  readonly boundaryPortContainer: Int32Array;
  /** 0: values come in through the boundary port, 1: they go out. */
  readonly boundaryPortOutward: Int32Array;
  /** The part that feeds a boundary port, or -1 where the edge begins at the frame itself. */
  readonly boundaryPortFeed: Int32Array;
  readonly partsOf: Csr;
  readonly boundaryPortsOf: Csr;
}

/** Depth of every box (0 at the top); iterative, because nesting is as deep as the user's program. */
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

export function cutEdges(graph: CompoundGraph, depth: Int32Array): EdgeParts {
  const { boxCount, parent, edgeSource, edgeTarget } = graph;
  const root = boxCount;
  const container = new Column();
  const fromBox = new Column();
  const toBox = new Column();
  const fromBoundaryPort = new Column();
  const toBoundaryPort = new Column();
  const edge = new Column();
  const boundaryPortContainer = new Column();
  const boundaryPortOutward = new Column();
  const boundaryPortFeed = new Column();
  const lastPartOfEdge = new Int32Array(edgeSource.length).fill(-1);
  const boundaryPortOf = [new Int32Array(boxCount), new Int32Array(boxCount)];
  const stamp = [new Int32Array(boxCount).fill(-1), new Int32Array(boxCount).fill(-1)];

  const addPart = (where: number, from: number, boundaryPortFrom: number, to: number, boundaryPortTo: number, e: number): number => {
    container.push(where < 0 ? root : where);
    fromBox.push(from);
    fromBoundaryPort.push(boundaryPortFrom);
    toBox.push(to);
    toBoundaryPort.push(boundaryPortTo);
    edge.push(e);
    return container.length - 1;
  };
  const addBoundaryPort = (where: number, outward: number, value: number): number => {
    const port = boundaryPortContainer.length;
    boundaryPortContainer.push(where);
    boundaryPortOutward.push(outward);
    boundaryPortFeed.push(-1);
    stamp[outward][where] = value;
    boundaryPortOf[outward][where] = port;
    return port;
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
    let port = -1;
    while (!fromFrame && parent[box] !== common) {
      const where = parent[box];
      const exists = stamp[1][where] === value;
      const out = exists ? boundaryPortOf[1][where] : addBoundaryPort(where, 1, value);
      if (!exists) boundaryPortFeed.set(out, addPart(where, box, port, -1, out, e));
      box = where;
      port = out;
    }
    if (toFrame) {
      const exists = stamp[1][t] === value;
      const out = exists ? boundaryPortOf[1][t] : addBoundaryPort(t, 1, value);
      if (!exists) boundaryPortFeed.set(out, addPart(t, box, port, -1, out, e));
      lastPartOfEdge[e] = boundaryPortFeed.get(out);
      continue;
    }
    let first = box;
    let firstBoundaryPort = port;
    if (fromFrame) {
      first = -1;
      firstBoundaryPort = stamp[0][s] === value ? boundaryPortOf[0][s] : addBoundaryPort(s, 0, value);
    }

    // Inwards: from the target up to the common container, until a boundary port is already fed.
    let to = t;
    let toPort = -1;
    for (;;) {
      const where = parent[to];
      let part: number;
      let fed = true;
      let inward = -1;
      if (where === common) part = addPart(where, first, firstBoundaryPort, to, toPort, e);
      else {
        fed = stamp[0][where] === value;
        inward = fed ? boundaryPortOf[0][where] : addBoundaryPort(where, 0, value);
        part = addPart(where, -1, inward, to, toPort, e);
      }
      if (toPort >= 0) boundaryPortFeed.set(toPort, part);
      else lastPartOfEdge[e] = part;
      if (fed) break;
      to = where;
      toPort = inward;
    }
  }
  const containers = container.done();
  const portContainers = boundaryPortContainer.done();
  return {
    container: containers,
    fromBox: fromBox.done(),
    toBox: toBox.done(),
    fromBoundaryPort: fromBoundaryPort.done(),
    toBoundaryPort: toBoundaryPort.done(),
    edge: edge.done(),
    lastPartOfEdge,
    boundaryPortContainer: portContainers,
    boundaryPortOutward: boundaryPortOutward.done(),
    boundaryPortFeed: boundaryPortFeed.done(),
    partsOf: bucketBy(containers, boxCount + 1),
    boundaryPortsOf: bucketBy(portContainers, boxCount + 1),
  };
}

/** Edges sorted so that those of one value from one source are adjacent, and a number for each such value. */
function valuesInOrder({ edgeSource, edgeValue }: CompoundGraph): { edges: Int32Array; value: Int32Array } {
  const value = new Int32Array(edgeSource.length);
  const numbers = new TripleMap(edgeSource.length);
  for (let e = 0; e < edgeSource.length; e++)
    value[e] = edgeValue[e] < 0 ? numbers.number(edgeSource[e], -1, e) : numbers.number(edgeSource[e], edgeValue[e], 0);
  return { edges: bucketBy(value, numbers.size).value, value };
}
