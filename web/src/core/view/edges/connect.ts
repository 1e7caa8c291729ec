/** From values to edges between boxes. */

import { EdgeKind, type ProgramData } from "../../program/types";
import type { Edges } from "./edges";
import { Carried, INLINED, type Instance, noEnds, NOWHERE, sources } from "../boxes/instance";
import type { Placement } from "../boxes/placement";
import { Forwards } from "../../program/ops";
import type { Traits } from "../traits";
import { isArgument } from "../../program/roles";
import { placeOperands } from "./ports";
import { operandNote, operandText, plural } from "../boxes/texts";

const FEW_RESULTS = 8;

/** How many neighbours of each node (by global number) are not part of the view. */
export interface OmittedCounts {
  readonly before: Int32Array;
  readonly after: Int32Array;
}

/** Adds the edges of all instances; counts what the view omits. */
export function connectAll(placement: Placement, edges: Edges, omitted: OmittedCounts | undefined): void {
  for (const instance of placement.instances) {
    connectData(placement, edges, instance, omitted);
    connectControl(placement, edges, instance);
  }
  if (placement.included) connectLinks(placement, edges, placement.instances[0]);
  if (placement.options.overlays) connectOverlays(placement, edges, placement.instances[0]);
}

function connectData(placement: Placement, edges: Edges, instance: Instance, omitted: OmittedCounts | undefined): void {
  const { traits, boxes, options, repeats } = placement;
  const { inputs, outputs } = traits.program;
  const plumbing = options.rules.plumbing;
  const ends = noEnds();
  const drawn: number[] = [];
  const counting = omitted !== undefined && !instance.outer;
  for (let t = instance.first; t < instance.first + instance.count; t++) {
    const place = instance.place(t);
    if (place < 0 && !(counting && place === NOWHERE)) continue;
    const leaf = place >= 0 && boxes.isLeaf(place);
    if (place >= 0 && !leaf && isWithin(instance, t, place, inputs)) continue;
    const bodies = instance.inside.get(t);
    const repeated = repeats.isHidden(instance, t);
    const from = inputs.start[t];
    drawn.length = 0;
    let lastOperand = -1;
    let operandsDrawn = 0;
    let unchanged = 0;
    const returns = plumbing && leaf && !instance.outer && traits.index.isOutput[t] === 1 && traits.plumbing.kind[t] === Forwards.Tuple;
    for (let i = from; i < inputs.start[t + 1]; i++) {
      const targets = bodies ? bodyTargets(bodies, i - from) : undefined;
      const node = inputs.value[i];
      if (instance.place(node) >= 0 && !instance.inside.has(node)) {
        ends.instance[0] = instance;
        ends.node[0] = node;
        ends.output[0] = inputs.extra[i];
        ends.carried[0] = Carried.No;
        if (ends.node.length !== 1) ends.instance.length = ends.node.length = ends.output.length = ends.carried.length = 1;
      } else {
        sources(instance, node, inputs.extra[i], plumbing, ends);
      }
      /** For a single operand that is a tuple, the place in the tuple counts. */
      const isTuple = inputs.start[t + 1] - from === 1 && ends.node.length > 1 && !ends.carried.includes(Carried.Back);
      for (let e = 0; e < ends.node.length; e++) {
        const source = ends.node[e];
        const home = ends.instance[e];
        const sourceBox = home.place(source);
        if (returns && isReturnedUnchanged(traits, source, inputs.start[t + 1] - from)) {
          unchanged++;
          continue;
        }
        if (sourceBox === INLINED) {
          if ((leaf || (place >= 0 && boxes.node[place] === t)) && !repeated)
            boxes.note(
              place,
              ends.carried[e] === Carried.Start
                ? `starts at ${operandText(traits, source, home.unframed)}`
                : operandNote(traits, t, i - from, source, home.unframed),
            );
          continue;
        }
        if (counting && home === instance) {
          if (place >= 0 && sourceBox === NOWHERE) omitted.before[t]++;
          if (place === NOWHERE && sourceBox >= 0) omitted.after[source]++;
        }
        if (sourceBox < 0 || place < 0) continue;
        if (home === instance && ((repeated && repeats.isHidden(instance, source)) || repeats.crosses(instance, source, t))) continue;
        for (const target of targets ?? [place]) {
          if (target === sourceBox && !(leaf && source === t)) continue;
          if (target !== sourceBox && boxes.areNested(sourceBox, target)) continue;
          const before = edges.count;
          const back = ends.carried[e] === Carried.Back;
          const edge = edges.add(back ? EdgeKind.Carried : EdgeKind.Data, sourceBox, target, source, ends.output[e], i - from, repeated);
          if (edge < before || back) continue;
          if (boxes.isLeaf(sourceBox)) {
            const count = outputs.start[source + 1] - outputs.start[source];
            edges.sourcePort[edge] = ends.output[e] >= 0 && count > 0 ? (ends.output[e] + 1) / (count + 1) : 0.5;
          }
          if (leaf && target === place) {
            if (lastOperand !== i || ends.node.length > 1) operandsDrawn++;
            lastOperand = i;
            drawn.push(edge, operandsDrawn);
            edges.operand[edge] = isTuple ? e : i - from;
          }
        }
      }
    }
    if (unchanged > 0) boxes.note(place, `${plural(unchanged, "parameter")} unchanged`);
    placeOperands(traits, edges, drawn, operandsDrawn);
    if (operandsDrawn < 2 || isUnnumbered(placement, t)) for (let k = 0; k < drawn.length; k += 2) edges.operand[drawn[k]] = -1;
  }
}

