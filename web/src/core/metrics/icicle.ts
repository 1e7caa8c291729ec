/**
 * What a graph costs, as an icicle: its groups level by level and its nodes below them, each as wide as its share of a metric. The
 * heaviest comes first.
 */
import type { MetricData } from "../program/metrics";
import type { Grouping, ProgramData } from "../program/types";
import { bucketBy } from "../base/csr";
import { isChange } from "../program/names";
import { grossOf } from "./changes";
import { graphsInside } from "./inside";
import { drawnGroups, valuesOf } from "./values";

/** Narrower cells could neither be seen nor hit. */
export const LEAST_WIDTH = 1 / 700;

/** How much of rounding is no overlap. */
const TOLERANCE = 1e-6;

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
  /** Of a change, with its sign; the width is how much changed in either direction. */
  readonly value: number;
}

/** A cell, and how often the numbers of its graph count. */
interface Opening extends IcicleCell {
  readonly times: number;
}

export interface Icicle {
  /** Of the whole graph. */
  readonly total: number;
  /** The same; of a change, what changed in either direction. */
  readonly gross: number;
  readonly cells: readonly IcicleCell[];
}

/**
 * The icicle of a graph with the graphs that it calls, or of one group in it (`root`). What is narrower than `least` is left out. Of a
 * change, what grew most comes first, and what shrank last.
 */
export function icicleOf(program: ProgramData, grouping: Grouping, metric: MetricData, graph: number, root: number, least: number): Icicle {
  const values = valuesOf(program, metric);
  const groups = drawnGroups(program, grouping);
  const sizes = isChange(metric) ? valuesOf(program, grossOf(metric)) : values;
  const ofGroup = values.groups(groups);
  const sizeOfGroup = isChange(metric) ? sizes.groups(groups) : ofGroup;
  const total = values.graph[graph];
  const whole = root < 0 ? sizes.graph[graph] : sizeOfGroup[root];
  if (!(whole > 0)) return { total: total || 0, gross: 0, cells: [] };
  const { graphCount, graphStart } = program;
  const { groupCount, groupGraph } = grouping;
  // What is inside: row g is the group g, and after them are the graphs.
  const inGroup = bucketBy(
    groups.parent.map((above, g) => (above >= 0 ? above : groupCount + groupGraph[g])),
    groupCount + graphCount,
  );
  const graphOf = new Int32Array(groups.nodeGroup.length);
  for (let g = 0; g < graphCount; g++) graphOf.fill(g, graphStart[g], graphStart[g + 1]);
  const inNode = bucketBy(
    groups.nodeGroup.map((group, node) => (group >= 0 ? group : groupCount + graphOf[node])),
    groupCount + graphCount,
  );
  const opened = new Set<number>();
  // A graph that is called several times is opened once: its cells would be equal.
  const rowsInside = ({ group, node, times }: Opening): { row: number; times: number }[] => {
    if (group >= 0) return [{ row: group, times }];
    const runs = node < 0 ? [{ graph, times: 1 }] : graphsInside(program, metric, node).filter((run) => !opened.has(run.graph));
    return runs.map((run) => {
      opened.add(run.graph);
      return { row: groupCount + run.graph, times: times * run.times };
    });
  };
  const cells: Opening[] = [{ group: root, node: -1, depth: 0, from: 0, width: 1, value: root < 0 ? total : ofGroup[root], times: 1 }];
  for (let at = 0; at < cells.length; at++) {
    const { depth, from, width: room } = cells[at];
    const inside = rowsInside(cells[at])
      .flatMap(({ row, times }) => [
        ...Array.from(inGroup.value.subarray(inGroup.start[row], inGroup.start[row + 1]), (g) => ({
          group: g,
          node: -1,
          value: ofGroup[g] * times,
          size: sizeOfGroup[g] * times,
          times,
        })),
        ...Array.from(inNode.value.subarray(inNode.start[row], inNode.start[row + 1]), (n) => ({
          group: -1,
          node: n,
          value: values.node[n] * times,
          size: sizes.node[n] * times,
          times,
        })),
      ])
      .filter(({ size }) => size / whole >= least);
    inside.sort((a, b) => b.value - a.value);
    // The parts of a loop can change by more than the loop.
    const sum = inside.reduce((all, { size }) => all + size, 0);
    const narrower = sum > room * whole * (1 + TOLERANCE) ? (room * whole) / sum : 1;
    let x = from;
    for (const { size, ...each } of inside) {
      const width = (size / whole) * narrower;
      cells.push({ ...each, depth: depth + 1, from: x, width });
      x += width;
    }
  }
  return { total, gross: sizes.graph[graph], cells };
}
