/** Small programs for tests, written down as one would on paper. */

import { type MetricData, type MetricDefinition, withRatios } from "../../src/core/program/metrics";
import {
  type Csr,
  type Csr2,
  type Grouping,
  type ProgramData,
  CATEGORIES,
  type Category,
  DtypeKind,
  ROLES,
} from "../../src/core/program/types";
import { makeOps } from "./operations";

export interface NodeSketch {
  id: string;
  op?: string;
  role?: (typeof ROLES)[number];
  /** "a" is output 0 of a, "a#1" output 1, "a#*" the whole value. */
  inputs?: string[];
  /** Types of the outputs; "f32[4]" if absent. */
  types?: string[];
  /** Names of the tensors that they are, where the program's tensors have names. */
  names?: string[];
  scope?: string;
  calls?: string[];
  control?: string[];
  links?: [string, string][];
  text?: string;
  /** "elementwise" if absent. */
  category?: Category;
  /** The operand of a parameter, or the first that a loop carries. */
  place?: number;
  attrs?: Record<string, unknown>;
  groups?: Record<string, string>;
  metrics?: Record<string, number>;
}

export interface GraphSketch {
  name: string;
  nodes: NodeSketch[];
  /** What it returns. Absent: a called graph returns its last node, the entry its last node if that bundles values, otherwise nothing. */
  outputs?: string[];
}

export function makeProgram(graphs: GraphSketch[], entry = graphs[0].name): ProgramData {
  const texts: string[] = [];
  const numbers = new Map<string, number>();
  const intern = (text: string): number => {
    const number = numbers.get(text);
    if (number !== undefined) return number;
    numbers.set(text, texts.length);
    return texts.push(text) - 1;
  };
  const nodes = graphs.flatMap((graph) => graph.nodes);
  const graphStart = [0];
  for (const graph of graphs) graphStart.push(graphStart[graphStart.length - 1] + graph.nodes.length);
  const numberIn = graphs.map((graph, g) => new Map(graph.nodes.map((node, i) => [node.id, graphStart[g] + i])));
  const graphOfNode = graphs.flatMap((graph, g) => graph.nodes.map(() => g));
  const reference = (g: number, text: string): [number, number] => {
    const [id, output = "0"] = text.split("#");
    const node = numberIn[g].get(id);
    if (node === undefined) throw new Error(`no node ${id}`);
    return [node, output === "*" ? -1 : Number(output)];
  };
  const typeNumbers = new Map<string, number>();
  const typeOf = (text: string): number => {
    if (!typeNumbers.has(text)) typeNumbers.set(text, typeNumbers.size);
    return typeNumbers.get(text) as number;
  };
  const graphNumber = new Map(graphs.map((graph, g) => [graph.name, g]));
  const groupingNames = ["module", ...new Set(nodes.flatMap((node) => Object.keys(node.groups ?? {})))];
  const outputs = rows(nodes.map((node) => (node.types ?? ["f32[4]"]).map(typeOf)));
  const types = [...typeNumbers.keys()];
  const ops = [...new Set(nodes.map((node) => node.op ?? "add"))];
  return {
    name: "test",
    entry: graphNumber.get(entry) as number,
    strings: {
      get length() {
        return texts.length;
      },
      at: (i) => texts[i] ?? "",
    },
    graphCount: graphs.length,
    graphStart: Int32Array.from(graphStart),
    graphName: Int32Array.from(graphs, (graph) => intern(graph.name)),
    graphOutputs: pairs(graphs.map((graph, g) => (graph.outputs ?? lastNode(graph, entry)).map((text) => reference(g, text)))),
    nodeCount: nodes.length,
    nodeId: Int32Array.from(nodes, (node) => intern(node.id)),
    nodeOp: Int32Array.from(nodes, (node) => ops.indexOf(node.op ?? "add")),
    ops: makeOps(ops, intern),
    nodePlace: Int32Array.from(nodes, (node) => node.place ?? -1),
    nodeRole: Uint8Array.from(nodes, (node) => ROLES.indexOf(node.role ?? "op")),
    nodeCategory: Uint8Array.from(nodes, (node) => CATEGORIES.indexOf(node.category ?? "elementwise")),
    outputs,
    outputNames: rows(nodes.map((node) => (node.names ?? []).map(intern))),
    inputs: pairs(nodes.map((node, n) => (node.inputs ?? []).map((text) => reference(graphOfNode[n], text)))),
    calls: rows(nodes.map((node) => (node.calls ?? []).map((name) => graphNumber.get(name) as number))),
    control: rows(nodes.map((node, n) => (node.control ?? []).map((id) => reference(graphOfNode[n], id)[0]))),
    links: pairs(
      nodes.map((node, n) => (node.links ?? []).map(([kind, id]): [number, number] => [intern(kind), reference(graphOfNode[n], id)[0]])),
    ),
    types: {
      text: Int32Array.from(types, intern),
      dtype: Int32Array.from(types, (text) => intern(text.split("[")[0])),
      layout: Int32Array.from(types, () => intern("")),
      rank: Int32Array.from(types, (text) => sizes(text).length),
      kind: Uint8Array.from(types, (text) => (/^[su]\d/.test(text) ? DtypeKind.Integer : DtypeKind.Float)),
      bytes: Float64Array.from(types, (text) => 4 * elements(text)),
      elements: Float64Array.from(types, elements),
    },
    groupings: groupingNames.map((name) =>
      makeGrouping(
        name,
        nodes.map((node) => (name === "module" ? node.scope : node.groups?.[name]) ?? ""),
        graphOfNode,
        intern,
      ),
    ),
    nodeText: Int32Array.from(nodes, (node) => (node.text === undefined ? -1 : intern(node.text))),
    metrics: makeMetrics(nodes),
    notes: [],
    results: [],
    summary: undefined,
    looks: undefined,
    device: undefined,
    lane: undefined,
    derivatives: {},
    details: (n) => ({ attrs: nodes[n].attrs ?? {}, source: [] }),
    ownLine: () => undefined,
    findAttribute: () => undefined,
    findAttributes: () => undefined,
    findSource: () => undefined,
  };
}

