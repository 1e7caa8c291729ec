/** What the page and the engine exchange about the kernel lane. */
import type { LaneData } from "../../core/program/types";

export interface LaneView extends LaneData {
  /** Row of `Theme.paints` for each piece's node, or -1. */
  readonly paint: Int8Array;
  /** The id of each piece's node, or nothing. */
  readonly names: readonly string[];
}

export interface LaneMethods {
  /** What the device did in one step; undefined if the program has no profile with that. */
  lane(params: Record<string, never>): LaneView | undefined;
}
