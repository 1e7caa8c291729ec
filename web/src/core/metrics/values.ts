/**
 * The numbers of a metric on nodes, graphs, groups and boxes. A node that calls other graphs and has no number has that of these graphs
 * combined. A group combines the nodes of its graph; the graphs that these call are already in their numbers.
 */
import type { MetricData } from "../program/metrics";
import { BoxKind, type Grouping, type ProgramData, type Visible } from "../program/types";
import { calleesFirst } from "../program/callees";
import { findRepeats } from "../view/groups/fold";
import { groupTree } from "../view/groups/tree";
import { memoized } from "../base/memoized";
import { traitsOf } from "../view/traits";

/** The group of each node, and the parent of each group: a grouping as in the file, or as drawn. */
export interface Groups {
  readonly parent: Int32Array;
  readonly nodeGroup: Int32Array;
}

export interface MetricValues {
  /** NaN: no number, here and below. */
  readonly node: Float64Array;
  /** For one run of each graph. */
  readonly graph: Float64Array;
  groups(groups: Groups): Float64Array;
  boxes(visible: Visible): Float64Array;
}

const valuesIn = memoized((program: ProgramData) =>
  memoized(
    (metric: MetricData): MetricValues =>
      metric.ratio
        ? ratioOf(valuesOf(program, metric.ratio[0]), combined(program, { ...metric.ratio[1], values: ofKnown(program, ...metric.ratio) }))
        : combined(program, metric),
  ),
);

export function valuesOf(program: ProgramData, metric: MetricData): MetricValues {
  return valuesIn(program)(metric);
}

function ratioOf(above: MetricValues, below: MetricValues): MetricValues {
  const divided = (a: Float64Array, b: Float64Array) => a.map((value, i) => (b[i] === 0 ? Number.NaN : value / b[i]));
  return {
    node: divided(above.node, below.node),
    graph: divided(above.graph, below.graph),
    groups: (groups) => divided(above.groups(groups), below.groups(groups)),
    boxes: (visible) => divided(above.boxes(visible), below.boxes(visible)),
  };
}

/** What a ratio divides by: of operations that have a number above the line, so that FLOPs are not divided by the bytes of others. */
function ofKnown(program: ProgramData, above: MetricData, below: MetricData): Float64Array {
  const { calls, graphCount, graphStart } = program;
  const whole = valuesOf(program, below).graph;
  const part = new Float64Array(graphCount);
  const known = below.values.slice();
  for (const g of calleesFirst(program)) {
    for (let n = graphStart[g]; n < graphStart[g + 1]; n++) {
      let [inside, knownInside] = [0, 0];
      for (let c = calls.start[n]; c < calls.start[n + 1]; c++) {
        inside += whole[calls.value[c]] || 0;
        knownInside += part[calls.value[c]];
      }
      if (inside > 0) known[n] *= knownInside / inside;
      else if (Number.isNaN(above.values[n])) known[n] = Number.NaN;
      part[g] += Number.isNaN(known[n]) ? knownInside : known[n];
    }
  }
  return known;
}

function combined(program: ProgramData, metric: MetricData): MetricValues {
  const { calls, graphCount, graphStart } = program;
  const combine = COMBINE[metric.combine] ?? sum;
  const node = metric.values.slice();
  const graph = new Float64Array(graphCount).fill(Number.NaN);
  for (const g of calleesFirst(program)) {
    for (let n = graphStart[g]; n < graphStart[g + 1]; n++) {
      for (let c = calls.start[n]; c < calls.start[n + 1] && Number.isNaN(metric.values[n]); c++)
        node[n] = combine(node[n], graph[calls.value[c]]);
      graph[g] = combine(graph[g], node[n]);
    }
  }
  const groups = ({ parent, nodeGroup }: Groups): Float64Array => {
    if (combine === last) return lastOfGroups(node, parent, nodeGroup);
    const group = new Float64Array(parent.length).fill(Number.NaN);
    for (let n = 0; n < node.length; n++) if (nodeGroup[n] >= 0) group[nodeGroup[n]] = combine(group[nodeGroup[n]], node[n]);
    for (let g = parent.length - 1; g >= 0; g--) if (parent[g] >= 0) group[parent[g]] = combine(group[parent[g]], group[g]);
    return group;
  };
  return { node, graph, groups, boxes: (visible) => boxValues(program, visible, { node, graph, groups }, combine) };
}

