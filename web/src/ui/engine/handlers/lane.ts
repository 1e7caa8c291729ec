/** The kernel lane. */
import { kernelLaneOf } from "../../../core/scene/kernelLane";
import type { Handler } from "./handler";

export const lane: Handler<"lane"> = ({ index }) => kernelLaneOf(index);
