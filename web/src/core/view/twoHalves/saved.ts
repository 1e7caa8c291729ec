/** Which values the forward half of a training step saves for the backward half: one definition for arrows and panels. */
import { memoized } from "../../base/memoized";
import { BACKWARD, DIRECTION, FORWARD, RECOMPUTED } from "../../program/names";
import { Control, Forwards } from "../../program/ops";
import { Role } from "../../program/roles";
import type { ProgramData } from "../../program/types";
import { bindOperands, yieldsForCaller } from "../boxes/instance";
import { traitsOf } from "../traits";
import { halvesGrouping } from "./halves";

export const enum Half {
  Other = 0,
  Forward = 1,
  Backward = 2,
  /** Computed again for the backward half. */
  Recomputed = 3,
}

export interface SavedOutput {
  readonly node: number;
  /** -1 if unknown. */
  readonly bytes: number;
}

/** The output whose memory each output is in, by their positions in the table of outputs: a view is in that of its operand. */
export const storageOf = memoized(({ inputs, outputs, ops, nodeOp, nodeCount }: ProgramData): Int32Array => {
  const storage = Int32Array.from(outputs.value.keys());
  for (let node = 0; node < nodeCount; node++) {
    const operand = inputs.start[node];
    if (!ops.view[nodeOp[node]] || operand === inputs.start[node + 1] || inputs.value[operand] >= node) continue;
    const at = outputs.start[inputs.value[operand]] + Math.max(0, inputs.extra[operand]);
    if (at < outputs.start[inputs.value[operand] + 1]) storage.fill(storage[at], outputs.start[node], outputs.start[node + 1]);
  }
  return storage;
});

/**
 * Everything that operations of the backward half, and those that are recomputed for it, read of the forward half, by its position in
 * the table of outputs. Views count as the tensor that they show. Parameters and inputs are not saved, because they are there anyway, nor are constants, also as a
 * broadcast, and what is within one fusion, which writes nothing but its results.
 */
export const savedOutputs = memoized((program: ProgramData): ReadonlyMap<number, SavedOutput> => {
  const { inputs, outputs, types, nodeCount, nodeRole } = program;
  const storage = storageOf(program);
  const nodeOfOutput = new Int32Array(outputs.value.length);
  for (let node = 0; node < nodeCount; node++) nodeOfOutput.fill(node, outputs.start[node], outputs.start[node + 1]);
  const save = (at: number) => {
    const node = nodeOfOutput[storage[at]];
    if (nodeRole[node] !== Role.Op || half[node] !== Half.Forward || isConstant[node]) return;
    saved.set(storage[at], { node, bytes: types.bytes[outputs.value[storage[at]]] });
  };
  const { plumbing, isFusionBody, index } = traitsOf(program);
  const half = halfOfNodes(program);
  const isConstant = constants(program);
  const saved = new Map<number, SavedOutput>();
  const waiting: [number, number][] = [];
  /** For each tuple, the last reader of all of it plus one: tuples of tuples may contain a value many times over. */
  const readWhole = new Int32Array(nodeCount);
  for (let reader = 0; reader < nodeCount; reader++) {
    if (
      (half[reader] !== Half.Backward && half[reader] !== Half.Recomputed) ||
      plumbing.kind[reader] !== Forwards.Nothing ||
      isFusionBody[index.graphOf[reader]]
    )
      continue;
    for (let i = inputs.start[reader]; i < inputs.start[reader + 1]; i++) waiting.push([inputs.value[i], inputs.extra[i]]);
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      const [node, output] = next;
      if (plumbing.kind[node] === Forwards.Value) waiting.push([plumbing.node[node], plumbing.output[node]]);
      else if (plumbing.kind[node] === Forwards.Tuple) {
        if (output < 0 && readWhole[node] === reader + 1) continue;
        if (output < 0) readWhole[node] = reader + 1;
        for (let i = inputs.start[node]; i < inputs.start[node + 1]; i++)
          if (output < 0 || i - inputs.start[node] === output) waiting.push([inputs.value[i], inputs.extra[i]]);
      } else if (half[node] === Half.Forward) {
        const from = outputs.start[node] + Math.max(0, output);
        const to = output < 0 ? outputs.start[node + 1] : Math.min(from + 1, outputs.start[node + 1]);
        for (let at = from; at < to; at++) save(at);
      }
    }
  }
  return saved;
});

/**
 * The saved stacks that a value in the body of a loop fills, one part in each iteration, by positions in the table of outputs. Where the
 * loop is open, edges begin at that value, and where what it calls is open too, at the value in there.
 */
