import type { FlatGraph, FlatLayout, Places } from "../types";

/** From this size (boxes and edges) on, expanding or collapsing something leaves the rest of a drawing as it is: people would get lost otherwise. */
const LARGE = 4000;
const MOST_DRAWINGS = 4;
const MOST_CHANGED = 8;

export function isLarge({ nodeCount, edgeSource }: FlatGraph): boolean {
  return nodeCount + edgeSource.length >= LARGE;
}

/** The last few large drawings, for the next one that differs from one of them only in the size of a few boxes and their edges. */
export class EarlierDrawings {
  private readonly drawings: { readonly graph: FlatGraph; readonly layout: FlatLayout }[] = [];

  keep(graph: FlatGraph, layout: FlatLayout): void {
    this.drawings.unshift({ graph, layout });
    this.drawings.length = Math.min(this.drawings.length, MOST_DRAWINGS);
  }

  /** Where boxes and edges were in the latest drawing that resembles this one. */
  placesFor(graph: FlatGraph): Places | undefined {
    for (const { graph: before, layout } of this.drawings) {
      const changed = changedBoxes(before, graph);
      const across = changed && sameWays(before, graph, changed, layout);
      if (across) return { x: layout.x, across, rank: layout.rank };
    }
    return undefined;
  }
}

function changedBoxes(before: FlatGraph, after: FlatGraph): Uint8Array | undefined {
  const { nodeCount } = after;
  if (before.nodeCount !== nodeCount) return undefined;
  const changed = new Uint8Array(nodeCount);
  let count = 0;
  for (let v = 0; v < nodeCount; v++) {
    if (before.pin?.[v] !== after.pin?.[v]) return undefined;
    if (before.width[v] === after.width[v] && before.height[v] === after.height[v]) continue;
    changed[v] = 1;
    if (++count > MOST_CHANGED) return undefined;
  }
  return changed;
}

/** Where edges pass ranks: edges as before in the same order; those at changed boxes as one did between the same two boxes. */
function sameWays(before: FlatGraph, after: FlatGraph, changed: Uint8Array, { x, across }: FlatLayout): Float64Array | undefined {
  const isChanged = ({ edgeSource, edgeTarget }: FlatGraph, e: number): boolean => changed[edgeSource[e]] + changed[edgeTarget[e]] > 0;
  const wayBetween = new Map<number, number>();
  const key = ({ nodeCount, edgeSource, edgeTarget }: FlatGraph, e: number): number => edgeSource[e] * nodeCount + edgeTarget[e];
  const old = before.edgeSource.length;
  for (let e = 0; e < old; e++) if (isChanged(before, e)) wayBetween.set(key(before, e), across[e]);
  const ways = new Float64Array(after.edgeSource.length);
  let at = 0;
  for (let e = 0; e < ways.length; e++) {
    if (isChanged(after, e)) {
      const way = wayBetween.get(key(after, e));
      if (way === undefined) return undefined;
      ways[e] = Number.isNaN(way) ? x[after.edgeSource[e]] : way;
      continue;
    }
    while (at < old && isChanged(before, at)) at++;
    if (at === old || key(before, at) !== key(after, e)) return undefined;
    ways[e] = across[at++];
  }
  return ways;
}
