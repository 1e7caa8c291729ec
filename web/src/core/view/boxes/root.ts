/** The shown graph as one box: closed, it is all there is; open, it is a frame around everything. */

import { BoxKind } from "../../program/types";
import { Forwards } from "../../program/ops";
import { Role } from "../../program/roles";
import { ROOT_KEY } from "../choose/keys";
import type { Traits } from "../traits";
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
