/** Names that Python gives to groupings, halves, links and metrics, and that the viewer goes by. A test compares them. */
import type { Grouping, ProgramData } from "./types";

export const MODULE = "module";
export const DIRECTION = "direction";
/** The group of the operations of a module that compute positions and masks (`analysis/index_ops.py`). */
export const POSITION_AND_MASK = "position and mask";
export const SOURCE_LINE = "source line";
/** Halves of a training step, which are groups of the grouping by direction. */
export const FORWARD = "forward";
export const RECOMPUTED = "recomputed";
export const BACKWARD = "backward";
export const UPDATE = "update";
/** The attribute of a node whose half is inferred, because the program does not say it. */
export const INFERRED_ATTR = "opscope.direction_inferred";
/** The attribute of a launch of a kernel that is the kernel's text. */
export const CODE_ATTR = "code";
/** The attribute of a node that computes several lines of the user's program: each as [file, line, function]. */
export const LINES_ATTR = "opscope.lines";
/** The kind of a link from a backward node to the forward node that it differentiates. */
export const BACKWARD_OF = "backward_of";

/** How the name of a metric ends that is a difference of two programs, after − before. */
export const CHANGE = " change";

export function isChange({ name }: { readonly name: string }): boolean {
  return name.endsWith(CHANGE);
}

/** "mlp: LlamaMLP" is the group `mlp` of class `LlamaMLP`. */
export function nameAndClass(name: string): [string, string] {
  const at = name.indexOf(": ");
  return at > 0 ? [name.slice(0, at), name.slice(at + 2)] : [name, ""];
}

export function groupingNamed({ groupings }: ProgramData, name: string): Grouping | undefined {
  return groupings.find((grouping) => grouping.name === name);
}
