/** What the details panel shows about a node or a group. */
import { nameAndClass } from "../../core/program/names";
import type { Highlighter } from "../../core/highlight/highlighter";
import { metricsOf } from "../../core/metrics/counted";
import { unknownOf } from "../../core/metrics/unknown";
import { shareOfNode, sharesOf } from "../../core/metrics/shares";
import { spreadText } from "../../core/metrics/spread";
import { valuesOf } from "../../core/metrics/values";
import type { MetricData } from "../../core/program/metrics";
import { BoxKind, CATEGORIES, type NodeDetails, type ProgramData, ROLES, type Visible } from "../../core/program/types";
import { plural, tensorName, valueType } from "../../core/view/boxes/texts";
import type { FoldedOperands } from "../../core/view/foldedOperands";
import { originsOf } from "../../core/view/boxes/parameterOrigins";
import { contentsOf } from "../../core/view/boxes/root";
import { ROOT_KEY } from "../../core/view/choose/keys";
import { traitsOf } from "../../core/view/traits";
import { isArgument, Role } from "../../core/program/roles";
import { groupTree, optimizerState } from "../../core/view/groups/tree";
import { metricText } from "../../core/metrics/changes";
import type { ProgramIndex } from "../../core/program/programIndex";
import type { GroupFacts, MetricFact, NodeFacts, NodeName, OpCount, ParameterCounts, ProgramSummary } from "./protocol";
import { graphRow, nodeName } from "./names";

/** Lists in the panel end after this many; the count says how many there are. */
export const MOST_LISTED = 200;
const MOST_OPS = 60;

export function nodeFacts(
  index: ProgramIndex,
  node: number,
  details: NodeDetails | undefined,
  scope: readonly string[],
): Omit<NodeFacts, "metrics" | keyof FoldedOperands> {
  const { program } = index;
  const { inputs, outputs, types, calls, control, links } = program;
  const users = index.users;
  const row = <T>(start: Int32Array, at: number, make: (i: number) => T): T[] => {
    const end = Math.min(start[at + 1], start[at] + MOST_LISTED);
    return Array.from({ length: Math.max(0, end - start[at]) }, (_, i) => make(start[at] + i));
  };
  const graph = index.graphOf[node];
  return {
    ...nodeName(index, node),
    role: ROLES[program.nodeRole[node]],
    category: CATEGORIES[program.nodeCategory[node]],
    scope,
    isReturned: isReturned(index, graph, node),
    outputs: row(outputs.start, node, (i) => ({
      type: valueType(program, outputs.value[i], true),
      bytes: types.bytes[outputs.value[i]],
      name: tensorName(program, node, i - outputs.start[node]) ?? "",
    })),
    inputs: row(inputs.start, node, (i) => ({
      ...nodeName(index, inputs.value[i]),
      type: inputType(index, inputs.value[i], inputs.extra[i]),
      output: inputs.extra[i],
    })),
    inputCount: inputs.start[node + 1] - inputs.start[node],
    users: row(users.start, node, (i) => nodeName(index, users.value[i])),
    userCount: users.start[node + 1] - users.start[node],
    control: row(control.start, node, (i) => nodeName(index, control.value[i])),
    links: row(links.start, node, (i) => ({ ...nodeName(index, links.extra[i]), kind: index.text(links.value[i]) })),
    calls: row(calls.start, node, (i) => graphRow(index, calls.value[i])),
    calledBy: row(index.callers.start, graph, (i) => nodeName(index, index.callers.value[i])),
    ...originFacts(index, graph, node),
    attrs: Object.entries(details?.attrs ?? {}),
    source: details?.source ?? [],
  };
}

/** A number as text, with its share of the graph that is shown; `unknown` is how many operations it lacks: a sum is then a lower bound. */
export function metricFact(metric: MetricData, value: number, share = Number.NaN, unknown = 0): MetricFact {
  const { name, origin, combine } = metric;
  const bound = unknown > 0 && combine === "sum" && value > 0 ? "at least " : "";
  const text = bound + metricText(metric, value) + (unknown > 0 ? `, ${plural(unknown, "operation")} unknown` : "");
  return { name, text, origin, share: combine === "sum" && Number.isFinite(share) ? share : Number.NaN };
}

/** The value of each metric at a node, with its share of what is shown; of node data, the text in the file. */
export function nodeMetrics(index: ProgramIndex, { runs }: Highlighter, node: number, visible: Visible | undefined): MetricFact[] {
  const { program } = index;
  const computed = program.metrics.map((metric) => {
    const values = valuesOf(program, metric);
    return {
      value: values.node[node],
      fact: metricFact(
        metric,
        values.node[node],
        visible && shareOfNode(program, metric, visible, node),
        unknownOf(program, metric)?.node[node],
      ),
    };
  });
  const loaded = runs
    .filter((run) => run.has(node))
    .map((run) => ({ ...metricFact(run.metric, Number.NaN), text: run.text.get(node) ?? "" }));
  return [...computed.filter(({ value }) => !Number.isNaN(value)).map(({ fact }) => fact), ...loaded];
}

