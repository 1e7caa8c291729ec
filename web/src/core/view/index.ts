/** The view: from a Program and a description of what is to be seen to boxes and edges. */

import type { ProgramData, ViewSpec, Visible } from "../program/types";
import { build } from "./build";
import { initialExpansion } from "./initial/expansion";
import { buildBeside } from "./twoHalves/columns";

export { DEFAULT_RULES } from "./choose/options";

/** Throws only for a graph that does not exist; other names that lead nowhere become remarks. */
export function buildView(program: ProgramData, spec: ViewSpec): Visible {
  if (spec.forwardBackward) return buildBeside(program, spec);
  return spec.depth === undefined && !spec.flatten ? build(program, initialExpansion(program, spec)) : build(program, spec);
}
