/** What is in memory when each node runs. */
import { decodeMemory } from "../../../core/memory/memory";
import { bytesOf } from "../bytes";
import { ShownMemory } from "../memory";
import type { PassShown } from "../passes";
import type { EngineState } from "../state";
import type { Handler } from "./handler";

export const memory: Handler<"memory"> = async (state, { at }, { progress }) => {
  const { index, passShown } = state;
  const data = decodeMemory(await bytesOf(at, (part) => progress(part, "Reading the memory")));
  state.memory = new ShownMemory(data, index, renumbered(passShown));
  return state.memory.summary;
};

export const memoryWhatIf: Handler<"memoryWhatIf"> = async (state, { at }, { progress }) => {
  const shown = known(state);
  return shown.compare(at && decodeMemory(await bytesOf(at, (part) => progress(part, "Reading the memory"))));
};

export const memoryUsage: Handler<"memoryUsage"> = (state, { from, to, columns }) => known(state).usage(from, to, columns);

export const memoryStep: Handler<"memoryStep"> = (state, { position }) => known(state).step(position);

export const memoryLive: Handler<"memoryLive"> = (state, { position, by, toggled }) => known(state).live(position, by, toggled);

export const memoryRows: Handler<"memoryRows"> = (state, { from, to }) => known(state).rows(from, to);

export const memoryNodes: Handler<"memoryNodes"> = (state, { from, to }) => known(state).nodesIn(from, to);

export const memorySpans: Handler<"memorySpans"> = (state, { node }) => known(state).spans(node);

/** The memory of the program that is shown: that of another one would name the wrong nodes. */
function known(state: EngineState): ShownMemory {
  if (state.memory?.index !== state.index) throw new Error("the memory of this program has not been read yet");
  return state.memory;
}

/** A picture of two programs in one has its own numbers: those of the program after the pass as numbers of the picture. */
function renumbered(shown: PassShown | undefined): Int32Array | undefined {
  const after = shown?.overlay?.after;
  if (!after) return undefined;
  const numbers = new Int32Array(after.length).fill(-1);
  after.forEach((node, i) => {
    if (node >= 0) numbers[node] = i;
  });
  return numbers;
}
