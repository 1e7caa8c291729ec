/** Layout of boxes and edges: one container alone (`layoutFlat`) or boxes in boxes (`layoutCompound`). */
export { layoutBeside } from "./beside";
export type { Halves } from "./blocks";
export { LayoutCache } from "./cache";
export { layoutCompound } from "./compound";
export { layoutFlat } from "./flat";
export type { CompoundGraph, CompoundLayout, FlatGraph, FlatLayout, LayoutOptions } from "./types";
