/** A view in which a node is visible: the groups around it are expanded. */
import type { ProgramData, ViewSpec, Visible } from "../program/types";
import { groupingOf, levelOf } from "./groups/grouping";
import { buildView } from "./index";

/** A chain of groups around a node is never longer than this. */
const MOST_STEPS = 64;

export interface Revealed {
  readonly visible: Visible;
  /** The specification with what was opened. */
  readonly spec: ViewSpec;
  readonly opened: readonly string[];
  /** The box that shows the node, or -1. */
  readonly revealed: number;
}

/** With a level, the group around the node at that depth (1: the outermost) is revealed instead of the node. */
export function reveal(program: ProgramData, request: ViewSpec, node: number, level = Number.POSITIVE_INFINITY): Revealed {
  const grouping = groupingOf(program, request.groupBy);
  const opened: string[] = [];
  let spec = request;
  let visible = buildView(program, spec);
  for (let step = 0; step < MOST_STEPS; step++) {
    const box: number = visible.boxOfNode[node];
    if (box < 0 || !visible.expandable[box] || visible.node[box] === node || levelOf(visible, box, grouping) >= level) break;
    opened.push(visible.key[box]);
    const open = new Set(opened);
    spec = { ...request, open: [...(request.open ?? []), ...opened], closed: (request.closed ?? []).filter((key) => !open.has(key)) };
    visible = buildView(program, spec);
  }
  let revealed = visible.boxOfNode[node];
  for (
    let around = visible.parent[revealed] ?? -1;
    around >= 0 && levelOf(visible, around, grouping) >= level;
    around = visible.parent[around]
  )
    revealed = around;
  return { visible, spec, opened, revealed };
}
