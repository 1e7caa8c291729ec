/** Another program of a recording becomes the one that is shown. */
import { type Stayed, stayedBoxes } from "../../../core/picture";
import type { Visible } from "../../../core/program/types";
import type { PassRequest } from "../passProtocol";
import type { EngineState } from "../state";

/** Which boxes of a view were in the picture before. */
export type Turned = (visible: Visible) => Stayed | undefined;

/** Undefined where the program is shown already. */
export async function turnTo(state: EngineState, { index, mode }: PassRequest): Promise<Turned | undefined> {
  const { passes, passShown: was } = state;
  if (!passes || (was && was.pass === passes.valid(index) && was.mode === mode)) return undefined;
  const shown = await passes.show(index, mode);
  const before = state.drawn?.visible;
  const counterparts = was && before ? await passes.counterparts(was, shown) : undefined;
  state.passShown = shown;
  state.use(shown.program, shown.remote);
  return (visible) => (before && counterparts ? stayedBoxes(before, visible, counterparts) : undefined);
}
