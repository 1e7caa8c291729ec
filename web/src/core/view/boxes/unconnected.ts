/** One box for the nodes of the shown graph that nothing connects with the rest. */
import { Role } from "../../program/roles";
import { BoxKind } from "../../program/types";
import { UNCONNECTED } from "../choose/keys";
import { isOpen } from "../choose/options";
import { findUnconnected } from "../groups/unconnected";
import { Fate } from "./fates";
import type { Instance } from "./instance";
import type { Placement } from "./placement";
import { nodeTitle, plural } from "./texts";

/** One alone takes no more room than a box for it, and its name may tell something. A buffer's does not: the box says that it is not used. */
const FEWEST = 2;
/** It is closed until it or everything is expanded: deeper than any module. */
const LEVEL = 100;

interface Aside {
  readonly box: number;
  isMember(node: number): boolean;
}

/** Undefined if there is no such node, or each is to be seen where it is. */
export function placeUnconnected(
  placement: Placement,
  instance: Instance,
  fates: Uint8Array,
  isAtTop: (group: number) => boolean,
): Aside | undefined {
  const { traits, tree, options, boxes, included, groupDepth } = placement;
  if (instance.outer || instance.flat || included || options.allNodes) return undefined;
  const unconnected = findUnconnected(traits);
  const isMember = (node: number): boolean =>
    unconnected[node] === 1 && isAtTop(tree.nodeGroup[node]) && fates[node - instance.first] === Fate.Shown;
  let [members, buffers, last] = [0, 0, -1];
  for (let n = instance.first; n < instance.first + instance.count; n++) {
    if (!isMember(n)) continue;
    members++;
    last = n;
    if (traits.program.nodeRole[n] === Role.Buffer) buffers++;
  }
  if (members < FEWEST && buffers === 0) return undefined;
  const box = boxes.add(BoxKind.Group, instance.frame, UNCONNECTED, -1, -1);
  const open = isOpen(options, UNCONNECTED, LEVEL, groupDepth);
  boxes.open[box] = open ? 1 : 0;
  boxes.expandable[box] = open ? 0 : 1;
  boxes.title[box] = "unconnected";
  boxes.subtitle[box] = members === 1 ? nodeTitle(traits.program, last, false) : plural(members, "node");
  return { box, isMember };
}
