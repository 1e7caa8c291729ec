/** Programs and what is laid over them come in. */
import { LayoutCache } from "../../../core/layout";
import { decodeWire } from "../../../core/program/wire";
import { bytesOf } from "../bytes";
import { RemoteDetails } from "../details";
import { passesOf } from "../passes";
import type { WireAt } from "../protocol";
import type { EngineState } from "../state";
import type { Handler, Progress } from "./handler";
import { turnTo } from "./turn";

export const load: Handler<"load"> = async (state, { at }, { progress }) => {
  const start = performance.now();
  state.origin = at;
  state.passShown = undefined;
  state.passes = await passesOf(at, (part) => progress(part * 0.8, "Loading"));
  state.drawn = undefined;
  state.layouts = new LayoutCache();
  if (state.passes) await turnTo(state, { index: 0, mode: "after", colours: false });
  else await loadProgram(state, at, progress);
  return state.summary(performance.now() - start);
};

async function loadProgram(state: EngineState, at: WireAt, progress: Progress): Promise<void> {
  const bytes = await bytesOf(at, (part) => progress(part * 0.8, "Loading"));
  const remote = at.kind === "url" && at.detailsUrl ? new RemoteDetails(at.detailsUrl) : undefined;
  state.use(decodeWire(bytes, remote ? (node) => remote.get(node) : undefined), remote);
}

/** Names of tensors are among the details, which may still be with the host. */
export const nodeData: Handler<"nodeData"> = async (state, { name, text }) => {
  let file: unknown;
  try {
    file = JSON.parse(text);
  } catch {
    throw new Error(`${name}: is no JSON`);
  }
  await state.needDetails();
  return state.overlays.add(file, name);
};
