/** Layout of boxes and edges: one container alone (`layoutFlat`) or boxes in boxes (`layoutCompound`). */
export { layoutTwoHalves } from "./twoHalves/twoHalves";
export { LayoutCache } from "./compound/cache";
export { layoutCompound } from "./compound/compound";
export { layoutDeep } from "./deep";
export { layoutFlat } from "./flat";
export type { CompoundGraph, CompoundLayout, FlatGraph, FlatLayout, LayoutOptions } from "./types";
