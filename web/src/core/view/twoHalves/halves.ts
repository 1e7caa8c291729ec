/** The forward and the backward half of a view that is grouped by direction, and which groups of them belong together. */
import type { Halves } from "../../base/halves";
import { memoized } from "../../base/memoized";
import { BACKWARD, BACKWARD_OF, DIRECTION, FORWARD, groupingNamed } from "../../program/names";
import { BoxKind, type Grouping, type ProgramData, type Visible } from "../../program/types";
import { countText } from "../../text/quantities";

/** What has the names that HLO from `as_hlo_text()` does not have. */
export const WITH_NAMES = 'lowered.as_text("hlo", debug_info=True), or opscope.capture';
/** What to say where there are no halves, with how to get them. */
export const NO_HALVES = `This graph has no forward and backward halves. If it is a training step, keep its names: ${WITH_NAMES}.`;

/** In a picture of more boxes, halves beside each other would be hundreds of screens deep; as other groups, they are drawn in columns. */
const MOST_BESIDE = 3000;
export const TOO_DEEP = `Backward layers are not lined up with forward ones: this picture has more than ${countText(MOST_BESIDE)} boxes.`;

export const isTooDeep = ({ boxCount }: Visible): boolean => boxCount > MOST_BESIDE;

/** A module that is only a number is shown with the name of the module around it. */
const HALF_PREFIX = new RegExp(`^(?:${FORWARD}|${BACKWARD})\\.`);
/** Frames that are drawn as one have their names joined. */
const WITHIN = " › ";

/**
 * The grouping that has the halves: by direction or, where a program does not say the direction of its nodes, its first one if its outermost
 * groups are called forward and backward. Backward must read something of forward: the two halves of a bidirectional network do not.
 */
export const halvesGrouping = memoized((program: ProgramData): Grouping | undefined => {
  const byDirection = groupingNamed(program, DIRECTION);
  const first = program.groupings.at(0);
  if (byDirection || !first) return byDirection;
  const { groupCount, groupGraph, groupName, groupParent, nodeGroup } = first;
  const half = new Uint8Array(groupCount);
  for (let group = 0; group < groupCount; group++) {
    const name = groupParent[group] < 0 && groupGraph[group] === program.entry ? program.strings.at(groupName[group]) : "";
    half[group] = groupParent[group] < 0 ? (name === FORWARD ? 1 : name === BACKWARD ? 2 : 0) : half[groupParent[group]];
  }
  if (!half.includes(1) || !half.includes(2)) return undefined;
  const { inputs, graphStart, entry } = program;
  const halfOf = (node: number): number => (nodeGroup[node] < 0 ? 0 : half[nodeGroup[node]]);
  for (let node = graphStart[entry]; node < graphStart[entry + 1]; node++) {
    if (halfOf(node) !== 2) continue;
    for (let i = inputs.start[node]; i < inputs.start[node + 1]; i++) if (halfOf(inputs.value[i]) === 1) return first;
  }
  return undefined;
});

/** Undefined if the view does not have two halves at its top. With the program, operations are paired too, not only groups. */
export function halvesOf(visible: Visible, program?: ProgramData): Halves | undefined {
  let forward = -1;
  let backward = -1;
  for (let box = 0; box < visible.boxCount; box++) {
    if (visible.parent[box] >= 0 || visible.kind[box] !== BoxKind.Group) continue;
    const name = visible.title[box].split(WITHIN)[0];
    if (name === FORWARD) forward = box;
    else if (name === BACKWARD) backward = box;
  }
  if (forward < 0 || backward < 0) return undefined;
  const paths = pathsWithin(visible);
  const ahead = new Map<string, number[]>();
  const back = new Map<string, number[]>();
  for (let box = 0; box < visible.boxCount; box++) {
    const path = paths[box];
    if (path === undefined || box === forward || box === backward) continue;
    const [half, within] = [path.slice(0, path.indexOf("/")), path.slice(path.indexOf("/") + 1)];
    const side = half === FORWARD ? ahead : half === BACKWARD ? back : undefined;
    const list = side?.get(within);
    if (list) list.push(box);
    else side?.set(within, [box]);
  }
  const pairs: [number, number][] = [];
  for (const [path, boxes] of ahead) {
    // What comes first forward comes last backward.
    const others = [...(back.get(path) ?? [])].reverse();
    boxes.slice(0, others.length).forEach((box, i) => {
      pairs.push([box, others[i]]);
    });
  }
  if (program) pairs.push(...differentiated(visible, program, backward));
  return { forward, backward, pairs };
}

/** Operations and the first backward operation that differentiates them; what is recomputed for that is in neither half. */
function differentiated(visible: Visible, { links, strings }: ProgramData, backward: number): [number, number][] {
  const isBackward = (box: number): boolean => {
    while (box >= 0 && box !== backward) box = visible.parent[box];
    return box === backward;
  };
  const pairs: [number, number][] = [];
  const taken = new Set<number>();
  for (let box = 0; box < visible.boxCount; box++) {
    const node = visible.kind[box] === BoxKind.Node ? visible.node[box] : -1;
    if (node < 0 || taken.has(box) || links.start[node] === links.start[node + 1] || !isBackward(box)) continue;
    for (let i = links.start[node]; i < links.start[node + 1]; i++) {
      const other = visible.boxOfNode[links.extra[i]];
      if (other < 0 || taken.has(other) || visible.node[other] !== links.extra[i] || strings.at(links.value[i]) !== BACKWARD_OF) continue;
      pairs.push([other, box]);
      taken.add(other).add(box);
      break;
    }
  }
  return pairs;
}

/** Names of the groups around each group, from the outside in; undefined for operations and for what is in no group. */
function pathsWithin(visible: Visible): (string | undefined)[] {
  const paths: (string | undefined)[] = new Array(visible.boxCount).fill(undefined);
  const trail: number[] = [];
  for (let start = 0; start < visible.boxCount; start++) {
    if (!isGroup(visible, start)) continue;
    let box = start;
    while (box >= 0 && paths[box] === undefined) {
      trail.push(box);
      box = visible.parent[box];
    }
    let path = box < 0 ? "" : `${paths[box]}/`;
    while (trail.length) {
      const inner = trail.pop()!;
      paths[inner] = path + nameOf(visible, inner);
      path = `${paths[inner]}/`;
    }
  }
  return paths;
}

const isGroup = (visible: Visible, box: number): boolean =>
  visible.kind[box] === BoxKind.Group || visible.kind[box] === BoxKind.Stack || visible.kind[box] === BoxKind.Call;

/** A stack has the name that its members share, a called graph its name without the number that makes it unique. */
function nameOf(visible: Visible, box: number): string {
  const title = visible.title[box].split(WITHIN).join("/").replace(HALF_PREFIX, "");
  if (visible.repeat[box] > 1) return title.replace(/\d+/g, "#");
  return visible.kind[box] === BoxKind.Call ? title.replace(/[_.]\d+$/, "") : title;
}
