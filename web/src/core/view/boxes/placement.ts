/** A view under construction: the options, and the boxes placed so far. */
import type { Options } from "../choose/options";
import type { Folding } from "../groups/fold";
import type { Repeats } from "../groups/repeats";
import type { GroupTree } from "../groups/tree";
import type { Traits } from "../traits";
import type { Boxes } from "./boxes";
import type { Instance } from "./instance";

export interface Placement {
  readonly traits: Traits;
  readonly tree: GroupTree;
  readonly options: Options;
  /** How many levels of groups, and of called graphs, are open by default. */
  readonly groupDepth: number;
  readonly callDepth: number;
  readonly boxes: Boxes;
  readonly instances: Instance[];
  /** The most boxes that the instances so far may have. */
  promised: number;
  /** Nodes of the shown graph that are part of the view (by global number), whatever the rules; absent: all, as the rules say. */
  readonly included: Uint8Array | undefined;
  readonly folding: Folding | undefined;
  readonly repeats: Repeats;
  readonly remarks: string[];
}
