/**
 * An instance: one graph at one place in the picture. The shown graph is the first; every expanded call adds one per called graph.
 * A graph that is expanded in three places has three instances, each with its own boxes.
 */

import type { ProgramData } from "../../program/types";
import { Control, Forwards } from "../../program/ops";
import type { GroupTree } from "../groups/tree";
import type { Traits } from "../traits";
import { isArgument, WHOLE } from "../../program/roles";

/** Places of a node other than a box. */
export const NOWHERE = -1;
export const PASSED_ON = -2;
export const INLINED = -3;

export interface Move {
  readonly call: number;
  to?: { readonly instance: Instance; readonly node: number };
}

export class Instance {
  readonly first: number;
  readonly count: number;
  /** Box of each node (by its place in the graph), or NOWHERE, PASSED_ON, INLINED. */
  readonly boxOf: Int32Array;
  /** Instances of what an expanded node calls. */
  readonly inside = new Map<number, Instance[]>();
  /** Parameters that are drawn inside a call of this graph (sinkParameters.ts), and where. */
  readonly moves = new Map<number, Move>();
  /** No groups are drawn, or there are none: parameters need names that tell them apart. */
  readonly unframed: boolean;
  /** Parameters that are drawn here for a parameter of the caller, and which that is. */
  readonly received = new Map<number, number>();
  /** For a parameter (by its place among the parameters) the caller's operand, or -1; empty if the caller's operands do not match. */
  operandOf: Int32Array = NONE;

  constructor(
    readonly traits: Traits,
    readonly graph: number,
    /** Box around it, or -1. */
    readonly frame: number,
    readonly level: number,
    readonly prefix: string,
    readonly outer: Instance | undefined,
    readonly caller: number,
    readonly flat: boolean,
    tree: GroupTree,
  ) {
    const { graphStart } = traits.program;
    this.first = graphStart[graph];
    this.count = graphStart[graph + 1] - this.first;
    this.boxOf = new Int32Array(this.count).fill(NOWHERE);
    this.unframed = flat || tree.firstGroup[graph] === tree.firstGroup[graph + 1];
  }

  place(node: number): number {
    return this.boxOf[node - this.first];
  }

  /** Is this graph already expanded around here? Then expanding it again would never end. */
  shows(graph: number): boolean {
    for (let at: Instance | undefined = this; at; at = at.outer) if (at.graph === graph) return true;
    return false;
  }

  /** The caller's operand that a parameter receives, or -1. */
  operand(parameter: number): number {
    if (this.operandOf.length === 0) return -1;
    const { start, value } = this.traits.index.parameters;
    let low = start[this.graph];
    let high = start[this.graph + 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (value[middle] < parameter) low = middle + 1;
      else high = middle;
    }
    return low < start[this.graph + 1] && value[low] === parameter ? this.operandOf[low - start[this.graph]] : -1;
  }
}

const NONE = new Int32Array(0);

/** Does a node run one of the graphs that it calls? Its first operand then says which. */
export function chooses(program: ProgramData, node: number): boolean {
  return program.ops.control[program.nodeOp[node]] === Control.Cond;
}

/** Which operand of `caller` each parameter of its call number `index` receives; empty if the counts do not match. */
export function bindOperands(traits: Traits, caller: number, index: number): Int32Array {
  const { program } = traits;
  const { parameters } = traits.index;
  const { inputs, calls } = program;
  const graph = calls.value[calls.start[caller] + index];
  const parameterCount = parameters.start[graph + 1] - parameters.start[graph];
  const operandCount = inputs.start[caller + 1] - inputs.start[caller];
  const callCount = calls.start[caller + 1] - calls.start[caller];
  /** The place of each parameter among the operands: its number, which may differ from its place in the text. */
  const bound = parameters.extra.slice(parameters.start[graph], parameters.start[graph + 1]);
  if (bound.some((at) => at >= parameterCount)) return bound.every((at) => at < operandCount) ? bound : NONE;
  const branches = chooses(program, caller);
  if (branches && parameterCount === operandCount - 1) return bound.map((at) => at + 1);
  if (branches && parameterCount === 1 && operandCount === callCount + 1) return bound.fill(index + 1);
  if (parameterCount === operandCount) return bound;
  return NONE;
}

/** Does the called graph return what its caller returns? A loop's condition does not; its body does. */
export function yieldsForCaller(program: ProgramData, caller: number, graph: number): boolean {
  const { graphOutputs, outputs } = program;
  const outputCount = outputs.start[caller + 1] - outputs.start[caller];
  const results: number[] = [];
  for (let i = graphOutputs.start[graph]; i < graphOutputs.start[graph + 1]; i++) {
    const node = graphOutputs.value[i];
    const index = graphOutputs.extra[i];
    if (index !== WHOLE) results.push(outputs.value[outputs.start[node] + index] ?? -1);
    else for (let o = outputs.start[node]; o < outputs.start[node + 1]; o++) results.push(outputs.value[o]);
  }
  if (results.length !== outputCount) return false;
  if (program.ops.control[program.nodeOp[caller]] === Control.Scan) return true; // it stacks what its body yields
  for (let o = 0; o < outputCount; o++) {
    const type = outputs.value[outputs.start[caller] + o];
    if (results[o] >= 0 && program.types.text[results[o]] !== program.types.text[type]) return false;
  }
  return outputCount > 0;
}