/** Sums in FLOP, unless METRICS says otherwise. */
function makeMetrics(nodes: NodeSketch[]): MetricData[] {
  const names = [...new Set(nodes.flatMap((node) => Object.keys(node.metrics ?? {})))];
  const definitions = names.map(
    (name): MetricDefinition =>
      METRICS.find((metric) => metric.name === name) ?? { name, unit: "FLOP", combine: "sum", origin: "estimated" },
  );
  const plain = definitions.map((definition): MetricData => {
    const values = Float64Array.from(nodes, (node) => node.metrics?.[definition.name] ?? Number.NaN);
    return { ...definition, values, ratio: undefined };
  });
  const ratios = METRICS.filter(({ combine }) => combine.startsWith("ratio:"));
  return withRatios([...definitions, ...ratios], plain);
}

export const METRICS: readonly MetricDefinition[] = [
  { name: "bytes", unit: "B", combine: "sum", origin: "estimated" },
  { name: "device time", unit: "s", combine: "sum", origin: "measured" },
  { name: "estimated time", unit: "s", combine: "sum", origin: "estimated" },
  { name: "peak", unit: "B", combine: "max", origin: "measured" },
  { name: "step", unit: "1", combine: "last", origin: "given" },
  { name: "intensity", unit: "FLOP/B", combine: "ratio:flops/bytes", origin: "estimated" },
];

/** Groupings of the sketches that say exactly who is in a group. */
const EXACT = new Set(["partition", "qdq cluster"]);

function lastNode(graph: GraphSketch, entry: string): string[] {
  const last = graph.nodes.at(-1);
  if (!last) return [];
  return graph.name !== entry || last.op === "tuple" || last.role === "output" ? [last.id] : [];
}

function sizes(type: string): number[] {
  const inside = type.slice(type.indexOf("[") + 1, -1);
  return inside === "" ? [] : inside.split(",").map(Number);
}

const elements = (type: string): number => sizes(type).reduce((product, size) => product * size, 1);

function rows(lists: number[][]): Csr {
  const start = [0];
  for (const list of lists) start.push(start[start.length - 1] + list.length);
  return { start: Int32Array.from(start), value: Int32Array.from(lists.flat()) };
}

function pairs(lists: [number, number][][]): Csr2 {
  return { ...rows(lists.map((list) => list.map(([a]) => a))), extra: Int32Array.from(lists.flat().map(([, b]) => b)) };
}

function makeGrouping(name: string, paths: string[], graphOfNode: number[], intern: (text: string) => number): Grouping {
  const groupOf = new Map<string, number>();
  const groupName: number[] = [];
  const groupParent: number[] = [];
  const groupGraph: number[] = [];
  const nodeGroup = paths.map((path, n) => {
    let group = -1;
    const parts = path === "" ? [] : path.split("/");
    for (let i = 1; i <= parts.length; i++) {
      const key = `${graphOfNode[n]}:${parts.slice(0, i).join("/")}`;
      const parent = group;
      group = groupOf.get(key) ?? -1;
      if (group < 0) {
        group = groupName.push(intern(parts[i - 1])) - 1;
        groupParent.push(parent);
        groupGraph.push(graphOfNode[n]);
        groupOf.set(key, group);
      }
    }
    return group;
  });
  return {
    name,
    exact: EXACT.has(name),
    groupCount: groupName.length,
    groupName: Int32Array.from(groupName),
    groupParent: Int32Array.from(groupParent),
    groupGraph: Int32Array.from(groupGraph),
    nodeGroup: Int32Array.from(nodeGroup),
  };
}
