/**
 * Frames that contain only one other frame are drawn as one: "forward › layer_1 › attention" is one frame, not three nested
 * ones. For pictures that are not interactive; the page draws every frame, because each can be collapsed.
 */
import { BoxKind, type Visible } from "../program/types";

export function mergeLoneFrames(visible: Visible): Visible {
  const into = absorbed(visible);
  const remaining: number[] = [];
  const number = new Int32Array(visible.boxCount);
  for (let box = 0; box < visible.boxCount; box++) {
    if (into[box] === box) number[box] = remaining.push(box) - 1;
  }
  if (remaining.length === visible.boxCount) return visible;
  for (let box = 0; box < visible.boxCount; box++) number[box] = number[into[box]];
  const renumbered = (box: number) => (box < 0 ? -1 : number[box]);
  const { title, subtitle } = joinedTitles(visible, into);
  const pick = <T>(column: readonly T[]) => remaining.map((box) => column[box]);
  return {
    ...visible,
    boxCount: remaining.length,
    kind: Uint8Array.from(remaining, (box) => visible.kind[box]),
    parent: Int32Array.from(remaining, (box) => renumbered(visible.parent[box])),
    open: Uint8Array.from(remaining, (box) => visible.open[box]),
    expandable: Uint8Array.from(remaining, (box) => visible.expandable[box]),
    node: Int32Array.from(remaining, (box) => visible.node[box]),
    group: Int32Array.from(remaining, (box) => visible.group[box]),
    category: Uint8Array.from(remaining, (box) => visible.category[box]),
    key: pick(visible.key),
    title: pick(title),
    subtitle: pick(subtitle),
    notes: pick(visible.notes),
    repeat: Int32Array.from(remaining, (box) => visible.repeat[box]),
    nodesInside: Int32Array.from(remaining, (box) => visible.nodesInside[box]),
    edgeSource: visible.edgeSource.map(renumbered),
    edgeTarget: visible.edgeTarget.map(renumbered),
    boxOfNode: visible.boxOfNode.map(renumbered),
  };
}

const isFrame = (visible: Visible, box: number): boolean => visible.open[box] === 1 && visible.repeat[box] === 1;

/** The frame that each box is drawn as: itself, or the outermost of a chain of lone frames. */
function absorbed(visible: Visible): Int32Array {
  const children = new Int32Array(visible.boxCount);
  for (let box = 0; box < visible.boxCount; box++) if (visible.parent[box] >= 0) children[visible.parent[box]]++;
  const into = new Int32Array(visible.boxCount).fill(-1);
  const trail: number[] = [];
  for (let start = 0; start < visible.boxCount; start++) {
    let box = start;
    while (into[box] < 0) {
      const outer = visible.parent[box];
      const lone =
        outer >= 0 && children[outer] === 1 && visible.kind[box] === BoxKind.Group && isFrame(visible, box) && isFrame(visible, outer);
      trail.push(box);
      if (!lone) {
        into[box] = box;
        break;
      }
      box = outer;
    }
    const head = into[box];
    while (trail.length) into[trail.pop()!] = head;
  }
  return into;
}

/** Names from the outside in; the subtitle of the innermost. */
function joinedTitles(visible: Visible, into: Int32Array): { title: string[]; subtitle: string[] } {
  const title = [...visible.title];
  const subtitle = [...visible.subtitle];
  const isLast = new Uint8Array(visible.boxCount);
  for (let box = 0; box < visible.boxCount; box++) isLast[box] = into[box] === box ? 0 : 1;
  for (let box = 0; box < visible.boxCount; box++) if (into[box] !== box) isLast[visible.parent[box]] = 0;
  for (let last = 0; last < visible.boxCount; last++) {
    if (!isLast[last]) continue;
    const head = into[last];
    const names: string[] = [];
    for (let box = last; box !== head; box = visible.parent[box]) names.push(visible.title[box]);
    title[head] = [visible.title[head], ...names.reverse()].join(" › ");
    subtitle[head] = visible.subtitle[last];
  }
  return { title, subtitle };
}
