import type { EdgeParts } from "./edgeParts";
import { simplify } from "../routing/polyline";
import type { FlatLayout } from "../types";

export interface Lines {
  readonly reversed: Uint8Array;
  readonly points: Float64Array;
  readonly pointStart: Int32Array;
}

/**
 * Joins the parts of each edge into one line from source to target. A part that begins or ends at a boundary port of its container
 * extends to the frame, where the next part continues.
 */
export function stitch(
  parts: EdgeParts,
  layouts: readonly FlatLayout[],
  originX: Float64Array,
  originY: Float64Array,
  boxY: Float64Array,
  boxHeight: Float64Array,
): Lines {
  const { container, fromBox, fromBoundaryPort, toBox, boundaryPortFeed, lastPartOfEdge, partsOf } = parts;
  const edgeCount = lastPartOfEdge.length;
  const localPart = new Int32Array(container.length);
  for (let c = 0; c + 1 < partsOf.start.length; c++) {
    for (let k = partsOf.start[c]; k < partsOf.start[c + 1]; k++) localPart[partsOf.value[k]] = k - partsOf.start[c];
  }
  const before = (part: number): number => (fromBoundaryPort[part] < 0 ? -1 : boundaryPortFeed[fromBoundaryPort[part]]);
  const lengthOf = (part: number): number => {
    const { pointStart } = layouts[container[part]];
    const local = localPart[part];
    return pointStart[local + 1] - pointStart[local] + (fromBox[part] < 0 ? 1 : 0) + (toBox[part] < 0 ? 1 : 0);
  };
  const reversed = new Uint8Array(edgeCount);
  const mostStart = new Int32Array(edgeCount + 1);
  for (let e = 0; e < edgeCount; e++) {
    let length = 0;
    for (let p = lastPartOfEdge[e]; p >= 0; p = before(p)) {
      length += lengthOf(p);
      if (layouts[container[p]].reversed[localPart[p]]) reversed[e] = 1;
    }
    mostStart[e + 1] = mostStart[e] + length;
  }
  const points = new Float64Array(2 * mostStart[edgeCount]);
  const pointStart = new Int32Array(edgeCount + 1);
  let out = 0;
  for (let e = 0; e < edgeCount; e++) {
    let end = mostStart[e + 1];
    for (let p = lastPartOfEdge[e]; p >= 0; p = before(p)) {
      end -= lengthOf(p);
      writePart(p, end);
    }
    pointStart[e] = out;
    out = simplify(points, mostStart[e], mostStart[e + 1], out);
  }
  pointStart[edgeCount] = out;
  return { reversed, points: points.slice(0, 2 * out), pointStart };

  function writePart(part: number, at: number): void {
    const c = container[part];
    const layout = layouts[c];
    const local = localPart[part];
    const first = layout.pointStart[local];
    const last = layout.pointStart[local + 1] - 1;
    let i = 2 * at;
    if (fromBox[part] < 0) {
      points[i++] = layout.points[2 * first] + originX[c];
      points[i++] = boxY[c];
    }
    for (let p = first; p <= last; p++) {
      points[i++] = layout.points[2 * p] + originX[c];
      points[i++] = layout.points[2 * p + 1] + originY[c];
    }
    if (toBox[part] < 0) {
      points[i++] = layout.points[2 * last] + originX[c];
      points[i++] = boxY[c] + boxHeight[c];
    }
  }
}