type Combine = (total: number, value: number) => number;

const sum: Combine = (total, value) => (Number.isNaN(value) ? total : Number.isNaN(total) ? value : total + value);
const max: Combine = (total, value) => (Number.isNaN(value) || total >= value ? total : value);
const last: Combine = (total, value) => (Number.isNaN(value) ? total : value);
const COMBINE: Readonly<Record<string, Combine>> = { sum, max, last };

/** The number of the last node in a group, or in a group inside it, that has one. */
function lastOfGroups(node: Float64Array, parent: Int32Array, nodeGroup: Int32Array): Float64Array {
  const at = new Int32Array(parent.length).fill(-1);
  for (let n = 0; n < node.length; n++) if (nodeGroup[n] >= 0 && !Number.isNaN(node[n])) at[nodeGroup[n]] = n;
  for (let g = parent.length - 1; g >= 0; g--) if (parent[g] >= 0 && at[g] > at[parent[g]]) at[parent[g]] = at[g];
  return Float64Array.from(at, (n) => (n < 0 ? Number.NaN : node[n]));
}

function boxValues(program: ProgramData, visible: Visible, values: Omit<MetricValues, "boxes">, combine: Combine): Float64Array {
  const traits = traitsOf(program);
  const tree = groupTree(traits, program.groupings[visible.grouping]);
  const group = values.groups(tree);
  const value = (item: number): number => (item < tree.groupCount ? group[item] : values.node[item - tree.groupCount]);
  return Float64Array.from(visible.kind, (kind, box) => {
    const node = visible.node[box];
    if (kind === BoxKind.Value || kind === BoxKind.Omitted || kind === BoxKind.Stub) return Number.NaN;
    if (kind === BoxKind.Call && visible.group[box] >= 0) return values.graph[visible.group[box]];
    if (kind === BoxKind.Group && visible.group[box] < 0) return values.graph[visible.graph];
    if (node < 0 && visible.group[box] < 0) return Number.NaN;
    const item = node >= 0 ? tree.groupCount + node : visible.group[box];
    if (kind !== BoxKind.Stack) return value(item);
    const repeats = findRepeats(traits, tree);
    return repeats.members(repeats.stackOf[item]).reduce((total, member) => combine(total, value(member)), Number.NaN);
  });
}

/** The repeats of a stack: groups, or nodes (the other is -1); none of another box. */
export function repeatsAt(program: ProgramData, visible: Visible, box: number): { group: number; node: number }[] {
  if (visible.kind[box] !== BoxKind.Stack) return [];
  const traits = traitsOf(program);
  const tree = groupTree(traits, program.groupings[visible.grouping]);
  const repeats = findRepeats(traits, tree);
  const item = visible.node[box] >= 0 ? tree.groupCount + visible.node[box] : visible.group[box];
  return Array.from(repeats.members(repeats.stackOf[item]), (member) =>
    member < tree.groupCount ? { group: member, node: -1 } : { group: -1, node: member - tree.groupCount },
  );
}

/** Which of the repeats of a stack has how much. */
export function repeatValues(
  program: ProgramData,
  metric: MetricData,
  visible: Visible,
  box: number,
): { group: number; node: number; value: number }[] {
  const repeats = repeatsAt(program, visible, box);
  if (repeats.length === 0) return [];
  const values = valuesOf(program, metric);
  const ofGroup = values.groups(groupTree(traitsOf(program), program.groupings[visible.grouping]));
  return repeats.map(({ group, node }) => ({ group, node, value: node < 0 ? ofGroup[group] : values.node[node] }));
}

/** A grouping as it is drawn: nodes that declare no group are in the one that uses them. Groups around everything keep their nodes. */
export function drawnGroups(program: ProgramData, grouping: Grouping): Groups {
  const drawn = groupTree(traitsOf(program), grouping).nodeGroup;
  return { parent: grouping.groupParent, nodeGroup: drawn.map((group, node) => (group >= 0 ? group : grouping.nodeGroup[node])) };
}