export const stacksOf = memoized((program: ProgramData): ReadonlyMap<number, readonly number[]> => {
  const { calls, inputs, nodeOp, nodePlace, ops, outputs } = program;
  const { parameters } = traitsOf(program).index;
  const saved = savedOutputs(program);
  const storage = storageOf(program);
  const stacks = new Map<number, number[]>();
  const fills = ([node, output]: Value, at: number): void => {
    const inner = storage[outputs.start[node] + Math.max(0, output)];
    stacks.set(inner, [...(stacks.get(inner) ?? []), at]);
  };
  for (const [at, { node }] of saved) {
    const called = Array.from(calls.value.subarray(calls.start[node], calls.start[node + 1]));
    const graph = ops.control[nodeOp[node]] >= Control.While ? called.find((each) => yieldsForCaller(program, node, each)) : undefined;
    if (graph === undefined) continue;
    const written = valuesBehind(program, resultOf(program, graph, at - outputs.start[node]));
    for (const value of written) fills(value, at);
    if (!written.length) continue;
    // What an iteration gets from the one before it, and the first from outside.
    const [last, slot] = written[written.length - 1];
    const operand = parameters.value.subarray(parameters.start[graph], parameters.start[graph + 1]).indexOf(last);
    const isTuple = inputs.start[node + 1] - inputs.start[node] === 1;
    const carried = isTuple ? slot : operand - nodePlace[node];
    if (operand < 0 || carried < 0 || carried >= outputs.start[node + 1] - outputs.start[node]) continue;
    const from = inputs.start[node] + operand;
    for (const value of valuesBehind(program, resultOf(program, graph, carried))) fills(value, at);
    for (const value of valuesBehind(program, [inputs.value[from], isTuple ? slot : inputs.extra[from]])) fills(value, at);
  }
  return stacks;
});

type Value = readonly [node: number, output: number];

/** Result number `index` of a graph, which may return all of them as one value. */
function resultOf({ graphOutputs }: ProgramData, graph: number, index: number): Value {
  const first = graphOutputs.start[graph];
  if (graphOutputs.extra[first] < 0 && graphOutputs.start[graph + 1] === first + 1) return [graphOutputs.value[first], index];
  return [graphOutputs.value[first + index], graphOutputs.extra[first + index]];
}

/** Calls in calls are followed no further than this. */
const DEEPEST_CALL = 16;
/** A value that a call passes on to itself has no end. */
const MOST_STEPS = 1000;

/** A value behind what only forwards it, and the same value inside the calls that return it, the outermost first. */
function valuesBehind(program: ProgramData, value: Value): Value[] {
  const { calls, inputs, nodeOp, ops } = program;
  const { plumbing, index } = traitsOf(program);
  const behind: Value[] = [];
  const around: number[] = [];
  let [node, output] = value;
  for (let steps = 0; steps < MOST_STEPS; steps++) {
    const call = around[around.length - 1] ?? -1;
    const parameters =
      call < 0 ? [] : Array.from(index.parameters.value.subarray(...rangeOf(index.parameters.start, calls.value[calls.start[call]])));
    if (plumbing.kind[node] === Forwards.Value) [node, output] = [plumbing.node[node], plumbing.output[node]];
    else if (plumbing.kind[node] === Forwards.Tuple && output >= 0) {
      const operand = inputs.start[node] + output;
      [node, output] = [inputs.value[operand], inputs.extra[operand]];
    } else if (parameters.includes(node)) {
      const operand = inputs.start[call] + bindOperands(traitsOf(program), call, 0)[parameters.indexOf(node)];
      around.pop();
      if (!(operand >= inputs.start[call] && operand < inputs.start[call + 1])) return behind;
      [node, output] = [inputs.value[operand], inputs.extra[operand]];
    } else {
      behind.push([node, output]);
      const isCall = ops.control[nodeOp[node]] === Control.Call && calls.start[node + 1] - calls.start[node] === 1;
      if (!isCall || around.length === DEEPEST_CALL) return behind;
      around.push(node);
      [node, output] = resultOf(program, calls.value[calls.start[node]], Math.max(0, output));
    }
  }
  return behind;
}

const rangeOf = (start: Int32Array, row: number): [number, number] => [start[row], start[row + 1]];

const HALVES = new Map([
  [FORWARD, Half.Forward],
  [RECOMPUTED, Half.Recomputed],
  [BACKWARD, Half.Backward],
]);

/** The half of each node. In a graph that is called, the group of the half is inside those of the caller; modules called so are not halves. */
export const halfOfNodes = memoized((program: ProgramData): Uint8Array => {
  const direction = halvesGrouping(program);
  if (!direction) return new Uint8Array(program.nodeCount);
  const { groupCount, groupName, groupParent, nodeGroup } = direction;
  const halfOfGroup = new Uint8Array(groupCount);
  for (let group = 0; group < groupCount; group++) {
    const name = program.strings.at(groupName[group]);
    const outer = groupParent[group] < 0 ? Half.Other : halfOfGroup[groupParent[group]];
    const named = direction.name === DIRECTION || groupParent[group] < 0 ? HALVES.get(name) : undefined;
    halfOfGroup[group] = name === RECOMPUTED && outer === Half.Backward ? Half.Recomputed : outer || named || Half.Other;
  }
  const half = new Uint8Array(nodeGroup.length); // Half.Other
  for (let n = 0; n < half.length; n++) if (nodeGroup[n] >= 0) half[n] = halfOfGroup[nodeGroup[n]];
  return half;
});

/** 1: it is a constant, or one that is only copied, converted or broadcast. */
function constants({ inputs, nodeCount, nodeOp, nodeRole, ops }: ProgramData): Uint8Array {
  const constant = new Uint8Array(nodeCount);
  for (let n = 0; n < nodeCount; n++) {
    const [start, end] = [inputs.start[n], inputs.start[n + 1]];
    if (nodeRole[n] !== Role.Op) constant[n] = nodeRole[n] === Role.Constant ? 1 : 0;
    else if (start === end || ops.spreads[nodeOp[n]])
      constant[n] = inputs.value.subarray(start, end).every((operand) => operand < n && constant[operand] === 1) ? 1 : 0;
  }
  return constant;
}
