import { type Csr, bucketBy } from "../../base/csr";
import type { Problem } from "../ranks/simplex";

/** Rounds end early once nothing moves by more than a fraction of a pixel. */
const ROUNDS = 24;
const STILL = 0.25;

/**
 * Chooses the even one among equally good places. If an optimum leaves room (a box above two others may be anywhere between
 * them at the same total length), each part that can move for free goes to where its arcs are evenly stretched. `partOf` names the
 * nodes that only move together; moving a whole part within its room costs nothing, so the optimum stays one.
 */
export function balance({ count, tail, head, length, weight }: Problem, out: Csr, into: Csr, partOf: Int32Array, x: Float64Array): void {
  const members = bucketBy(partOf, count);
  for (let round = 0; round < ROUNDS; round++) {
    let most = 0;
    for (let i = 0; i < count; i++) {
      const part = round % 2 === 0 ? i : count - 1 - i;
      const first = members.start[part];
      const last = members.start[part + 1];
      if (first === last) continue;
      let low = Number.NEGATIVE_INFINITY;
      let high = Number.POSITIVE_INFINITY;
      let shift = 0;
      let strength = 0;
      for (let m = first; m < last; m++) {
        const v = members.value[m];
        for (let k = out.start[v]; k < out.start[v + 1]; k++) {
          const a = out.value[k];
          if (partOf[head[a]] === part) continue;
          const room = x[head[a]] - x[v] - length[a];
          if (room < high) high = room;
          shift += weight[a] * room;
          strength += weight[a];
        }
        for (let k = into.start[v]; k < into.start[v + 1]; k++) {
          const a = into.value[k];
          if (partOf[tail[a]] === part) continue;
          const room = x[v] - x[tail[a]] - length[a];
          if (-room > low) low = -room;
          shift -= weight[a] * room;
          strength += weight[a];
        }
      }
      if (strength === 0) continue;
      const step = Math.min(Math.max(shift / strength, Math.min(0, low)), Math.max(0, high));
      if (Math.abs(step) < STILL) continue;
      for (let m = first; m < last; m++) x[members.value[m]] += step;
      most = Math.max(most, Math.abs(step));
    }
    if (most === 0) return;
  }
}
