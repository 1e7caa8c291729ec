/**
 * How gradients flow through a node: its local derivative rule, the backward nodes that differentiate it and what is saved for them,
 * the gradients that arrive along each of its uses, and the chain rule along a path.
 */
import { type Csr, type DerivativeRule, DtypeKind, type ProgramData } from "../../core/program/types";
import { memoized } from "../../core/base/memoized";
import { distinctTranspose } from "../../core/base/csr";
import { BACKWARD_OF } from "../../core/program/names";
import type { ProgramIndex } from "../../core/program/programIndex";
import { Half, halfOfNodes, savedOutputs, storageOf } from "../../core/view/twoHalves/saved";
import type { ChainStep, GradientFacts, SavedValue, NodeName } from "./protocol";
import { nodeName } from "./names";

const MOST_LISTED = 60;
const LONGEST_CHAIN = 400;

/** Links from backward nodes to forward ones, and the other way round. */
const backwardLinks = memoized(({ links, nodeCount, strings }: ProgramData): { readonly forward: Csr; readonly backward: Csr } => {
  const start = new Int32Array(nodeCount + 1);
  const value: number[] = [];
  for (let n = 0; n < nodeCount; n++) {
    for (let i = links.start[n]; i < links.start[n + 1]; i++) if (strings.at(links.value[i]) === BACKWARD_OF) value.push(links.extra[i]);
    start[n + 1] = value.length;
  }
  const forward: Csr = { start, value: Int32Array.from(value) };
  return { forward, backward: distinctTranspose(forward, nodeCount) };
});

const row = (rows: Csr, at: number): number[] => [...rows.value.subarray(rows.start[at], rows.start[at + 1])];

