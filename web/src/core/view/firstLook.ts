/**
 * What a program shows before anybody has asked for anything: as much as a page holds and the eye can follow.
 *
 * It depends on the program alone and not on what a person has opened since, so that opening a group moves nothing else.
 */

import { BoxKind, type ProgramData, type ViewSpec, type Visible } from "../types";
import { build } from "./index";
import { prepare } from "./prepare";

/** More lines than this for each box are a tangle. */
const EDGES_PER_BOX = 4;
const ALWAYS_CALM = 80;
const PAGE = 60;
const FEW = 10;
/** Building a view of 100,000 nodes takes a few hundredths of a second; a first look tries only so many. */
const MOST_TRIED = 4;

export interface FirstLook {
  /** Undefined: as deep as a page holds. */
  readonly depth: number | undefined;
  /** Groups that are open beyond that depth. */
  readonly open: readonly string[];
}

const AS_IT_FITS: FirstLook = { depth: undefined, open: [] };

/** A description without a depth, with what the first look opens added to it. */
export function fromFirstLook(program: ProgramData, spec: ViewSpec): ViewSpec {
  if (spec.around || spec.paths || spec.only) return spec;
  const { depth, open } = firstLook(program, spec);
  if (depth === undefined) return spec;
  const closed = new Set(spec.closed);
  return { ...spec, depth, calls: false, open: [...open.filter((key) => !closed.has(key)), ...(spec.open ?? [])] };
}

function firstLook(program: ProgramData, { graph, grouping, rules, hideRoles, values }: ViewSpec): FirstLook {
  const plain: ViewSpec = { graph, grouping, rules, hideRoles, values };
  const known = prepare(program).firstLooks;
  const key = JSON.stringify(plain);
  let look = known.get(key);
  if (!look) {
    const closed = build(program, plain);
    look = isCalm(closed) ? openTheFewCalls(program, { ...plain, calls: false }, closed) : openOneByOne(program, { ...plain, calls: false });
    known.set(key, look);
  }
  return look;
}

/** A graph of a few boxes that mostly calls others (two halves of a step, one loop) says nothing closed: its calls are opened. */
function openTheFewCalls(program: ProgramData, plain: ViewSpec, closed: Visible): FirstLook {
  if (closed.boxCount > FEW) return AS_IT_FITS;
  const open: string[] = [];
  for (let b = 0; b < closed.boxCount; b++) {
    if (!closed.expandable[b] || closed.kind[b] !== BoxKind.Call) continue;
    const tried = build(program, { ...plain, depth: 1, open: [...open, closed.key[b]] });
    if (tried.boxCount <= PAGE && isCalm(tried)) open.push(closed.key[b]);
  }
  return open.length > 0 ? { depth: 1, open } : AS_IT_FITS;
}

/** Everything closed, then the smallest groups opened as long as the picture stays calm. */
function openOneByOne(program: ProgramData, plain: ViewSpec): FirstLook {
  const closed = build(program, { ...plain, depth: 0 });
  const groups: number[] = [];
  for (let b = 0; b < closed.boxCount; b++) {
    if (closed.expandable[b] && closed.kind[b] === BoxKind.Group) groups.push(b);
  }
  groups.sort((a, b) => closed.nodesInside[a] - closed.nodesInside[b]);
  const open: string[] = [];
  for (const b of groups.slice(0, MOST_TRIED)) {
    const tried = build(program, { ...plain, depth: 0, open: [...open, closed.key[b]] });
    if (tried.boxCount <= PAGE && isCalm(tried)) open.push(closed.key[b]);
  }
  return { depth: 0, open };
}

function isCalm(view: Visible): boolean {
  return view.edgeCount <= Math.max(ALWAYS_CALM, EDGES_PER_BOX * view.boxCount);
}
