/** What becomes of each node of an instance, before it is placed: a box, text in its user's box, a part of an edge, or nothing. */

import { isArgument, isNamed, Role } from "../../program/roles";
import { SHOWN } from "../choose/subset";
import { Forwards } from "../../program/ops";
import { type Instance, yieldsForCaller } from "./instance";
import type { Placement } from "./placement";
import { movesInto, receives } from "./sinkParameters";
import { savedOutputs } from "../twoHalves/saved";

export const enum Fate {
  Gone = 0,
  Shown = 1,
  /** A part of an edge. */
  Passed = 2,
  /** Text in its user's box. */
  Inlined = 3,
}

export function decideFates(placement: Placement, instance: Instance): Uint8Array {
  const { traits, options, included } = placement;
  const { plumbing, small, program } = traits;
  const { isOutput } = traits.index;
  const { rules, hiddenRole } = options;
  const { inputs, outputs } = program;
  // Beside the backward half, what is saved for it has an edge that says so.
  const saved = options.forwardBackward ? savedOutputs(program) : undefined;
  const subset = instance.outer ? undefined : included;
  const unfolded = unfoldedIn(placement, instance);
  const fates = new Uint8Array(instance.count);
  for (let i = 0; i < instance.count; i++) {
    const n = instance.first + i;
    const role = program.nodeRole[n];
    if (hiddenRole[role]) continue;
    const isAsked = subset?.[n] === SHOWN || unfolded.has(n);
    const piped = plumbing.kind[n] === Forwards.Value || (plumbing.kind[n] === Forwards.Tuple && !(isOutput[n] && !instance.outer));
    const bound = isNamed(role) && instance.operand(n) >= 0 && !(rules.plumbing && receives(instance, n));
    const call =
      rules.plumbing && !isAsked && !subset && !bound && isArgument(role) && !small.is[n] ? movesInto(placement, instance, n) : -1;
    if (call >= 0) instance.moves.set(n, { call });
    // A parameter that a caller binds is the caller's value, and what has a box is not text: neither is what broadcasts them.
    const root = small.root[n];
    const spreadsBound = root !== n && isArgument(program.nodeRole[root]) && instance.operand(root) >= 0;
    const spreadsBox = root !== n && fates[inputs.value[inputs.start[n]] - instance.first] === Fate.Shown;
    const isText = small.is[n] && !spreadsBound && !spreadsBox && !saved?.has(outputs.start[n]);
    if (rules.plumbing && !isAsked && (piped || bound || call >= 0)) fates[i] = Fate.Passed;
    else if (rules.inlineSmall && !isAsked && !bound && isText) fates[i] = Fate.Inlined;
    else if (
      rules.plumbing &&
      !isAsked &&
      role === Role.Output &&
      instance.outer &&
      yieldsForCaller(program, instance.caller, instance.graph)
    )
      fates[i] = Fate.Gone;
    else fates[i] = subset && !subset[n] ? Fate.Gone : Fate.Shown;
  }
  return fates;
}

/** Nodes of an instance that a person unfolded, and of each in a repeat that is not drawn, its counterpart in the one that is. */
function unfoldedIn(placement: Placement, instance: Instance): ReadonlySet<number> {
  const { traits, options } = placement;
  const nodes = new Set<number>();
  for (const id of options.unfoldedNodes.get(instance.prefix) ?? []) {
    const node = traits.index.find(instance.graph, id);
    if (node >= 0) nodes.add(node).add(drawnFor(placement, instance, node));
  }
  return nodes;
}

function drawnFor({ folding, tree }: Placement, instance: Instance, node: number): number {
  if (!folding || instance.flat) return node;
  let drawn = node;
  for (let group = tree.nodeGroup[node]; group >= 0; group = tree.parent[group]) {
    const stack = folding.stackOf[group];
    if (stack < 0 || folding.first(stack) === group) continue;
    const place = folding.nodes(group).indexOf(drawn);
    if (place < 0) continue;
    drawn = folding.nodes(folding.first(stack))[place];
    group = folding.first(stack);
  }
  return drawn;
}
