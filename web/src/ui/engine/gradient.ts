/**
 * How gradients flow through a node: its local derivative rule, the backward nodes that differentiate it and what is saved for them,
 * the gradients that arrive along each of its uses, and the chain rule along a path.
 */
import { type Csr, type DerivativeRule, DtypeKind } from "../../core/program/types";
import { distinctTranspose } from "../../core/base/csr";
import type { Lookup } from "./nodeLookup";
import type { ChainStep, GradientFacts, SavedTensors, SavedValue, NodeName } from "./protocol";

const BACKWARD_OF = "backward_of";
const MOST_LISTED = 60;
const LONGEST_CHAIN = 400;

const backwardLinks = new WeakMap<Lookup, { readonly forward: Csr; readonly backward: Csr }>();

/** Links from backward nodes to forward ones, and the other way round. */
function related(lookup: Lookup): { readonly forward: Csr; readonly backward: Csr } {
  let links = backwardLinks.get(lookup);
  if (!links) {
    const { links: rows, nodeCount } = lookup.program;
    const start = new Int32Array(nodeCount + 1);
    const value: number[] = [];
    for (let n = 0; n < nodeCount; n++) {
      for (let i = rows.start[n]; i < rows.start[n + 1]; i++) if (lookup.text(rows.value[i]) === BACKWARD_OF) value.push(rows.extra[i]);
      start[n + 1] = value.length;
    }
    const forward: Csr = { start, value: Int32Array.from(value) };
    links = { forward, backward: distinctTranspose(forward, nodeCount) };
    backwardLinks.set(lookup, links);
  }
  return links;
}

const row = (rows: Csr, at: number): number[] => [...rows.value.subarray(rows.start[at], rows.start[at + 1])];

export function gradientFacts(lookup: Lookup, node: number): GradientFacts | undefined {
  const { forward, backward } = related(lookup);
  const differentiates = row(forward, node);
  const differentiatedBy = row(backward, node);
  const rule = differentiates.length ? undefined : ruleOf(lookup, node);
  const sums = differentiates.length ? [] : sumsOf(lookup, node);
  if (!rule && !differentiates.length && !differentiatedBy.length && !sums.length) return undefined;
  const saved = savedFor(lookup, node, differentiatedBy);
  return {
    ...(rule ? { rule, operands: operandsOf(lookup, node, rule) } : {}),
    backward: differentiatedBy.slice(0, MOST_LISTED).map((n) => lookup.name(n)),
    backwardCount: differentiatedBy.length,
    forward: differentiates.slice(0, MOST_LISTED).map((n) => lookup.name(n)),
    forwardCount: differentiates.length,
    saved,
    savedBytes: saved.reduce((sum, value) => sum + Math.max(0, value.bytes), 0),
    sums,
    mark: marksOf(
      lookup,
      node,
      differentiates.length ? [...differentiates, ...siblings(backward, differentiates)] : differentiatedBy,
      saved,
    ),
  };
}

/** Backward nodes that belong to the same forward nodes. */
function siblings(backward: Csr, forwardNodes: readonly number[]): number[] {
  return forwardNodes.flatMap((n) => row(backward, n));
}

const WHOLE_NUMBERS: DerivativeRule = { y: "", vjp: {}, note: "Integers are not differentiable: no gradient flows.", operands: [] };

/** The derivative rule of a node: that of the function it applies where there is one (`reduce` with maximum), else that of its operation. */
function ruleOf(lookup: Lookup, node: number): DerivativeRule | undefined {
  const { derivatives, calls, graphOutputs, outputs, types } = lookup.program;
  const op = lookup.op(node);
  const called = calls.start[node + 1] > calls.start[node] ? calls.value[calls.start[node]] : -1;
  const inner =
    called >= 0 && graphOutputs.start[called + 1] > graphOutputs.start[called]
      ? derivatives?.[`${op}:${lookup.op(graphOutputs.value[graphOutputs.start[called]])}`]
      : undefined;
  const rule = inner ?? derivatives?.[op];
  const kind = outputs.start[node + 1] > outputs.start[node] ? types.kind[outputs.value[outputs.start[node]]] : DtypeKind.Other;
  return rule?.y && (kind === DtypeKind.Integer || kind === DtypeKind.Boolean || kind === DtypeKind.Key) ? WHOLE_NUMBERS : rule;
}

/** The letter of each of a node's operands; undefined for those that the rule does not mention. */
function lettersOf(lookup: Lookup, node: number, rule: DerivativeRule): readonly (string | undefined)[] {
  const count = lookup.program.inputs.start[node + 1] - lookup.program.inputs.start[node];
  return rule.order?.length === count ? rule.order : rule.operands;
}

/** The rule's letters and the nodes that they stand for. */
function operandsOf(lookup: Lookup, node: number, rule: DerivativeRule): { name: string; node: NodeName }[] {
  const { inputs } = lookup.program;
  const letters = lettersOf(lookup, node, rule);
  return row(inputs, node).flatMap((input, i) => {
    const name = letters[i];
    return name === undefined ? [] : [{ name, node: lookup.name(input) }];
  });
}

