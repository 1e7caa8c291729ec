/** The program as text, and where its nodes are in it. */
import type { PassProgram } from "../passes";
import type { EngineState } from "../state";
import { type Before, ShownText } from "../text";
import type { TextPlace } from "../textProtocol";
import type { Handler } from "./handler";

const NOWHERE: TextPlace = { sides: false, lines: 0, line: -1, row: -1 };

export const text: Handler<"text"> = async (state, { sides }) => {
  const pass = sides ? await shownPass(state) : undefined;
  const after = pass?.after ?? { program: state.index.program, remote: state.remote };
  if (!state.text?.isOf(after, pass?.before.side)) state.text = new ShownText(after, pass?.before);
  return state.text.summary;
};

/** Both sides of the pass that is shown; undefined if nothing is before it, or if it is the same. */
async function shownPass({ passes, passShown }: EngineState): Promise<{ after: PassProgram; before: Before } | undefined> {
  if (!passes || !passShown) return undefined;
  const { before, content } = passes.rows[passShown.pass];
  const diff = await passes.diff(passShown.pass);
  if (!diff || passes.rows[before].content === content) return undefined;
  const [side, after] = await Promise.all([passes.program(before), passes.program(passShown.pass)]);
  return { after, before: { side, diff } };
}

export const textRows: Handler<"textRows"> = (state, { from, to }) => state.text?.rows(from, to) ?? [];

export const textToggle: Handler<"textToggle"> = (state, { line }) => state.text?.toggle(line) ?? NOWHERE;

export const textLine: Handler<"textLine"> = ({ text: shown, passes, passShown }, { node }) => {
  if (!shown) return NOWHERE;
  if (!shown.summary.sides || !passes || !passShown) return shown.place(shown.rowOf(node, "after"));
  const place = passes.placeOf(passShown, node);
  return shown.place(shown.rowOf(place.node, place.pass === passShown.pass ? "after" : "before"));
};

export const textRow: Handler<"textRow"> = (state, { row }) => state.text?.place(row) ?? NOWHERE;

export const textFind: Handler<"textFind"> = (state, { text: wanted, from }) =>
  state.text?.find(wanted, from) ?? { rows: new Int32Array(0), next: -1 };
