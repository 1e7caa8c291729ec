import { sortByKey } from "../../base/arrays";
import type { Elements } from "../elements";

/** Rounds between two renumberings of places: in between, everything moves closer together, and what is apart stays apart. */
const RENUMBER_EVERY = 3;

/**
 * Moves linked elements together in the order of the whole drawing, all ranks at once: each moves half way to the mean of its
 * neighbours, and now and then places are renumbered. While sweeps consider one rank at a time, this finds which parts of the program
 * belong side by side, and it costs little more than reading the links.
 */
export function smooth(elements: Elements, position: Int32Array, rounds: number): void {
  const { count, linkUpper, linkLower, tiltUpper, tiltLower } = elements;
  const links = linkUpper.length;
  const sum = new Float64Array(count);
  const order = new Int32Array(count);
  const spare = new Int32Array(count);
  const share = new Float64Array(count);
  for (let l = 0; l < links; l++) {
    share[linkUpper[l]]++;
    share[linkLower[l]]++;
  }
  const place = Float64Array.from(position);
  for (let v = 0; v < count; v++) {
    share[v] = share[v] > 0 ? 0.5 / share[v] : 0;
    order[position[v]] = v;
  }
  for (let round = 0; round < rounds; round++) {
    sum.fill(0);
    for (let l = 0; l < links; l++) {
      const u = linkUpper[l];
      const v = linkLower[l];
      sum[u] += place[v] + tiltLower[l];
      sum[v] += place[u] + tiltUpper[l];
    }
    for (let v = 0; v < count; v++) if (share[v] > 0) place[v] = place[v] / 2 + sum[v] * share[v];
    if (round % RENUMBER_EVERY < RENUMBER_EVERY - 1 && round + 1 < rounds) continue;
    sortByKey(order, 0, count, place, spare);
    for (let i = 0; i < count; i++) place[order[i]] = i;
  }
  for (let i = 0; i < count; i++) position[order[i]] = i;
}