export function gradientFacts(index: ProgramIndex, node: number): GradientFacts | undefined {
  const { forward, backward } = backwardLinks(index.program);
  const differentiates = row(forward, node);
  const differentiatedBy = row(backward, node);
  const isBackward = differentiates.length > 0 || halfOfNodes(index.program)[node] === Half.Backward;
  const rule = isBackward ? undefined : ruleOf(index, node);
  const sums = isBackward ? [] : sumsOf(index, node);
  if (!rule && !isBackward && !differentiatedBy.length && !sums.length) return undefined;
  const saved = savedFor(index, node, differentiatedBy);
  return {
    isBackward,
    ...(rule ? { rule, operands: operandsOf(index, node, rule) } : {}),
    backward: differentiatedBy.slice(0, MOST_LISTED).map((n) => nodeName(index, n)),
    backwardCount: differentiatedBy.length,
    forward: differentiates.slice(0, MOST_LISTED).map((n) => nodeName(index, n)),
    forwardCount: differentiates.length,
    saved,
    savedBytes: saved.reduce((sum, value) => sum + Math.max(0, value.bytes), 0),
    sums,
    mark: marksOf(
      index,
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
function ruleOf(index: ProgramIndex, node: number): DerivativeRule | undefined {
  const { derivatives, calls, graphOutputs, outputs, types } = index.program;
  const op = index.op(node);
  const called = calls.start[node + 1] > calls.start[node] ? calls.value[calls.start[node]] : -1;
  const inner =
    called >= 0 && graphOutputs.start[called + 1] > graphOutputs.start[called]
      ? derivatives?.[`${op}:${index.op(graphOutputs.value[graphOutputs.start[called]])}`]
      : undefined;
  const rule = inner ?? derivatives?.[op];
  const kind = outputs.start[node + 1] > outputs.start[node] ? types.kind[outputs.value[outputs.start[node]]] : DtypeKind.Other;
  return rule?.y && (kind === DtypeKind.Integer || kind === DtypeKind.Boolean || kind === DtypeKind.Key) ? WHOLE_NUMBERS : rule;
}

/** The letter of each of a node's operands; undefined for those that the rule does not mention. */
function lettersOf(index: ProgramIndex, node: number, rule: DerivativeRule): readonly (string | undefined)[] {
  const count = index.program.inputs.start[node + 1] - index.program.inputs.start[node];
  return rule.order?.length === count ? rule.order : rule.operands;
}

/** The rule's letters and their nodes. */
function operandsOf(index: ProgramIndex, node: number, rule: DerivativeRule): { name: string; node: NodeName }[] {
  const { inputs } = index.program;
  const letters = lettersOf(index, node, rule);
  return row(inputs, node).flatMap((input, i) => {
    const name = letters[i];
    return name === undefined ? [] : [{ name, node: nodeName(index, input) }];
  });
}

/** The nodes behind a rule's letters, y being the node itself. */
function namesOf(index: ProgramIndex, node: number, rule: DerivativeRule): Record<string, NodeName> {
  return Object.fromEntries([
    ...operandsOf(index, node, rule).map(({ name, node: operand }) => [name, operand] as const),
    ["y", nodeName(index, node)] as const,
  ]);
}

/** Values of the forward half that the node's backward nodes read, the largest first. */
function savedFor(index: ProgramIndex, node: number, backwardNodes: readonly number[]): SavedValue[] {
  const { inputs, outputs } = index.program;
  const saved = savedOutputs(index.program);
  const storage = storageOf(index.program);
  const near = new Set([node, ...row(inputs, node), ...row(index.users, node)]);
  const values = new Map<number, SavedValue>();
  for (const reader of backwardNodes) {
    for (let i = inputs.start[reader]; i < inputs.start[reader + 1]; i++) {
      const source = inputs.value[i];
      const at = outputs.start[source] + Math.max(0, inputs.extra[i]);
      const value = near.has(source) ? saved.get(storage[at]) : undefined;
      if (value) values.set(storage[at], { ...nodeName(index, value.node), bytes: value.bytes });
    }
  }
  return [...values.values()].sort((a, b) => b.bytes - a.bytes).slice(0, MOST_LISTED);
}

/** One value used several times: the gradient is the sum of what comes back along each use, but not along those of backward or update. */
function sumsOf(index: ProgramIndex, node: number): GradientFacts["sums"] {
  const { forward } = backwardLinks(index.program);
  const half = halfOfNodes(index.program);
  const hasHalves = half.includes(Half.Forward);
  const isForward = (user: number): boolean => (hasHalves ? half[user] === Half.Forward : forward.start[user + 1] === forward.start[user]);
  const users = [...new Set(row(index.users, node))].filter(isForward);
  const sums = users.slice(0, MOST_LISTED).flatMap((user) => {
    const rule = ruleOf(index, user);
    if (!rule) return [];
    const letters = lettersOf(index, user, rule);
    return row(index.program.inputs, user).flatMap((input, i) => {
      const text = input === node ? rule.vjp[letters[i] ?? ""] : undefined;
      return text ? [{ text, nodes: namesOf(index, user, rule) }] : [];
    });
  });
  return sums.length > 1 ? sums : [];
}

/** What is highlighted with a node: its other half, and the values between them. */
function marksOf(index: ProgramIndex, node: number, others: readonly number[], saved: readonly SavedValue[]): Uint8Array {
  const mark = new Uint8Array(index.program.nodeCount);
  for (const other of others) mark[other] = 2;
  for (const value of saved) mark[value.node] = 1;
  mark[node] = 3;
  return mark;
}

/** The chain rule along the shortest path from one node to another, from the end to the start; empty if there is no path. */
export function chainRule(index: ProgramIndex, from: number, to: number): ChainStep[] {
  const { inputs } = index.program;
  const before = new Map<number, number>([[from, -1]]);
  let edge = [from];
  while (edge.length && !before.has(to)) {
    const next: number[] = [];
    for (const node of edge) {
      for (const user of row(index.users, node)) {
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
    const rule = ruleOf(index, node);
    // A node may read the operand twice (x ⊙ x): its gradient is the sum over both.
    const letters = rule ? lettersOf(index, node, rule).filter((_, i) => inputs.value[inputs.start[node] + i] === operand) : [];
    const terms = letters.flatMap((letter) => (letter && rule?.vjp[letter]) || []);
    steps.push({
      node: nodeName(index, node),
      operand: nodeName(index, operand),
      text: terms.join(" + "),
      nodes: rule ? namesOf(index, node, rule) : {},
      why: rule?.y === "" ? rule.note : "",
    });
  }
  return steps;
}
