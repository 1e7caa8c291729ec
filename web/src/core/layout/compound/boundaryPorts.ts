import { sortByKey } from "../../base/arrays";
import type { Pieces } from "./segments";
import type { FlatLayout } from "../types";

/**
 * Writes down in which order the gates of each frame would stand if only the outside counted: by the place where their lines come
 * from or go to. One direction at a time (`outward` 0 or 1), or two frames would take over each other's order for ever. Nothing is
 * written for gates with nothing outside, or nothing beside them on their border to be ordered with.
 */
export function outsideOrder(
  pieces: Pieces,
  layouts: readonly FlatLayout[],
  originX: Float64Array,
  outward: number,
  order: Float64Array,
): void {
  const { container, fromGate, fromBox, toGate, toBox, gatesOf, gateOutward, piecesOf } = pieces;
  const gates = gateOutward.length;
  const sum = new Float64Array(gates);
  const known = new Int32Array(gates);
  const note = (gate: number, x: number): void => {
    sum[gate] += x;
    known[gate]++;
  };
  for (let c = 0; c + 1 < piecesOf.start.length; c++) {
    const first = piecesOf.start[c];
    for (let k = first; k < piecesOf.start[c + 1]; k++) {
      const p = piecesOf.items[k];
      const { points, pointStart } = layouts[container[p]];
      const start = pointStart[k - first];
      const end = pointStart[k - first + 1] - 1;
      if (outward === 0 && toGate[p] >= 0 && toBox[p] >= 0) note(toGate[p], originX[c] + points[2 * start]);
      if (outward === 1 && fromGate[p] >= 0 && fromBox[p] >= 0) note(fromGate[p], originX[c] + points[2 * end]);
    }
  }
  const place = sum.map((total, gate) => total / known[gate]);
  const side = new Int32Array(gates);
  const spare = new Int32Array(gates);
  for (let c = 0; c + 1 < gatesOf.start.length; c++) {
    let size = 0;
    for (let k = gatesOf.start[c]; k < gatesOf.start[c + 1]; k++) if (known[gatesOf.items[k]] > 0) side[size++] = gatesOf.items[k];
    if (size < 2) continue;
    sortByKey(side, 0, size, place, spare);
    for (let i = 0; i < size; i++) order[side[i]] = i;
  }
}
