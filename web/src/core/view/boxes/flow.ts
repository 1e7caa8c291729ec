/** What goes in and out of collapsed groups: the tensors that cross their border, other than parameters and constants. */

import { TripleMap } from "../../base/csr";
import { Role, WHOLE } from "../../program/roles";
import { BoxKind, type ProgramData } from "../../program/types";
import { Half, halfOfNodes, stacksOf } from "../twoHalves/saved";
import { INLINED, type Instance, noEnds, NOWHERE, sources } from "./instance";
import type { Placement } from "./placement";
import { groupClass, groupSubtitle, valueType } from "./texts";

const enum Way {
  In = 0,
  Out = 1,
}

/** What a value that crosses a border is for, the least telling first. */
const enum Use {
  /** Only saved for the backward half, or the gradient of a weight, which the step yields. */
  Aside = 0,
  Other = 1,
  /** Read in the half of the step that computes it: of a backward module this is the gradient that goes on, not that of a weight. */
  SameHalf = 2,
}

/** Values that cross borders; a value is there once for each box and way, in the order in which they were met. */
class Crossings {
  readonly box: number[] = [];
  readonly way: Way[] = [];
  readonly node: number[] = [];
  readonly output: number[] = [];
  readonly use: Use[] = [];
  private readonly numbers = new TripleMap();

  add(box: number, way: Way, node: number, output: number, use: Use): void {
    const number = this.numbers.number(2 * box + way, node, output);
    if (number === this.box.length) {
      this.box.push(box);
      this.way.push(way);
      this.node.push(node);
      this.output.push(output);
      this.use.push(use);
    } else if (use > this.use[number]) this.use[number] = use;
  }
}

/**
 * Writes below the texts of collapsed groups what goes in and out: "f32[8, 128] → f32[8, 512]". A group of one operation had its type only,
 * which this line ends in. Of several tensors that go in it is the one that
 * is read first, of those that go out the one that is computed last, and the number of the others. Repeats are described by one of them, as
 * by the rest of their text. What is saved for the backward half is left out where there is more: its arrows say how much that is. So are gradients of weights.
 */
export function describeFlow(placement: Placement): void {
  const { boxes, tree, instances, traits } = placement;
  const isAsked = new Uint8Array(boxes.subtitle.length);
  for (let box = 0; box < isAsked.length; box++)
    if (isCollapsedGroup(placement, box) && tree.opCount[boxes.group[box]] > 0) isAsked[box] = 1;
  if (!isAsked.includes(1)) return;
  const homes = new Map(instances.map((instance) => [instance, homesOf(placement, instance, isAsked)]));
  const crossings = new Crossings();
  for (const instance of instances) collect(placement, instance, homes, crossings);
  const texts = new Map<number, [string[], string[]]>();
  describe(traits.program, placement.options.layouts, crossings).forEach(({ box, way, text }) => {
    const sides = texts.get(box) ?? [[], []];
    texts.set(box, sides);
    sides[way].push(text);
  });
  for (const [box, [[before = ""], [after = ""]]] of texts) {
    const group = boxes.group[box];
    if (tree.opCount[group] === 1)
      boxes.subtitle[box] = groupSubtitle(groupClass(traits.program, tree.groupName, group), 0, tree.parameterElements[group]);
    boxes.subtitle[box] += `\n${`${before} → ${after}`.trim()}`;
  }
}

function isCollapsedGroup({ boxes }: Placement, box: number): boolean {
  return (
    boxes.group[box] >= 0 &&
    boxes.node[box] < 0 &&
    !boxes.open[box] &&
    (boxes.kind[box] === BoxKind.Group || boxes.kind[box] === BoxKind.Stack)
  );
}

/** For each node the collapsed group that it is in, or -1. Of repeats only the first counts: the others are outside of it. */
function homesOf({ boxes, tree, repeats }: Placement, instance: Instance, isAsked: Uint8Array): Int32Array {
  return instance.boxOf.map((box, i) => {
    const node = instance.first + i;
    if (box < 0 || !isAsked[box] || repeats.isHidden(instance, node)) return -1;
    if (boxes.kind[box] !== BoxKind.Stack) return box;
    let group = tree.nodeGroup[node];
    while (group > boxes.group[box]) group = tree.parent[group];
    return group === boxes.group[box] ? box : -1;
  });
}

