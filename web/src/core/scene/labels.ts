/** Small texts on edges. */
import type { SceneLabel } from "./types";

/** A shorter line would vanish under its label. */
const ROOM = 26;

/** "×3" on lines that stand for several: near the source, where it lies on the ground that the source lies on. */
export function countLabels(
  merged: Int32Array, source: Int32Array, parent: Int32Array, curve: Float64Array, curveStart: Int32Array,
): SceneLabel[] {
  const labels: SceneLabel[] = [];
  for (let e = 0; e < merged.length; e++) {
    const pieces = (curveStart[e + 1] - curveStart[e] - 1) / 3;
    if (merged[e] < 2 || pieces < 1 || source[e] < 0) continue;
    const p = curveStart[e];
    const length = Math.hypot(curve[2 * p + 6] - curve[2 * p], curve[2 * p + 7] - curve[2 * p + 1]);
    if (length < ROOM) continue;
    labels.push({ edge: e, x: halfway(curve, p, 0), y: halfway(curve, p, 1), text: `×${merged[e]}`, kind: "count", ground: parent[source[e]] });
  }
  return labels;
}

function halfway(curve: Float64Array, p: number, axis: 0 | 1): number {
  const at = (i: number) => curve[2 * (p + i) + axis];
  return (at(0) + 3 * at(1) + 3 * at(2) + at(3)) / 8;
}
