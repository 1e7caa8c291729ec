/** Before and after next to each other are drawn alike: what is expanded, folded and chosen in one is so in the other. */
import { ADDRESS_OPTIONS } from "../../core/program/options";
import { BoxKind } from "../../core/program/types";
import type { Shown } from "../canvas/shown";
import type { ViewState } from "../state/view";

/** What part of a program is seen, and of which pass, each says for itself: it names nodes. */
const OWN: ReadonlySet<string> = new Set(["graph", "around", "hops", "stopAt", "paths", "limit", "diff"]);
const SHARED = ADDRESS_OPTIONS.filter((name) => !OWN.has(name));
const KEYS = ["open", "closed", "unfolded"] as const;
/** In a picture of more boxes, every key in the address would be too many. */
const MOST_BOXES = 500;

type Alike = Pick<ViewState, (typeof SHARED)[number] | (typeof KEYS)[number]>;

/** What two views share. */
export function sharedBy(view: ViewState): Alike {
  return Object.fromEntries([...SHARED, ...KEYS].map((name) => [name, view[name]])) as unknown as Alike;
}

/** `other` with what a person has changed in a view; itself if nothing of that is shared. */
export function alike(other: ViewState, before: ViewState, after: ViewState): ViewState {
  if (before.graph !== after.graph || before.source !== after.source) return other;
  const chosen = SHARED.filter((name) => !isSame(before[name], after[name])).map((name) => [name, after[name]]);
  const keys = KEYS.filter((name) => before[name] !== after[name]).map((name) => [name, changed(other[name], before[name], after[name])]);
  const next = { ...other, ...Object.fromEntries([...chosen, ...keys]) };
  return isSame(sharedBy(next), sharedBy(other)) ? other : next;
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function changed(keys: readonly string[], before: readonly string[], after: readonly string[]): readonly string[] {
  const [was, is] = [new Set(before), new Set(after)];
  const all = new Set(keys.filter((key) => is.has(key) || !was.has(key)));
  for (const key of after) if (!was.has(key)) all.add(key);
  return [...all];
}

/** A view that says which groups are open in its picture, where that was up to the program: of another program it would be others. */
export function asOpen(view: ViewState, { scene, result }: Shown): ViewState {
  if (view.depth !== undefined || view.flatten || scene.boxCount > MOST_BOXES) return view;
  const [open, closed] = [new Set(view.open), new Set(view.closed)];
  for (let box = 0; box < result.open.length; box++) {
    const isGroup = scene.kind[box] === BoxKind.Group || scene.kind[box] === BoxKind.Stack;
    if (result.open[box]) open.add(scene.key[box]);
    else if (isGroup && scene.expandable[box]) closed.add(scene.key[box]);
  }
  return { ...view, open: [...open], closed: [...closed] };
}
