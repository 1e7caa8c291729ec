/** A view specification with all defaults. */

import { EVERYTHING_INSIDE, isInside, splitNodeKey } from "./keys";
import { type SpecOption, withDefaults } from "../../program/options";
import type { ViewOptions } from "../../program/viewOptions";
import { type DrawingRules, ROLES, type ViewSpec } from "../../program/types";

export const DEFAULT_RULES: DrawingRules = {
  inlineSmall: true,
  inlineReducers: true,
  stubs: true,
  plumbing: true,
  liftSingles: true,
};

/** The rules of a picture in which every node is a box. */
const NOTHING_FOLDED: Partial<DrawingRules> = { inlineSmall: false, inlineReducers: false, stubs: false, plumbing: false };

export interface Options extends Pick<ViewOptions, SpecOption> {
  readonly open: ReadonlySet<string>;
  /** Containers that are open with all groups inside. */
  readonly openInside: readonly string[];
  readonly closed: ReadonlySet<string>;
  readonly unfolded: ReadonlySet<string>;
  /** The nodes among them: their ids, by what precedes these in their keys. */
  readonly unfoldedNodes: ReadonlyMap<string, readonly string[]>;
  readonly rules: DrawingRules;
  readonly hiddenRole: Uint8Array;
}

export function readOptions(spec: ViewSpec): Options {
  const hiddenRole = new Uint8Array(ROLES.length);
  for (const role of spec.hideRoles ?? []) if (ROLES.includes(role)) hiddenRole[ROLES.indexOf(role)] = 1;
  const chosen = withDefaults(spec);
  return {
    ...chosen,
    open: new Set(spec.open),
    openInside: (spec.open ?? []).filter((key) => key.endsWith(EVERYTHING_INSIDE)).map((key) => key.slice(0, -EVERYTHING_INSIDE.length)),
    closed: new Set(spec.closed),
    unfolded: new Set(spec.unfolded),
    unfoldedNodes: byPrefix(spec.unfolded ?? []),
    rules: {
      ...DEFAULT_RULES,
      ...spec.rules,
      ...(chosen.allNodes ? NOTHING_FOLDED : {}),
      ...(chosen.frames ? { liftSingles: false } : {}),
    },
    hiddenRole,
  };
}

function byPrefix(keys: readonly string[]): Map<string, string[]> {
  const ids = new Map<string, string[]>();
  for (const key of keys) {
    const node = splitNodeKey(key);
    if (!node) continue;
    const listed = ids.get(node.prefix);
    if (listed) listed.push(node.id);
    else ids.set(node.prefix, [node.id]);
  }
  return ids;
}

/** Is a container open? Keys that the person opened or closed take precedence over the depth. */
export function isOpen(options: Options, key: string, level: number, depth: number): boolean {
  if (options.closed.has(key)) return false;
  return level < depth || options.open.has(key) || options.openInside.some((container) => isInside(key, container));
}
