/**
 * The content of each field of a program, with names. Numbers of strings, types, groups and nodes may differ between two producers of
 * the same program; what they refer to may not. The table has a row for every field, so that a new one cannot be forgotten.
 */
import { opName } from "../../src/core/program/ops";
import { operandsOf, parametersOf } from "../../src/core/program/parameters";
import { CATEGORIES, type Csr, type Csr2, type Grouping, type ProgramData, ROLES } from "../../src/core/program/types";

/** The part of a program to describe: an overlay has nodes and graphs that the program after the pass does not have. */
export interface Part {
  readonly node: (node: number) => boolean;
  readonly graphs: number;
}

export function described(program: ProgramData, part: Part = { node: () => true, graphs: program.graphCount }): Record<string, unknown> {
  const { strings, types, graphStart } = program;
  const graphs = Array.from({ length: part.graphs }, (_, g) => g);
  const nodes = Array.from({ length: program.nodeCount }, (_, n) => n).filter(part.node);
  const included = new Set(nodes);
  const graphOf = (node: number) => Array.from(graphStart).filter((start) => start <= node).length - 1;
  const graphName = (graph: number) => strings.at(program.graphName[graph]);
  const id = (node: number) => `${graphName(graphOf(node))}/${strings.at(program.nodeId[node])}`;
  const text = (number: number) => (number < 0 ? number : strings.at(number));
  const perNode = (say: (node: number) => unknown) => nodes.map((node) => [id(node), say(node)]);
  const row = ({ start, value }: Csr, at: number) => Array.from(value.subarray(start[at], start[at + 1]));
  const pairs = (rows: Csr2, at: number) => row(rows, at).map((value, i) => [value, rows.extra[rows.start[at] + i]] as const);
  const type = (number: number) => [
    ...[types.text, types.dtype, types.layout].map((column) => strings.at(column[number])),
    types.rank[number],
    types.kind[number],
    types.bytes[number],
    types.elements[number],
  ];
  const path = ({ groupName, groupParent, groupGraph }: Grouping, group: number): unknown => {
    const names: string[] = [];
    for (let g = group; g >= 0; g = groupParent[g]) names.unshift(strings.at(groupName[g]));
    return group < 0 ? group : [graphName(groupGraph[group]), ...names];
  };
  const marked = (marks: Uint8Array | undefined) => marks && nodes.filter((node) => marks[node]).map(id);
  const ops = new Set(nodes.map((node) => opName(program, node)));
  const opFacts = (op: number) => {
    const { name, title, sign, ...facts } = program.ops;
    return [
      ...[name, title, sign].map((column) => strings.at(column[op])),
      ...Object.entries(facts).map(([fact, column]) => [fact, column[op]]),
    ];
  };
  const words: Record<keyof ProgramData, () => unknown> = {
    name: () => program.name,
    hasGhosts: () => undefined, // of what is described, nothing is one
    entry: () => graphName(program.entry),
    strings: () => nodes.map((node) => strings.at(program.nodeId[node])),
    graphCount: () => graphs.length,
    graphStart: () => graphs.map((g) => nodes.filter((node) => graphOf(node) === g).length),
    graphName: () => graphs.map(graphName),
    graphOutputs: () => graphs.map((g) => pairs(program.graphOutputs, g).map(([node, output]) => [id(node), output])),
    nodeCount: () => nodes.length,
    nodeId: () => nodes.map(id),
    nodeOp: () => perNode((n) => opName(program, n)),
    ops: () => perNode((n) => opFacts(program.nodeOp[n])),
    nodeRole: () => perNode((n) => ROLES[program.nodeRole[n]]),
    nodeCategory: () => perNode((n) => CATEGORIES[program.nodeCategory[n]]),
    outputs: () => perNode((n) => row(program.outputs, n).map((t) => text(types.text[t]))),
    outputNames: () => perNode((n) => row(program.outputNames, n).map(text)),
    inputs: () => perNode((n) => pairs(program.inputs, n).map(([node, output]) => [id(node), output])),
    calls: () => perNode((n) => row(program.calls, n).map(graphName)),
    control: () =>
      perNode((n) =>
        row(program.control, n)
          .filter((each) => included.has(each))
          .map(id),
      ),
    links: () => perNode((n) => pairs(program.links, n).map(([kind, node]) => [text(kind), id(node)])),
    types: () => perNode((n) => row(program.outputs, n).map(type)),
    notes: () => program.notes,
    results: () => program.results,
    groupings: () =>
      program.groupings.map((grouping) => [grouping.name, grouping.exact, perNode((n) => path(grouping, grouping.nodeGroup[n]))]),
    summary: () => {
      const module = program.groupings.find(({ name }) => name === "module")!;
      return program.summary && { ...program.summary, scopes: program.summary.scopes.map((group) => path(module, group)) };
    },
    looks: () =>
      program.looks && {
        nodes: program.looks.nodes.filter(([node]) => included.has(node)).map(([node, look]) => [id(node), look]),
        groups: program.looks.groups.map(({ graph, ...rest }) => [graphName(graph), rest]),
        overlays: program.looks.overlays.map(({ edges, ...rest }) => [rest, edges.map(([from, to, say]) => [id(from), id(to), say])]),
      },
    device: () => program.device,
    lane: () => program.lane && { ...program.lane, node: program.lane.node.map((node) => (node < 0 ? "" : id(node))) },
    derivatives: () => Object.fromEntries(Object.entries(program.derivatives).filter(([op]) => ops.has(op.split(":")[0]))),
    nodeText: () => perNode((n) => text(program.nodeText[n])),
    nodePlace: () => [
      graphs.map((g) => {
        const parameters = parametersOf(program, g);
        const operands = operandsOf(program, parameters);
        return parameters.flatMap((node, i) => (included.has(node) ? [[id(node), operands[i]]] : []));
      }),
      perNode((n) => (ROLES[program.nodeRole[n]] === "parameter" ? "above" : program.nodePlace[n])),
    ],
    metrics: () =>
      program.metrics.map(({ values, ratio, ...definition }) => [definition, ratio?.map(({ name }) => name), perNode((n) => values[n])]),
    details: () => perNode((n) => program.details(n)),
    ownLine: () => perNode((n) => program.ownLine(n) ?? `${id(n)} has none`),
    findAttribute: () => marked(program.findAttribute("config", (value) => value.includes("[1,null]"))),
    findAttributes: () => marked(program.findAttributes((key, value) => key === "kind" || value === "0.5")),
    findSource: () => marked(program.findSource((frame) => frame === "model.py:12 forward")),
  };
  return Object.fromEntries(Object.keys(program).map((key) => [key, words[key as keyof ProgramData]()]));
}
