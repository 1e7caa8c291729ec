/** Places for the boxes of a view: the usual way, or with its two halves beside each other. */
import { type CompoundLayout, type LayoutCache, layoutBeside, layoutCompound, type LayoutOptions } from "../layout";
import type { ProgramData, Visible } from "../program/types";
import { halvesOf } from "../view/twoHalves/halves";
import { measure } from "./measure";

export function layoutView(
  program: ProgramData,
  visible: Visible,
  beside: boolean,
  options: LayoutOptions,
  cache?: LayoutCache,
  previousX?: Float64Array,
): CompoundLayout {
  const graph = measure(visible, previousX);
  const halves = beside ? halvesOf(visible, program) : undefined;
  return halves ? layoutBeside(graph, halves, options, cache) : layoutCompound(graph, options, cache);
}
