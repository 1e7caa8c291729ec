/** A view in which a node is visible: the groups around it are expanded, and it has a box. */
import { indexOf } from "../program/programIndex";
import { BoxKind, type ProgramData, type ViewSpec, type Visible } from "../program/types";
import { escapeName } from "./choose/keys";
import { groupingOf, levelOf } from "./groups/grouping";
import { buildView } from "./index";

/** A chain of groups around a node is never longer than this. */
const MOST_STEPS = 64;

export interface Revealed {
  readonly visible: Visible;
  /** The specification with what was opened and unfolded. */
  readonly spec: ViewSpec;
  readonly opened: readonly string[];
  readonly unfolded: readonly string[];
  /** The box that shows the node, or -1. */
  readonly revealed: number;
}

/** With a level, the group around the node at that depth (1: the outermost) is revealed instead of the node. */
export function reveal(program: ProgramData, request: ViewSpec, node: number, level = Number.POSITIVE_INFINITY): Revealed {
  const grouping = groupingOf(program, request.groupBy);
  const opened: string[] = [];
  const unfolded: string[] = [];
  let spec = request;
  let visible = buildView(program, spec);
  for (let step = 0; step < MOST_STEPS; step++) {
    const box: number = visible.boxOfNode[node];
    if (box < 0 || visible.node[box] === node || levelOf(visible, box, grouping) >= level) break;
    if (isInside(program, visible, box, node)) opened.push(visible.key[box]);
    else if (visible.folded[node] && unfolded.length === 0 && level === Number.POSITIVE_INFINITY)
      unfolded.push(keyOf(program, visible, node));
    else break;
    const open = new Set(opened);
    spec = {
      ...request,
      open: [...(request.open ?? []), ...opened],
      closed: (request.closed ?? []).filter((key) => !open.has(key)),
      unfolded: [...(request.unfolded ?? []), ...unfolded],
    };
    visible = buildView(program, spec);
  }
  let revealed = visible.boxOfNode[node];
  for (
    let around = visible.parent[revealed] ?? -1;
    around >= 0 && levelOf(visible, around, grouping) >= level;
    around = visible.parent[around]
  )
    revealed = around;
  return { visible, spec, opened, unfolded, revealed };
}

/** Does a closed box hide the node among what is inside it? An operand that is text in the box of a call is not inside the call. */
function isInside(program: ProgramData, { expandable, kind, node: nodes }: Visible, box: number, node: number): boolean {
  if (!expandable[box]) return false;
  const { graphOf } = indexOf(program);
  return kind[box] === BoxKind.Group || nodes[box] < 0 || graphOf[nodes[box]] !== graphOf[node];
}

function keyOf(program: ProgramData, { keyPrefix }: Visible, node: number): string {
  const index = indexOf(program);
  return `${keyPrefix[index.graphOf[node]] ?? ""}n:${escapeName(index.id(node))}`;
}
