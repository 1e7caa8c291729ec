/**
 * What a graph costs, as an icicle: its groups level by level and its nodes below them, each as wide as its share of a metric. The
 * heaviest comes first.
 */
import type { MetricData } from "../program/metrics";
import type { Grouping, ProgramData } from "../program/types";
import { bucketBy } from "../base/csr";
import { drawnGroups, valuesOf } from "./values";

/** A group or a node. */
export interface IcicleCell {
  /** -1 for a node, and for the graph itself. */
  readonly group: number;
  /** -1 for a group. */
  readonly node: number;
  readonly depth: number;
  /** Where it begins and how wide it is; the icicle is 1 wide. */
  readonly from: number;
  readonly width: number;
  readonly value: number;
}

export interface Icicle {
  /** Of the whole graph. */
  readonly total: number;
  readonly cells: readonly IcicleCell[];
}

/** The icicle of a graph, or of one group in it (`root`). What is narrower than `least` is left out. */
export function icicleOf(program: ProgramData, grouping: Grouping, metric: MetricData, graph: number, root: number, least: number): Icicle {
  const values = valuesOf(program, metric);
  const groups = drawnGroups(program, grouping);
  const ofGroup = values.groups(groups);
  const total = values.graph[graph];
  const whole = root < 0 ? total : ofGroup[root];
  if (!(whole > 0)) return { total: Math.max(0, total || 0), cells: [] };
  const { graphStart } = program;
  // What is inside: row 0 is the graph, row g + 1 the group g.
  const inGroup = bucketBy(
    groups.parent.map((above, g) => (grouping.groupGraph[g] === graph ? above + 1 : -1)),
    grouping.groupCount + 1,
  );
  const inNode = bucketBy(
    groups.nodeGroup.subarray(graphStart[graph], graphStart[graph + 1]).map((group) => group + 1),
    grouping.groupCount + 1,
  );
  const cells: IcicleCell[] = [{ group: root, node: -1, depth: 0, from: 0, width: 1, value: whole }];
  for (let at = 0; at < cells.length; at++) {
    const { group, node, depth, from } = cells[at];
    if (node >= 0) continue;
    const row = group + 1;
    const inside = [
      ...Array.from(inGroup.value.subarray(inGroup.start[row], inGroup.start[row + 1]), (g) => ({ group: g, node: -1, value: ofGroup[g] })),
      ...Array.from(inNode.value.subarray(inNode.start[row], inNode.start[row + 1]), (n) => ({
        group: -1,
        node: graphStart[graph] + n,
        value: values.node[graphStart[graph] + n],
      })),
    ].filter(({ value }) => value / whole >= least);
    inside.sort((a, b) => b.value - a.value);
    let x = from;
    for (const each of inside) {
      const width = each.value / whole;
      cells.push({ ...each, depth: depth + 1, from: x, width });
      x += width;
    }
  }
  return { total, cells };
}
