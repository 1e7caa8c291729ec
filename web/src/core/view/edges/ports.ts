/**
 * Where along the top of a box its operands enter: side by side in their order. The main operand, which the box continues, enters in
 * the middle, so that a chain of blocks runs straight down and does not drift with every bias and every residual.
 */

import type { Edges } from "./edges";
import type { Traits } from "../traits";
import { isArgument, Role } from "../../program/roles";

/** `drawn` lists (edge, place) with places from 1 to `count`; edges of one operand share a place. */
export function placeOperands(traits: Traits, edges: Edges, drawn: readonly number[], count: number): void {
  const main = mainPlace(traits, edges, drawn, count);
  for (let k = 0; k < drawn.length; k += 2) {
    const place = drawn[k + 1];
    edges.targetPort[drawn[k]] = main < 0 ? place / (count + 1) : portFor(place, main, count);
  }
}

/** The main operand in the middle, those before it on the left half, those after it on the right. */
function portFor(place: number, main: number, count: number): number {
  if (place === main) return 0.5;
  return place < main ? (0.5 * place) / main : 0.5 + (0.5 * (place - main)) / (count - main + 1);
}

/** An operand with this many more operations upstream than any other is the main one. */
const DEEPER = 2;

/**
 * The place of the only operand without other users (the end of a branch), or of the only one that is not a parameter or constant, or
 * of the one with the most operations upstream; -1 if none stands out, as with the two factors of a product.
 */
function mainPlace(traits: Traits, edges: Edges, drawn: readonly number[], count: number): number {
  if (count < 2) return -1;
  const { program, depth } = traits;
  const { uses } = traits.index;
  let [exclusive, exclusives, computed, computedCount] = [-1, 0, -1, 0];
  let [deepest, most, next] = [-1, -1, -1];
  for (let k = 0; k < drawn.length; k += 2) {
    const source = edges.node[drawn[k]];
    const place = drawn[k + 1];
    const role = program.nodeRole[source];
    if (depth[source] > most) [deepest, most, next] = [place, depth[source], place === deepest ? next : most];
    else if (place !== deepest && depth[source] > next) next = depth[source];
    if (isArgument(role) || role === Role.Constant) continue;
    if (place !== computed) computedCount++;
    computed = place;
    if (uses.start[source + 1] - uses.start[source] > 1) continue;
    if (place !== exclusive) exclusives++;
    exclusive = place;
  }
  if (exclusives === 1) return exclusive;
  if (computedCount === 1) return computed;
  return most - next >= DEEPER ? deepest : -1;
}