/** Is all that a node reads in the same closed box, and so not drawn? Of a large program most of the nodes are such. */
function isWithin(instance: Instance, node: number, box: number, { start, value }: ProgramData["inputs"]): boolean {
  if (instance.inside.size > 0 && instance.inside.has(node)) return false;
  for (let i = start[node]; i < start[node + 1]; i++) {
    if (instance.place(value[i]) !== box || (instance.inside.size > 0 && instance.inside.has(value[i]))) return false;
  }
  return true;
}

/** A box that shows the one op of the graph that it calls ("map: subtract") has the operands of that op. */
function isUnnumbered({ traits, options }: Placement, node: number): boolean {
  const { calls, nodeOp, ops } = traits.program;
  const first = calls.start[node];
  const op = options.rules.inlineReducers && calls.start[node + 1] - first === 1 ? traits.reducerOp[calls.value[first]] : -1;
  return ops.unnumbered[op >= 0 ? op : nodeOp[node]] === 1;
}

/** Results of a step contain most of its parameters unchanged: a number shows that better than a line for each. */
export function isReturnedUnchanged(traits: Traits, source: number, results: number): boolean {
  const { program } = traits;
  const { uses } = traits.index;
  return isArgument(program.nodeRole[source]) && (results > FEW_RESULTS || uses.start[source + 1] - uses.start[source] > 1);
}

/** Where operand `operand` of an expanded call ends: at the parameters with a box; the users of others connect to it themselves. */
function bodyTargets(bodies: readonly Instance[], operand: number): number[] | undefined {
  const targets: number[] = [];
  let bound = false;
  for (const body of bodies) {
    const { start, value } = body.traits.index.parameters;
    for (let p = 0; p < body.operandOf.length; p++) {
      if (body.operandOf[p] !== operand) continue;
      bound = true;
      const box = body.place(value[start[body.graph] + p]);
      if (box >= 0) targets.push(box);
    }
  }
  return bound ? targets : undefined;
}

function connectControl(placement: Placement, edges: Edges, instance: Instance): void {
  const { control } = placement.traits.program;
  for (let t = instance.first; t < instance.first + instance.count; t++) {
    const target = instance.place(t);
    if (target < 0) continue;
    for (let i = control.start[t]; i < control.start[t + 1]; i++) {
      const source = instance.place(control.value[i]);
      if (source < 0 || source === target || placement.repeats.crosses(instance, control.value[i], t)) continue;
      if (placement.boxes.areNested(source, target)) continue;
      edges.add(EdgeKind.Control, source, target, control.value[i], -1, 0);
    }
  }
}

function connectOverlays(placement: Placement, edges: Edges, instance: Instance): void {
  const isHere = (node: number) => node >= instance.first && node < instance.first + instance.count;
  placement.traits.program.looks?.overlays.forEach((overlay, number) => {
    for (const [from, to] of overlay.edges) {
      if (!isHere(from) || !isHere(to)) continue;
      const source = instance.place(from),
        target = instance.place(to);
      if (source >= 0 && target >= 0 && source !== target && !placement.boxes.areNested(source, target))
        edges.add(EdgeKind.Overlay, source, target, from, number, number);
    }
  });
}

/** Relations other than data flow. Only drawn in parts of a graph: in a whole training step they would cover everything. */
function connectLinks(placement: Placement, edges: Edges, instance: Instance): void {
  const { links } = placement.traits.program;
  for (let t = instance.first; t < instance.first + instance.count; t++) {
    const target = instance.place(t);
    if (target < 0) continue;
    for (let i = links.start[t]; i < links.start[t + 1]; i++) {
      const other = links.extra[i];
      const source = other < instance.first || other >= instance.first + instance.count ? NOWHERE : instance.place(other);
      if (source >= 0 && source !== target && !placement.boxes.areNested(source, target))
        edges.add(EdgeKind.Link, source, target, other, -1, 0);
    }
  }
}