/** The nodes behind a rule's letters, y being the node itself. */
function namesOf(lookup: Lookup, node: number, rule: DerivativeRule): Record<string, NodeName> {
  return Object.fromEntries([
    ...operandsOf(lookup, node, rule).map(({ name, node: operand }) => [name, operand] as const),
    ["y", lookup.name(node)] as const,
  ]);
}

/** Values of the forward half that the node's backward nodes read, the largest first. */
function savedFor(lookup: Lookup, node: number, backwardNodes: readonly number[]): SavedValue[] {
  const { inputs, outputs, types } = lookup.program;
  const { forward } = related(lookup);
  const isBackward = (n: number) => forward.start[n + 1] > forward.start[n];
  const near = new Set([node, ...row(inputs, node), ...row(lookup.users, node)]);
  const values = new Map<string, SavedValue>();
  for (const reader of backwardNodes) {
    for (let i = inputs.start[reader]; i < inputs.start[reader + 1]; i++) {
      const source = inputs.value[i];
      const output = Math.max(0, inputs.extra[i]);
      if (isBackward(source) || lookup.program.nodeRole[source] !== 0 || !near.has(source) || values.has(`${source}.${output}`)) continue;
      const at = outputs.start[source] + output;
      values.set(`${source}.${output}`, {
        ...lookup.name(source),
        bytes: at < outputs.start[source + 1] ? types.bytes[outputs.value[at]] : -1,
      });
    }
  }
  return [...values.values()].sort((a, b) => b.bytes - a.bytes).slice(0, MOST_LISTED);
}

/** Everything that the forward half saves for the backward half, the largest first. */
export function savedTensors(lookup: Lookup): SavedTensors {
  const { inputs, outputs, types, nodeRole, nodeCount } = lookup.program;
  const { forward } = related(lookup);
  const isBackward = (n: number) => forward.start[n + 1] > forward.start[n];
  const savedOutputs = new Set<number>();
  const values: { readonly node: number; readonly bytes: number }[] = [];
  for (let n = 0; n < nodeCount; n++) {
    if (!isBackward(n)) continue;
    for (let i = inputs.start[n]; i < inputs.start[n + 1]; i++) {
      const source = inputs.value[i];
      const at = outputs.start[source] + Math.max(0, inputs.extra[i]);
      if (savedOutputs.has(at) || isBackward(source) || nodeRole[source] !== 0) continue;
      savedOutputs.add(at);
      values.push({ node: source, bytes: at < outputs.start[source + 1] ? types.bytes[outputs.value[at]] : -1 });
    }
  }
  values.sort((a, b) => b.bytes - a.bytes);
  return {
    bytes: values.reduce((sum, value) => sum + Math.max(0, value.bytes), 0),
    count: values.length,
    values: values.slice(0, MOST_LISTED).map(({ node, bytes }) => ({ ...lookup.name(node), bytes })),
  };
}

/** One value used several times: the gradient is the sum of what comes back along each use. */
function sumsOf(lookup: Lookup, node: number): GradientFacts["sums"] {
  const { forward } = related(lookup);
  const users = [...new Set(row(lookup.users, node))].filter((user) => forward.start[user + 1] === forward.start[user]);
  const sums = users.slice(0, MOST_LISTED).flatMap((user) => {
    const rule = ruleOf(lookup, user);
    if (!rule) return [];
    const letters = lettersOf(lookup, user, rule);
    return row(lookup.program.inputs, user).flatMap((input, i) => {
      const text = input === node ? rule.vjp[letters[i] ?? ""] : undefined;
      return text ? [{ text, nodes: namesOf(lookup, user, rule) }] : [];
    });
  });
  return sums.length > 1 ? sums : [];
}

/** What is highlighted with a node: its other half, and the values between them. */
function marksOf(lookup: Lookup, node: number, others: readonly number[], saved: readonly SavedValue[]): Uint8Array {
  const mark = new Uint8Array(lookup.program.nodeCount);
  for (const other of others) mark[other] = 2;
  for (const value of saved) mark[value.node] = 1;
  mark[node] = 3;
  return mark;
}

/** The chain rule along the shortest path from one node to another, from the end to the start; empty if there is no path. */
export function chainRule(lookup: Lookup, from: number, to: number): ChainStep[] {
  const { inputs } = lookup.program;
  const before = new Map<number, number>([[from, -1]]);
  let edge = [from];
  while (edge.length && !before.has(to)) {
    const next: number[] = [];
    for (const node of edge) {
      for (const user of row(lookup.users, node)) {
        if (before.has(user)) continue;
        before.set(user, node);
        next.push(user);
      }
    }
    edge = next;
  }
  if (!before.has(to) || from === to) return [];
  const steps: ChainStep[] = [];
  for (let node = to; node !== from && steps.length < LONGEST_CHAIN; node = before.get(node)!) {
    const operand = before.get(node)!;
    const rule = ruleOf(lookup, node);
    const letter =
      rule && lettersOf(lookup, node, rule)[inputs.value.subarray(inputs.start[node], inputs.start[node + 1]).indexOf(operand)];
    steps.push({
      node: lookup.name(node),
      operand: lookup.name(operand),
      text: (letter && rule?.vjp[letter]) ?? "",
      nodes: rule ? namesOf(lookup, node, rule) : {},
      why: rule?.y === "" ? rule.note : "",
    });
  }
  return steps;
}
