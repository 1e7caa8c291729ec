/** One box for the nodes of the shown graph that nothing connects with the rest, and for operations whose results lead nowhere. */
import { isArgument } from "../../program/roles";
import { BoxKind, type ProgramData } from "../../program/types";
import { UNCONNECTED } from "../choose/keys";
import { isOpen } from "../choose/options";
import type { Edges } from "../edges/edges";
import { findUnconnected, findUnused } from "../groups/unconnected";
import { Fate } from "./fates";
import type { Instance } from "./instance";
import type { Placement } from "./placement";
import { nodeTitle, plural } from "./texts";

/** One operation alone takes no more room than a box for it, and its name may tell something. Of a weight, buffer or input the box says that it is not used. */
const FEWEST = 2;
/** It is closed until it or everything is expanded: deeper than any module. */
const LEVEL = 100;

interface Aside {
  readonly box: number;
  isMember(node: number): boolean;
}

/** Which nodes of an instance may be put aside, wherever they are: undefined if each is to be seen where it is. */
export function mayBeAside(
  { traits, options, included }: Placement,
  instance: Instance,
  fates: Uint8Array,
): ((node: number) => boolean) | undefined {
  if (instance.outer || instance.flat || included || options.allNodes) return undefined;
  const unconnected = findUnconnected(traits);
  const unused = findUnused(traits);
  return (node) => (unconnected[node] === 1 || unused[node] === 1) && fates[node - instance.first] === Fate.Shown;
}

/** The box of the nodes that are put aside and not inside a closed group; undefined if there are none. */
export function placeUnconnected(
  placement: Placement,
  instance: Instance,
  fates: Uint8Array,
  isSeen: (group: number) => boolean,
): Aside | undefined {
  const { traits, tree, options, boxes, groupDepth } = placement;
  const mayBe = mayBeAside(placement, instance, fates);
  if (!mayBe) return undefined;
  const isMember = (node: number): boolean => mayBe(node) && isSeen(tree.nodeGroup[node]);
  const unconnected = findUnconnected(traits);
  let [members, alone, last, reads] = [0, true, -1, false];
  let module: readonly string[] | undefined;
  for (let n = instance.first; n < instance.first + instance.count; n++) {
    if (!isMember(n)) continue;
    members++;
    last = n;
    module = module ? commonStart(module, modulesOf(traits.program, n)) : modulesOf(traits.program, n);
    if (!unconnected[n] && !isArgument(traits.program.nodeRole[n])) reads = true;
    if (isArgument(traits.program.nodeRole[n]) || tree.nodeGroup[n] >= 0) alone = false;
  }
  if (members === 0 || (members < FEWEST && alone)) return undefined;
  const box = boxes.add(BoxKind.Group, instance.frame, UNCONNECTED, -1, -1);
  const open = isOpen(options, UNCONNECTED, LEVEL, groupDepth);
  boxes.open[box] = open ? 1 : 0;
  boxes.expandable[box] = open ? 0 : 1;
  boxes.title[box] = reads ? "unused" : "unconnected";
  boxes.subtitle[box] =
    members === 1
      ? nodeTitle(traits.program, last, false)
      : [...(module?.length ? [module.join(".")] : []), plural(members, "node")].join(" · ");
  return { box, isMember };
}

function commonStart(a: readonly string[], b: readonly string[]): readonly string[] {
  const at = a.findIndex((name, i) => name !== b[i]);
  return at < 0 ? a : a.slice(0, at);
}

/** The modules around a parameter or buffer, as its name says: AuxLogits and fc, of "AuxLogits.fc.weight". */
function modulesOf({ strings, nodeId, nodeText, nodeRole }: ProgramData, node: number): string[] {
  if (!isArgument(nodeRole[node])) return [];
  return strings
    .at(nodeText[node] >= 0 ? nodeText[node] : nodeId[node])
    .split(".")
    .slice(0, -1);
}

/** What unused operations read is not drawn while their box is collapsed: it leads nowhere. */
export function withoutUnused({ boxes }: Placement, edges: Edges): void {
  const box = boxes.key.indexOf(UNCONNECTED);
  if (box >= 0 && !boxes.open[box])
    edges.remove(Uint8Array.from(edges.target.subarray(0, edges.count), (target) => Number(target === box)));
}
