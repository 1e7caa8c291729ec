/** The view: from a Program and a specification of what to show to boxes and edges. */

import type { ProgramData, ViewSpec, Visible } from "../program/types";
import { build } from "./build";
import { initialView } from "./initial/expansion";
import { buildTwoHalves } from "./twoHalves/columns";

export { DEFAULT_RULES } from "./choose/options";

/** Throws only for a graph that does not exist; other unknown names become remarks. */
export function buildView(program: ProgramData, spec: ViewSpec): Visible {
  if (spec.forwardBackward) return buildTwoHalves(program, spec);
  return spec.depth === undefined && !spec.flatten ? initialView(program, spec) : build(program, spec);
}
