/** The shown graph as one box, with what it takes and returns around it: closed, it is one node; open, a frame around the operations. */

import { BoxKind } from "../../program/types";
import { Forwards } from "../../program/ops";
import { isArgument, Role } from "../../program/roles";
import { ROOT_KEY } from "../choose/keys";
import { MOST_INPUTS } from "../groups/assignUngrouped";
import type { Traits } from "../traits";
import type { Instance } from "./instance";
import type { Placement } from "./placement";
import { groupSubtitle } from "./texts";

/** The box of the shown graph, or -1 if it has none: it is open, and nobody asked for its frame. */
export function placeRoot({ options, included, boxes, traits }: Placement, graph: number): number {
  // A part of a graph is not the graph, and halves are next to each other without a frame around both.
  if (included || options.flatten || options.forwardBackward) return -1;
  const closed = options.closed.has(ROOT_KEY);
  if (!closed && !options.frames) return -1;
  const { program } = traits;
  const box = boxes.add(BoxKind.Group, -1, ROOT_KEY, -1, -1);
  boxes.open[box] = closed ? 0 : 1;
  boxes.expandable[box] = closed ? 1 : 0;
  boxes.title[box] = graph === program.entry ? program.name : program.strings.at(program.graphName[graph]);
  const { operations, parameters } = contentsOf(traits, graph);
  boxes.subtitle[box] = groupSubtitle("", operations, parameters);
  return box;
}

/** Is an instance the shown graph, closed to one node? */
export function isClosedRoot({ boxes }: Placement, instance: Instance): boolean {
  return !instance.outer && instance.frame >= 0 && boxes.open[instance.frame] === 0;
}

/**
 * Which nodes of the shown graph are outside its box: its output, and its inputs. Where the program does not tell inputs from weights, as HLO,
 * every parameter is an input that no group contains.
 */
export function outsideRoot({ options, traits, tree }: Placement, graph: number): (node: number) => boolean {
  const { program, plumbing, index } = traits;
  const { nodeRole } = program;
  const first = program.graphStart[graph];
  const roles = nodeRole.subarray(first, program.graphStart[graph + 1]);
  const isInput = roles.includes(Role.Input) ? (role: number) => role === Role.Input : isArgument;
  const isFree = (node: number) => tree.nodeGroup[node] < 0 && !options.hiddenRole[nodeRole[node]];
  const inputs = roles.reduce((count, role, i) => (isInput(role) && isFree(first + i) ? count + 1 : count), 0);
  return (node) => {
    if (!isFree(node)) return false;
    const isResult = nodeRole[node] === Role.Output || (index.isOutput[node] === 1 && plumbing.kind[node] === Forwards.Tuple);
    return isResult || (inputs <= MOST_INPUTS && isInput(nodeRole[node]));
  };
}

/** The operations of a graph, as the titles of groups count them, and the elements of its parameters. */
export function contentsOf({ program, plumbing, small }: Traits, graph: number): { operations: number; parameters: number } {
  const { graphStart, nodeRole, outputs, types } = program;
  let operations = 0;
  let parameters = 0;
  for (let n = graphStart[graph]; n < graphStart[graph + 1]; n++) {
    if (nodeRole[n] === Role.Op && plumbing.kind[n] === Forwards.Nothing && !small.is[n]) operations++;
    if (nodeRole[n] !== Role.Parameter) continue;
    for (let i = outputs.start[n]; i < outputs.start[n + 1]; i++) parameters += Math.max(0, types.elements[outputs.value[i]]);
  }
  return { operations, parameters };
}