/** The ends of edges. */
export interface Ends {
  readonly instance: Instance[];
  readonly node: number[];
  readonly output: number[];
  /** For a value that a loop carries: its initial value, or what comes back from the previous iteration. */
  readonly carried: Carried[];
}

export const enum Carried {
  No = 0,
  Start = 1,
  Back = 2,
}

export const noEnds = (): Ends => ({ instance: [], node: [], output: [], carried: [] });

/** What a loop passes to its next iteration instead of the operand of a parameter of its condition or body. */
interface Next {
  readonly body: Instance;
  readonly node: number;
  readonly output: number;
}

/** The loop's body and the value in it that a parameter has in the next iteration; undefined if it does not change. */
function nextIteration(at: Instance, parameter: number, output: number): Next | undefined {
  const { program, plumbing: pipes } = at.traits;
  const { graphOutputs, inputs, outputs, nodePlace, types } = program;
  const first = nodePlace[at.caller];
  const body = at.outer?.inside.get(at.caller)?.find((each) => yieldsForCaller(program, at.caller, each.graph));
  if (first < 0 || !body) return undefined;
  const from = graphOutputs.start[body.graph];
  const isTuple = inputs.start[at.caller + 1] - inputs.start[at.caller] === 1;
  const result = isTuple ? output : at.operand(parameter) - first;
  if (result < 0 || result >= outputs.start[at.caller + 1] - outputs.start[at.caller]) return undefined;
  let node = graphOutputs.value[from];
  let index = result;
  if (!isTuple || graphOutputs.extra[from] !== WHOLE) {
    node = graphOutputs.value[from + result];
    index = graphOutputs.extra[from + result];
    const type = types.text[outputs.value[outputs.start[node] + index]];
    if (type !== types.text[outputs.value[outputs.start[at.caller] + result]]) return undefined; // a scan stacks this one
  }
  while (pipes.kind[node] === Forwards.Tuple && index >= 0 && index < inputs.start[node + 1] - inputs.start[node]) {
    const operand = inputs.start[node] + index;
    node = inputs.value[operand];
    index = inputs.extra[operand];
  }
  if (pipes.kind[node] === Forwards.Value) [node, index] = [pipes.node[node], pipes.output[node]];
  const stays = isTuple ? index === output : body.operand(node) === at.operand(parameter);
  return isArgument(program.nodeRole[node]) && stays ? undefined : { body, node, output: index };
}

const MOST_STEPS = 20000;

/** Follows a value back through plumbing, into expanded calls and out of bodies, to the nodes that are drawn. */
export function sources(instance: Instance, node: number, output: number, plumbing: boolean, ends: Ends): void {
  const { program, plumbing: pipes } = instance.traits;
  const { inputs, graphOutputs } = program;
  ends.instance.length = ends.node.length = ends.output.length = ends.carried.length = 0;
  const todo: [Instance, number, number, Carried][] = [];
  let carried: Carried = Carried.No;
  let at: Instance = instance;
  let steps = 0;
  for (;;) {
    let moved = false;
    const place = at.place(node);
    const bodies = at.inside.get(node);
    if (++steps < MOST_STEPS) {
      if (bodies) {
        for (const body of bodies) {
          if (!yieldsForCaller(program, node, body.graph)) continue;
          const from = graphOutputs.start[body.graph];
          const resultCount = graphOutputs.start[body.graph + 1] - from;
          for (let r = 0; r < resultCount; r++) {
            if (resultCount > 1 && output !== WHOLE && r !== output) continue;
            const whole = graphOutputs.extra[from + r] === WHOLE;
            todo.push([body, graphOutputs.value[from + r], whole ? output : graphOutputs.extra[from + r], carried]);
            moved = true;
          }
        }
      } else if (place === PASSED_ON) {
        const to = at.moves.get(node)?.to;
        if (to) {
          todo.push([to.instance, to.node, output, carried]);
          moved = true;
        } else if (pipes.kind[node] === Forwards.Value) {
          todo.push([at, pipes.node[node], pipes.output[node], carried]);
          moved = true;
        } else if (pipes.kind[node] === Forwards.Tuple) {
          const from = inputs.start[node];
          const count = inputs.start[node + 1] - from;
          if (output >= 0 && output < count) todo.push([at, inputs.value[from + output], inputs.extra[from + output], carried]);
          else for (let i = count - 1; i >= 0; i--) todo.push([at, inputs.value[from + i], inputs.extra[from + i], carried]);
          moved = true;
        } else if (plumbing && at.outer) {
          const operand = inputs.start[at.caller] + at.operand(node);
          const next = carried === Carried.No ? nextIteration(at, node, output) : undefined;
          if (next) todo.push([next.body, next.node, next.output, Carried.Back]);
          todo.push([
            at.outer,
            inputs.value[operand],
            inputs.extra[operand] === WHOLE ? output : inputs.extra[operand],
            next ? Carried.Start : carried,
          ]);
          moved = true;
        }
      }
    }
    if (!moved) {
      ends.instance.push(at);
      ends.node.push(node);
      ends.output.push(output);
      ends.carried.push(carried);
    }
    const next = todo.pop();
    if (!next) return;
    [at, node, output, carried] = next;
  }
}
