/**
 * A parameter that first goes into an open call (a weight of the forward half) is drawn inside, next to the operation that uses it and
 * in the group of that operation, not in a row outside the frame. Its other users are connected to it there.
 *
 * What a loop carries, and operands of branches and reductions, are more than passed on, a fusion is one step, and data begins the flow
 * where it enters: none of these moves. A scan over layers has the weights of all: inside, a parameter is that of one layer.
 */

import { Input } from "../ops/inputs";
import { bindOperands, chooses, type Instance } from "./instance";
import { escapeName } from "../choose/keys";
import { isOpen } from "../choose/options";
import { Control } from "../../program/ops";
import type { Placement } from "./placement";

/** The open call that a parameter of this instance moves into, or -1. */
export function movesInto(placement: Placement, instance: Instance, parameter: number): number {
  const { traits } = placement;
  const { index, inputKind, program } = traits;
  const { uses } = index;
  const from = uses.start[parameter];
  if (inputKind[parameter] === Input.Data || from === uses.start[parameter + 1]) return -1;
  const call = uses.value[from];
  if (!isOpenCall(placement, instance, call)) return -1;
  const { calls, inputs, nodePlace } = program;
  const graph = calls.value[calls.start[call]];
  if (calls.start[call + 1] - calls.start[call] !== 1 || traits.isFusionBody[graph] || traits.reducerOp[graph] >= 0) return -1;
  const isLoop = nodePlace[call] >= 0;
  if (chooses(program, call) || (isLoop && !isScannedOver(placement, call, graph, parameter))) return -1;
  const { start } = traits.index.parameters;
  return start[graph + 1] - start[graph] === inputs.start[call + 1] - inputs.start[call] ? call : -1;
}

/** Is a parameter a constant of a scan, or stacked: does each iteration read a part of it? */
function isScannedOver({ traits }: Placement, call: number, graph: number, parameter: number): boolean {
  const { inputs, nodeOp, nodePlace, ops, outputs } = traits.program;
  if (ops.control[nodeOp[call]] !== Control.Scan) return false;
  const { start, value } = traits.index.parameters;
  const bound = bindOperands(traits, call, 0);
  for (let at = 0; at < bound.length; at++) {
    if (inputs.value[inputs.start[call] + bound[at]] !== parameter || bound[at] < nodePlace[call]) continue;
    const inner = value[start[graph] + at];
    if (outputs.value[outputs.start[inner]] === outputs.value[outputs.start[parameter]]) return false;
  }
  return bound.length > 0;
}

/** Does a node call something that will be drawn open? */
export function isOpenCall({ traits, tree, options, callDepth }: Placement, instance: Instance, node: number): boolean {
  const { calls, strings, nodeId } = traits.program;
  if (calls.start[node + 1] === calls.start[node] || instance.shows(calls.value[calls.start[node]])) return false;
  const group = tree.nodeGroup[node];
  const level = instance.level + (group < 0 || instance.flat ? 0 : tree.depth[group] + 1);
  return isOpen(options, `${instance.prefix}n:${escapeName(strings.at(nodeId[node]))}`, level, callDepth);
}

/** Is this parameter drawn for one of the caller? Records where that one is now. */
export function receives(instance: Instance, parameter: number): boolean {
  const { outer, caller } = instance;
  const operand = instance.operand(parameter);
  if (!outer || operand < 0) return false;
  const callerParameter = instance.traits.program.inputs.value[instance.traits.program.inputs.start[caller] + operand];
  const move = outer.moves.get(callerParameter);
  if (move?.call !== caller || move.to) return false;
  move.to = { instance, node: parameter };
  instance.received.set(parameter, outer.received.get(callerParameter) ?? callerParameter);
  return true;
}
