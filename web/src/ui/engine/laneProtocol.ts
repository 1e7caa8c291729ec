/** What the page and the engine exchange about the kernel lane. */
import type { KernelLane } from "../../core/scene/kernelLane";

export interface LaneMethods {
  /** What the device did in one step; undefined if the program has no profile with that. */
  lane(params: Record<string, never>): KernelLane | undefined;
}
