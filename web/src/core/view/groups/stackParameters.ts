/**
 * Parameters with a single user (the weights of a step that calls its forward half). Drawn one by one they would be a row across
 * the page, and show nothing that a stack of them does not.
 */

import { CATEGORIES } from "../../program/types";
import { TripleMap } from "../../base/csr";
import { Input } from "../ops/inputs";
import type { Traits } from "../traits";
import { isArgument, Role } from "../../program/roles";

/** Fewer than this are drawn one by one. */
const LEAST = 8;
/** Leaves are what people look for in an autograd graph. */
const LEAF = CATEGORIES.indexOf("leaf");

/** The only user of `node`, or -1. */
export function onlyUser({ index: { uses } }: Traits, node: number): number {
  const from = uses.start[node];
  for (let i = from + 1; i < uses.start[node + 1]; i++) if (uses.value[i] !== uses.value[from]) return -1;
  return from < uses.start[node + 1] ? uses.value[from] : -1;
}

/** The number of each parameter's stack, or -1. `container` is the container of each node. */
export function stackedParameters(traits: Traits, container: Int32Array): Int32Array {
  const { program, small, inputKind } = traits;
  const { isOutput } = traits.index;
  const { nodeCount, nodeRole, nodeCategory } = program;
  const rows = new TripleMap();
  const row = new Int32Array(nodeCount).fill(-1);
  const size: number[] = [];
  for (let n = 0; n < nodeCount; n++) {
    if (!isArgument(nodeRole[n]) || nodeCategory[n] === LEAF || small.is[n] || isOutput[n] || inputKind[n] === Input.Data) continue;
    const user = onlyUser(traits, n);
    if (user < 0 || nodeRole[user] !== Role.Op) continue;
    row[n] = rows.number(container[n], user, 0);
    size[row[n]] = (size[row[n]] ?? 0) + 1;
  }
  for (let n = 0; n < nodeCount; n++) if (row[n] >= 0 && size[row[n]] < LEAST) row[n] = -1;
  return row;
}
