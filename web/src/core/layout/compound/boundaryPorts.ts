import { sortByKey } from "../../base/arrays";
import type { EdgeParts } from "./edgeParts";
import type { FlatLayout } from "../types";

/**
 * Writes the order that the boundary ports of each frame would have if only the outside counted: by the place where their lines come
 * from or go to. One direction at a time (`outward` 0 or 1), or two frames would adopt each other's order forever. Nothing is
 * written for boundary ports with nothing outside, or without another on the same border. `operandPlace` has where edges
 * enter in the order of operands: one that is drawn elsewhere prefers the other side, past those that it should change places with.
 */
export function outsideOrder(
  parts: EdgeParts,
  layouts: readonly FlatLayout[],
  originX: Float64Array,
  outward: number,
  order: Float64Array,
  operandPlace: Float64Array,
): void {
  const { container, edge, fromBoundaryPort, fromBox, toBoundaryPort, toBox, boundaryPortsOf, boundaryPortOutward, partsOf } = parts;
  const ports = boundaryPortOutward.length;
  const sum = new Float64Array(ports);
  const count = new Int32Array(ports);
  const note = (port: number, x: number): void => {
    sum[port] += x;
    count[port]++;
  };
  for (let c = 0; c + 1 < partsOf.start.length; c++) {
    const first = partsOf.start[c];
    for (let k = first; k < partsOf.start[c + 1]; k++) {
      const p = partsOf.value[k];
      const { points, pointStart } = layouts[container[p]];
      const start = pointStart[k - first];
      const end = pointStart[k - first + 1] - 1;
      if (outward === 0 && toBoundaryPort[p] >= 0 && toBox[p] >= 0) note(toBoundaryPort[p], originX[c] + points[2 * start]);
      if (outward === 1 && fromBoundaryPort[p] >= 0 && fromBox[p] >= 0) {
        const drawn = originX[c] + points[2 * end];
        const place = toBoundaryPort[p] < 0 ? operandPlace[edge[p]] : Number.NaN;
        note(fromBoundaryPort[p], Number.isNaN(place) ? drawn : 2 * place - drawn);
      }
    }
  }
  const place = sum.map((total, port) => total / count[port]);
  const side = new Int32Array(ports);
  const spare = new Int32Array(ports);
  for (let c = 0; c + 1 < boundaryPortsOf.start.length; c++) {
    let size = 0;
    for (let k = boundaryPortsOf.start[c]; k < boundaryPortsOf.start[c + 1]; k++)
      if (count[boundaryPortsOf.value[k]] > 0) side[size++] = boundaryPortsOf.value[k];
    if (size < 2) continue;
    sortByKey(side, 0, size, place, spare);
    for (let i = 0; i < size; i++) order[side[i]] = i;
  }
}