/** The value of each metric for a group or a called graph. */
export function boxMetrics(index: ProgramIndex, { metrics }: Highlighter, visible: Visible, box: number): MetricFact[] {
  const { program } = index;
  const sizes = metricsOf(program).filter(({ name }) => name === "output bytes");
  return [...metrics, ...sizes].flatMap((metric) => {
    const values = valuesOf(program, metric);
    const value = values.boxes(visible)[box];
    if (Number.isNaN(value)) return [];
    const fact = metricFact(metric, value, sharesOf(program, metric, visible)?.[box], unknownOf(program, metric)?.boxes(visible)[box]);
    const spread = spreadText(program, metric, visible, box);
    return [spread ? { ...fact, spread } : fact];
  });
}

/** The value of each metric for one run of the entry. */
export function totals(program: ProgramData): MetricFact[] {
  const { entry } = program;
  return program.metrics.map((metric) =>
    metricFact(metric, valuesOf(program, metric).graph[entry], Number.NaN, unknownOf(program, metric)?.graph[entry]),
  );
}

function isReturned({ program: { graphOutputs } }: ProgramIndex, graph: number, node: number): boolean {
  return graphOutputs.value.subarray(graphOutputs.start[graph], graphOutputs.start[graph + 1]).includes(node);
}

function originFacts(index: ProgramIndex, graph: number, node: number): { origin?: NodeName } {
  if (!isArgument(index.program.nodeRole[node])) return {};
  const { start, value } = index.parameters;
  const origin = originsOf(traitsOf(index.program), graph)[value.indexOf(node, start[graph]) - start[graph]] ?? -1;
  return origin < 0 ? {} : { origin: nodeName(index, origin) };
}

function inputType(index: ProgramIndex, node: number, output: number): string {
  const { outputs, types } = index.program;
  const at = outputs.start[node] + output;
  return output >= 0 && at < outputs.start[node + 1] ? index.text(types.text[outputs.value[at]]) : index.typeText(node);
}

/** Names of the groups around a node in a grouping, from the outside in. */
export function scopeOf(index: ProgramIndex, node: number, groupingName: string): string[] {
  const { groupings } = index.program;
  const grouping = groupings.find((each) => each.name === groupingName) ?? groupings[0];
  const path: string[] = [];
  for (let g = grouping ? grouping.nodeGroup[node] : -1; g >= 0; g = grouping.groupParent[g])
    path.unshift(index.text(grouping.groupName[g]));
  return path;
}

/** The same as one text, without the classes of modules: "layer1/0/conv1". */
export function scopePath(index: ProgramIndex, node: number, groupingName: string): string {
  return scopeOf(index, node, groupingName)
    .map((name) => nameAndClass(name)[0])
    .join("/");
}

/** How often each operation (by its number) occurs. */
class Counter {
  private readonly counts = new Map<number, number>();

  add(op: number): void {
    this.counts.set(op, (this.counts.get(op) ?? 0) + 1);
  }

  rows(index: ProgramIndex): OpCount[] {
    const ranked = [...this.counts].sort((a, b) => b[1] - a[1]).slice(0, MOST_OPS);
    return ranked.map(([op, count]) => ({ op: index.text(index.program.ops.name[op]), count }));
  }
}

/** Operations of the whole program, and what its entry takes: parameters, and separately everything else (inputs, buffers). */
export function programFacts(index: ProgramIndex): Pick<ProgramSummary, "ops" | keyof ParameterCounts | "others" | "otherBytes"> {
  const { nodeCount, nodeOp, nodeRole, graphStart, entry } = index.program;
  const ops = new Counter();
  for (let n = 0; n < nodeCount; n++) if (nodeRole[n] === Role.Op) ops.add(nodeOp[n]);
  const counts = { parameters: 0, parameterElements: 0, parameterBytes: 0 };
  let others = 0,
    otherBytes = 0;
  for (let n = graphStart[entry]; n < graphStart[entry + 1]; n++) {
    if (!isArgument(nodeRole[n])) continue;
    if (nodeRole[n] === Role.Parameter) countParameter(index, n, counts);
    else {
      others++;
      otherBytes += index.bytes(n);
    }
  }
  return { ops: ops.rows(index), ...counts, others, otherBytes };
}

function countParameter(index: ProgramIndex, node: number, counts: { -readonly [K in keyof ParameterCounts]: number }): void {
  const { outputs, types } = index.program;
  counts.parameters++;
  counts.parameterElements += Math.max(0, types.elements[outputs.value[outputs.start[node]]] ?? 0);
  counts.parameterBytes += index.bytes(node);
}

