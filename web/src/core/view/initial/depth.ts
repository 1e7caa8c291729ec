/** The depth of a view without a given depth: as deep as fits on a page. A module that contains everything is always open. */

import type { Folding } from "../groups/fold";
import { Forwards } from "../../program/ops";
import type { Traits } from "../traits";
import type { GroupTree } from "../groups/tree";

/** How many boxes fit on a page. */
export const PAGE = 60;
const DEEPEST = 32;

export function fittingDepth(traits: Traits, tree: GroupTree, graph: number, folding: Folding | undefined): number {
  const { graphStart } = traits.program;
  const perLevel = new Int32Array(DEEPEST + 2);
  const from = tree.firstGroup[graph];
  const hidden = new Uint8Array(tree.firstGroup[graph + 1] - from);
  for (let g = from; g < tree.firstGroup[graph + 1]; g++) {
    const above = tree.parent[g];
    const stack = folding ? folding.stackOf[g] : -1;
    hidden[g - from] = (above >= 0 && hidden[above - from]) || (folding && stack >= 0 && folding.first(stack) !== g) ? 1 : 0;
    if (!hidden[g - from]) perLevel[Math.min(DEEPEST, tree.depth[g])]++;
  }
  for (let n = graphStart[graph]; n < graphStart[graph + 1]; n++) {
    const g = tree.nodeGroup[n];
    const stack = folding ? folding.stackOf[tree.groupCount + n] : -1;
    if (folding && stack >= 0 && folding.first(stack) !== tree.groupCount + n) continue;
    if (traits.small.is[n] || traits.plumbing.kind[n] !== Forwards.Nothing || (g >= 0 && hidden[g - from])) continue;
    perLevel[g < 0 ? 0 : Math.min(DEEPEST, tree.depth[g]) + 1]++;
  }
  let depth = tree.soleLevels[graph];
  let boxes = perLevel.subarray(0, depth + 1).reduce((sum, count) => sum + count, 0);
  while (depth < DEEPEST && boxes + perLevel[depth + 1] <= PAGE) {
    depth++;
    boxes += perLevel[depth];
  }
  return depth;
}