function collect(placement: Placement, instance: Instance, homes: ReadonlyMap<Instance, Int32Array>, crossings: Crossings): void {
  const { program } = placement.traits;
  const { inputs, graphOutputs, nodeRole } = program;
  const half = halfOfNodes(program);
  const home = homes.get(instance)!;
  const { first } = instance;
  const ends = noEnds();
  const plumbing = placement.options.rules.plumbing;
  // Where the program does not tell inputs from weights, as HLO, an input is an argument that no group contains.
  const tells = nodeRole.subarray(first, first + instance.count).includes(Role.Input);
  const isInput = (node: number): boolean =>
    nodeRole[node] === Role.Input || (!tells && nodeRole[node] === Role.Parameter && placement.tree.nodeGroup[node] < 0);
  // What the body of a scan yields may be a part of a stack that is saved.
  const isStacked = (node: number, output: number): boolean =>
    instance.outer !== undefined && stacksOf(program).has(program.outputs.start[node] + Math.max(0, output));
  const cross = (source: number, output: number, target: number): void => {
    sources(instance, source, output, plumbing, ends);
    for (let e = 0; e < ends.node.length; e++) {
      const [from, node] = [ends.instance[e], ends.node[e]];
      if (from.place(node) === INLINED || from.place(node) === NOWHERE) continue;
      const left = homes.get(from)![node - from.first];
      const entered = target < 0 ? -1 : home[target - first];
      if (left === entered) continue;
      const isSaved = half[node] === Half.Forward && (target < 0 ? isStacked(node, ends.output[e]) : half[target] > Half.Forward);
      const isOp = nodeRole[node] === Role.Op;
      const isGradient = nodeRole[node] === Role.Gradient;
      const use = isSaved || isGradient ? Use.Aside : isOp && target >= 0 && half[node] === half[target] ? Use.SameHalf : Use.Other;
      if (left >= 0 && (isOp || isGradient)) crossings.add(left, Way.Out, node, ends.output[e], use);
      if (entered >= 0 && (isOp || isInput(node))) crossings.add(entered, Way.In, node, ends.output[e], use);
    }
  };
  for (let t = first; t < first + instance.count; t++) {
    if (instance.boxOf[t - first] < 0) continue;
    const box = home[t - first];
    for (let i = inputs.start[t]; i < inputs.start[t + 1]; i++) {
      const source = inputs.value[i];
      // Nearly all values stay where they are, or come from an operation that is drawn.
      if (instance.boxOf[source - first] >= 0 && home[source - first] === box && !instance.inside.has(source)) continue;
      cross(source, inputs.extra[i], t);
    }
  }
  for (let i = graphOutputs.start[instance.graph]; i < graphOutputs.start[instance.graph + 1]; i++) {
    const node = graphOutputs.value[i];
    if (nodeRole[node] === Role.Op || nodeRole[node] === Role.Gradient) cross(node, graphOutputs.extra[i], -1);
  }
}

interface Side {
  readonly box: number;
  readonly way: Way;
  readonly text: string;
}

function describe(program: ProgramData, layouts: boolean, { box, way, node, output, use }: Crossings): Side[] {
  const sides = new Map<number, number[]>();
  for (let c = 0; c < box.length; c++) {
    const side = sides.get(2 * box[c] + way[c]);
    if (side) side.push(c);
    else sides.set(2 * box[c] + way[c], [c]);
  }
  return Array.from(sides.values(), (all) => {
    const most = all.reduce((highest, c) => Math.max(highest, use[c]), Use.Aside);
    const best = all.filter((c) => use[c] === most);
    const count = most === Use.Aside ? all.length : all.filter((c) => use[c] !== Use.Aside).length;
    const shown = way[all[0]] === Way.Out ? best.reduce((last, c) => (node[c] > node[last] ? c : last)) : best[0];
    const more = count > 1 ? ` +${count - 1}` : "";
    return { box: box[shown], way: way[shown], text: typeOf(program, node[shown], output[shown], layouts) + more };
  });
}

function typeOf(program: ProgramData, node: number, output: number, layouts: boolean): string {
  const { start, value } = program.outputs;
  const at = start[node] + (output === WHOLE ? 0 : output);
  return at < start[node + 1] ? valueType(program, value[at], layouts) : "?";
}
