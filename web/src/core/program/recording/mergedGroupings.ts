/** The groups of a merged program: a ghost is in the group of the same path, and a removed group is added again for it. */
import { MODULE } from "../names";
import type { Grouping, ProgramData, SummaryData } from "../types";

/** The nodes of a merged program: after and before (-1: none), their graphs, and how far the strings of the program before are moved. */
interface MergedNodes {
  readonly after: Int32Array;
  readonly before: Int32Array;
  readonly graphAt: Int32Array;
  readonly shift: number;
}

export interface MergedGrouping {
  readonly grouping: Grouping;
  /** The number that each group of the program after has now. */
  readonly numbers: Int32Array;
}

export function mergedGrouping(
  now: ProgramData,
  old: ProgramData,
  grouping: Grouping,
  { after, before, graphAt, shift }: MergedNodes,
): MergedGrouping {
  const names = Array.from(grouping.groupName),
    parents = Array.from(grouping.groupParent),
    graphs = Array.from(grouping.groupGraph);
  const byPath = new Map<string, number>();
  const key = (graph: number, parent: number, name: string) => `${graph} ${parent} ${name}`;
  for (const [g, name] of names.entries()) byPath.set(key(graphs[g], parents[g], now.strings.at(name)), g);
  const theirs = old.groupings.find((other) => other.name === grouping.name);
  const groupOfGhost = (ghost: number, graph: number): number => {
    if (!theirs) return -1;
    const trail: number[] = [];
    for (let at = theirs.nodeGroup[ghost]; at >= 0; at = theirs.groupParent[at]) trail.push(at);
    let group = -1;
    for (let at = trail.pop(); at !== undefined; at = trail.pop()) {
      const name = theirs.groupName[at];
      const path = key(graph, group, old.strings.at(name));
      let next = byPath.get(path);
      if (next === undefined) {
        parents.push(group);
        graphs.push(graph);
        next = names.push(name + shift) - 1;
        byPath.set(path, next);
      }
      group = next;
    }
    return group;
  };
  const nodeGroup = after.map((node, i) => (node >= 0 ? grouping.nodeGroup[node] : groupOfGhost(before[i], graphAt[i])));
  const { order, numbers } = byGraph(graphs);
  const number = (group: number) => (group < 0 ? -1 : numbers[group]);
  return {
    grouping: {
      name: grouping.name,
      exact: grouping.exact,
      groupCount: names.length,
      groupName: order.map((g) => names[g]),
      groupParent: order.map((g) => number(parents[g])),
      groupGraph: order.map((g) => graphs[g]),
      nodeGroup: nodeGroup.map(number),
    },
    numbers,
  };
}

/** Groups in the order of their graphs, as readers of groupings expect them, and each one's place in it; parents stay before children. */
function byGraph(graphs: readonly number[]): { readonly order: Int32Array; readonly numbers: Int32Array } {
  const order = Int32Array.from(graphs.keys()).sort((a, b) => graphs[a] - graphs[b] || a - b);
  const numbers = new Int32Array(order.length);
  for (const [number, group] of order.entries()) numbers[group] = number;
  return { order, numbers };
}

/** A summary of the program after with the numbers that groups have in the merged program. */
export function renumbered(summary: SummaryData | undefined, merged: readonly MergedGrouping[]): SummaryData | undefined {
  const modules = merged.find(({ grouping }) => grouping.name === MODULE);
  if (!summary || !modules) return summary;
  return { ...summary, scopes: summary.scopes.map((group) => (group < 0 ? -1 : modules.numbers[group])) };
}
