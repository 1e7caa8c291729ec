/** A first picture on a screen with room to spare: collapsed groups are expanded, as long as it can be read and the eye can follow. */
import type { Size } from "../../base/camera";
import { POSITION_AND_MASK } from "../../program/names";
import { BoxKind, type Visible } from "../../program/types";
import { UNCONNECTED } from "../choose/keys";
import { pagesIn } from "./camera";
import { PAGE } from "./depth";
import { isCalm, wideGroups } from "./expansion";
import { type Arranged, scaleIn } from "./fitToScreen";

/** The least scale at which groups are expanded because there is room: people sit as far from a large screen as from a small one, or farther. */
const COMFORTABLE = 1;
/** Views that are tried. In a program with more nodes than this, each of them takes too long. */
const MOST_TRIED = 8;
const MOST_NODES = 200_000;

/** An operation and its weight say no more when they are seen one by one. */
const LITTLE_INSIDE = 2;

/** A picture of at most so many boxes, none of them open, shows nothing of a program that has more operations. */
const LITTLE = 6;
/** How many boxes its first group may have: more than fit on a screen, but people see the beginning and scroll. */
export const MOST_IN_FIRST = 5 * PAGE;

/** The first group in the flow of a picture that shows nothing: of a step without modules, the forward half. */
export function groupToShow({ boxCount, open, expandable, kind, nodesInside, key }: Visible): string | undefined {
  if (boxCount > LITTLE || open.includes(1)) return undefined;
  const first = kind.findIndex((each, box) => each === BoxKind.Group && expandable[box] === 1 && nodesInside[box] > LITTLE);
  return first < 0 ? undefined : key[first];
}

/** How many boxes a picture may have in this much room; 0: no more than it has. */
export function boxesFor(room: Size, { boxOfNode }: Visible): number {
  return boxOfNode.length <= MOST_NODES ? Math.floor(PAGE * pagesIn(room)) : 0;
}

/**
 * `first` with as many groups expanded as the room allows; `arrange` refuses (undefined) what has too many boxes, and continues from the best
 * so far. Groups of which equals stay closed (`amongClosed`) are not expanded. All layers are expanded together or, where that is too much, the first of them in each half of a training step.
 */
export function fillScreen<A extends Arranged>(
  room: Size,
  first: A,
  arrange: (opened: readonly string[], before: A) => A | undefined,
  amongClosed: (visible: Visible) => readonly string[] = () => [],
): A & { readonly opened: readonly string[] } {
  let best = { ...first, opened: [] as readonly string[] };
  const refused = new Set<string>();
  // Expanding a group makes a picture larger: one that has no room to spare is not tried with more.
  let tried = scaleIn(room, first.size ?? first.layout) < COMFORTABLE ? MOST_TRIED : 0;
  const expand = (keys: readonly string[], evenly: boolean): boolean => {
    const opened = [...best.opened, ...keys];
    const fuller = tried++ < MOST_TRIED ? arrange(opened, best) : undefined;
    const fits =
      fuller && scaleIn(room, fuller.size ?? fuller.layout) >= COMFORTABLE && isCalm(fuller.visible) && !hasWide(fuller.visible, keys);
    if (fits && evenly && amongClosed(fuller.visible).some((key) => keys.includes(key))) return false;
    if (fits) best = { ...fuller, opened };
    return fits ?? false;
  };
  while (tried < MOST_TRIED) {
    const { key, title } = best.visible;
    const kin = largestKin(best.visible, refused);
    if (kin.length === 0) break;
    if (
      expand(
        kin.map((box) => key[box]),
        true,
      )
    )
      continue;
    for (const box of kin) refused.add(key[box]);
    const alike = kin.filter((box) => title[box] === title[kin[0]]);
    if (alike.length < kin.length)
      expand(
        alike.map((box) => key[box]),
        false,
      );
  }
  return best;
}

/** The collapsed groups whose names differ only in a number, of those that hold the most. */
function largestKin(view: Visible, refused: ReadonlySet<string>): number[] {
  const kins = new Map<string, { readonly boxes: number[]; nodes: number }>();
  for (let box = 0; box < view.boxCount; box++) {
    const isGroup = view.kind[box] === BoxKind.Group || view.kind[box] === BoxKind.Stack;
    const isAside = view.title[box] === POSITION_AND_MASK || view.key[box] === UNCONNECTED;
    if (!isGroup || !view.expandable[box] || view.nodesInside[box] <= LITTLE_INSIDE || refused.has(view.key[box]) || isAside) continue;
    const name = view.title[box].replace(/\d+/g, "#").replace(/[_.]#$/, "");
    const kin = kins.get(name) ?? { boxes: [], nodes: 0 };
    kin.boxes.push(box);
    kin.nodes += view.nodesInside[box];
    kins.set(name, kin);
  }
  let largest: { readonly boxes: number[]; readonly nodes: number } = { boxes: [], nodes: 0 };
  for (const kin of kins.values()) if (kin.nodes > largest.nodes) largest = kin;
  return largest.boxes;
}

function hasWide(view: Visible, keys: readonly string[]): boolean {
  const opened = new Set(keys);
  return wideGroups(view).some((box) => opened.has(view.key[box]));
}
