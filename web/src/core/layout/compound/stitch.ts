import type { Pieces } from "./segments";
import { simplify } from "../routing/polyline";
import type { FlatLayout } from "../types";

export interface Lines {
  readonly reversed: Uint8Array;
  readonly points: Float64Array;
  readonly pointStart: Int32Array;
}

/**
 * Joins the pieces of each edge into one line from source to target. A piece that begins or ends at its container's own gate
 * is drawn out to the frame, where the next piece goes on.
 */
export function stitch(
  pieces: Pieces,
  layouts: readonly FlatLayout[],
  originX: Float64Array,
  originY: Float64Array,
  boxY: Float64Array,
  boxHeight: Float64Array,
): Lines {
  const { container, fromBox, fromGate, toBox, gateFeed, lastPieceOfEdge, piecesOf } = pieces;
  const edgeCount = lastPieceOfEdge.length;
  const localPiece = new Int32Array(container.length);
  for (let c = 0; c + 1 < piecesOf.start.length; c++) {
    for (let k = piecesOf.start[c]; k < piecesOf.start[c + 1]; k++) localPiece[piecesOf.items[k]] = k - piecesOf.start[c];
  }
  const before = (piece: number): number => (fromGate[piece] < 0 ? -1 : gateFeed[fromGate[piece]]);
  const lengthOf = (piece: number): number => {
    const { pointStart } = layouts[container[piece]];
    const local = localPiece[piece];
    return pointStart[local + 1] - pointStart[local] + (fromBox[piece] < 0 ? 1 : 0) + (toBox[piece] < 0 ? 1 : 0);
  };
  const reversed = new Uint8Array(edgeCount);
  const mostStart = new Int32Array(edgeCount + 1);
  for (let e = 0; e < edgeCount; e++) {
    let length = 0;
    for (let p = lastPieceOfEdge[e]; p >= 0; p = before(p)) {
      length += lengthOf(p);
      if (layouts[container[p]].reversed[localPiece[p]]) reversed[e] = 1;
    }
    mostStart[e + 1] = mostStart[e] + length;
  }
  const points = new Float64Array(2 * mostStart[edgeCount]);
  const pointStart = new Int32Array(edgeCount + 1);
  let out = 0;
  for (let e = 0; e < edgeCount; e++) {
    let end = mostStart[e + 1];
    for (let p = lastPieceOfEdge[e]; p >= 0; p = before(p)) {
      end -= lengthOf(p);
      writePiece(p, end);
    }
    pointStart[e] = out;
    out = simplify(points, mostStart[e], mostStart[e + 1], out);
  }
  pointStart[edgeCount] = out;
  return { reversed, points: points.slice(0, 2 * out), pointStart };

  function writePiece(piece: number, at: number): void {
    const c = container[piece];
    const layout = layouts[c];
    const local = localPiece[piece];
    const first = layout.pointStart[local];
    const last = layout.pointStart[local + 1] - 1;
    let i = 2 * at;
    if (fromBox[piece] < 0) {
      points[i++] = layout.points[2 * first] + originX[c];
      points[i++] = boxY[c];
    }
    for (let p = first; p <= last; p++) {
      points[i++] = layout.points[2 * p] + originX[c];
      points[i++] = layout.points[2 * p + 1] + originY[c];
    }
    if (toBox[piece] < 0) {
      points[i++] = layout.points[2 * last] + originX[c];
      points[i++] = boxY[c] + boxHeight[c];
    }
  }
}