function mapCounts(counts: ParameterCounts, to: (count: number) => number): ParameterCounts {
  return {
    parameters: to(counts.parameters),
    parameterElements: to(counts.parameterElements),
    parameterBytes: to(counts.parameterBytes),
  };
}

/** How many operations each box contains, as the titles of groups count them; a stack counts every repeat. */
export function operationsInside(index: ProgramIndex, visible: Visible, groupingName: string | undefined): Int32Array {
  const { program } = index;
  const grouping = program.groupings.find((each) => each.name === groupingName) ?? program.groupings[0];
  const counts = visible.nodesInside.slice();
  if (!grouping) return counts;
  const traits = traitsOf(program);
  const { opCount } = groupTree(traits, grouping);
  for (let box = 0; box < visible.boxCount; box++) {
    const kind = visible.kind[box];
    if (kind !== BoxKind.Group && kind !== BoxKind.Stack) continue;
    if (visible.group[box] >= 0) counts[box] = opCount[visible.group[box]] * visible.repeat[box];
    else if (visible.key[box] === ROOT_KEY) counts[box] = contentsOf(traits, visible.graph).operations;
  }
  return counts;
}

/**
 * A collapsed or expanded container: what is inside, and which values cross its border. Parameters of called graphs are operands, not the
 * model's parameters. A box inside an open stack is one of its repeats, which are all equal.
 */
export function groupFacts(index: ProgramIndex, visible: Visible, box: number, operations: number): Omit<GroupFacts, "metrics"> {
  const { program } = index;
  const inside = nodesIn(visible, box, program.nodeCount);
  const ops = new Counter();
  const shownFrom = program.graphStart[visible.graph],
    shownTo = program.graphStart[visible.graph + 1];
  const counts = { parameters: 0, parameterElements: 0, parameterBytes: 0 };
  const state = { parameters: 0, parameterElements: 0, parameterBytes: 0 };
  const isState = optimizerState(traitsOf(program));
  let nodes = 0,
    called = 0;
  const inputs = new Map<number, NodeName>(),
    outputs = new Map<number, NodeName>();
  const users = index.users;
  for (let n = 0; n < program.nodeCount; n++) {
    if (!inside[n]) continue;
    nodes++;
    if (n < shownFrom || n >= shownTo) called++;
    else if (program.nodeRole[n] === Role.Parameter) countParameter(index, n, isState[n] ? state : counts);
    if (ROLES[program.nodeRole[n]] === "op") ops.add(program.nodeOp[n]);
    for (let i = program.inputs.start[n]; i < program.inputs.start[n + 1]; i++) {
      const from = program.inputs.value[i];
      if (!inside[from] && inputs.size < MOST_LISTED && !inputs.has(from)) inputs.set(from, nodeName(index, from));
    }
    for (let i = users.start[n]; i < users.start[n + 1] && outputs.size < MOST_LISTED; i++) {
      if (inside[users.value[i]]) continue;
      outputs.set(n, nodeName(index, n));
      break;
    }
  }
  const path: string[] = [];
  let around = 1;
  for (let at = visible.parent[box]; at >= 0; at = visible.parent[at]) {
    path.unshift(visible.title[at]);
    around *= visible.repeat[at];
  }
  const one = (count: number) => Math.round(count / around);
  return {
    key: visible.key[box],
    title: visible.title[box],
    subtitle: visible.subtitle[box],
    path,
    operations,
    nodes: one(Math.max(nodes, visible.nodesInside[box])),
    called: one(called),
    repeat: visible.repeat[box],
    around,
    ...mapCounts(counts, one),
    state: mapCounts(state, one),
    ops: ops.rows(index).map(({ op, count }) => ({ op, count: one(count) })),
    inputs: [...inputs.values()],
    outputs: [...outputs.values()],
  };
}

/** Which nodes are visible in a box or in boxes inside it. */
export function nodesIn(visible: Visible, box: number, nodeCount: number): Uint8Array {
  const within = new Int8Array(visible.boxCount);
  const isWithin = (at: number): boolean => {
    const trail: number[] = [];
    let answer = false;
    for (; at >= 0; at = visible.parent[at]) {
      if (at === box || within[at] === 1) {
        answer = true;
        break;
      }
      if (within[at] === -1) break;
      trail.push(at);
    }
    for (const passed of trail) within[passed] = answer ? 1 : -1;
    return answer;
  };
  const inside = new Uint8Array(nodeCount);
  for (let n = 0; n < nodeCount; n++) if (visible.boxOfNode[n] >= 0 && isWithin(visible.boxOfNode[n])) inside[n] = 1;
  return inside;
}
