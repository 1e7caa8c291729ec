/** Loads programs and node data. */
import { LayoutCache } from "../../../core/layout";
import { opensInHalves } from "../../../core/view/twoHalves/columns";
import { open } from "../passes";
import type { Handler } from "./handler";
import { turnTo } from "./turn";

export const load: Handler<"load"> = async (state, { at }, { progress }) => {
  const start = performance.now();
  state.origin = at;
  state.passShown = undefined;
  const opened = await open(at, (part) => progress(part * 0.8, ""));
  state.passes = "passes" in opened ? opened.passes : undefined;
  state.sourceFile = "passes" in opened ? undefined : opened.sourceFile;
  state.drawn = undefined;
  state.layouts = new LayoutCache();
  if ("passes" in opened) await turnTo(state, { index: 0, mode: "after", colours: false });
  else state.use(opened.program, opened.remote);
  return { ...state.summary(performance.now() - start), opensInHalves: opensInHalves(state.index.program) };
};

/** Tensor names are details, which may not have been fetched yet. */
export const nodeData: Handler<"nodeData"> = async (state, { name, text }) => {
  let file: unknown;
  try {
    file = JSON.parse(text);
  } catch {
    throw new Error(`${name} is not a node-data file (JSON)`);
  }
  await state.needDetails();
  return state.highlighter.add(file, name);
};
