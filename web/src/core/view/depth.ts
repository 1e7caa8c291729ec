/** How deep to open a program that nobody gave a depth for: as deep as a page holds. */

import type { Folding } from "./fold";
import type { GroupTree } from "./tree";

const PAGE = 60;
const DEEPEST = 32;

export function fittingDepth(tree: GroupTree, graph: number, first: number, count: number, counts: (node: number) => boolean, folding: Folding | undefined): number {
  const perLevel = new Int32Array(DEEPEST + 2);
  const from = tree.firstGroup[graph];
  const hidden = new Uint8Array(tree.firstGroup[graph + 1] - from);
  for (let g = from; g < tree.firstGroup[graph + 1]; g++) {
    const above = tree.parent[g];
    const stack = folding ? folding.classOfGroup[g] : -1;
    hidden[g - from] = (above >= 0 && hidden[above - from]) || (folding && stack >= 0 && folding.first(stack) !== g) ? 1 : 0;
    if (!hidden[g - from]) perLevel[Math.min(DEEPEST, tree.depth[g])]++;
  }
  for (let n = first; n < first + count; n++) {
    const g = tree.nodeGroup[n];
    if (!counts(n) || (g >= 0 && hidden[g - from])) continue;
    perLevel[g < 0 ? 0 : Math.min(DEEPEST, tree.depth[g]) + 1]++;
  }
  let depth = 0;
  let boxes = perLevel[0];
  while (depth < DEEPEST && boxes + perLevel[depth + 1] <= PAGE) {
    depth++;
    boxes += perLevel[depth];
  }
  return depth;
}
