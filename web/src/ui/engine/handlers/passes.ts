/** What passes did, and what became of nodes. */
import { matchElsewhere } from "../elsewhere";
import { nodesIn } from "../facts";
import { historyOf, namesIn, passFacts as factsOf, touchingNodes } from "../passAnswers";
import { NO_REASONS } from "../passProtocol";
import { PassSearch } from "../passSearch";
import { pairReasonsFor, reasonsFor } from "../reasons";
import type { Handler } from "./handler";

export const passes: Handler<"passes"> = async (state, { peaks }) => (await state.passes?.refresh(peaks)) ?? [];

export const passFacts: Handler<"passFacts"> = (state, { pass }) => state.passes && factsOf(state.passes, pass);

export const passesTouching: Handler<"passesTouching"> = (state, { query, from }) => {
  const { passes: all, passSearch } = state;
  if (!all) return { passes: [], next: -1 };
  if (!passSearch?.isOf(all, query)) state.passSearch = new PassSearch(all, query);
  return state.passSearch!.part(from);
};

export const passesTouchingBox: Handler<"passesTouchingBox"> = ({ passes: all, passShown, shown, index }, { key }) => {
  const box = shown.visible.key.indexOf(key);
  if (!all || !passShown || box < 0) return [];
  const inside = nodesIn(shown.visible, box, index.program.nodeCount);
  return touchingNodes(
    all,
    passShown,
    Array.from(inside.keys()).filter((node) => inside[node]),
  );
};

export const history: Handler<"history"> = (state, { node }) =>
  state.passes && state.passShown ? historyOf(state.passes, state.passShown, node) : [];

export const reasons: Handler<"reasons"> = (state, { node }) =>
  state.passes && state.passShown ? reasonsFor(state.passes, state.passShown, node) : NO_REASONS;

export const pairReasons: Handler<"pairReasons"> = (state, { nodes }) =>
  state.passes && state.passShown ? pairReasonsFor(state.passes, state.passShown, nodes) : undefined;

export const follow: Handler<"follow"> = (state, { node, to }) =>
  state.passes && state.passShown ? namesIn(state.passes, state.passShown, node, to) : [];

export const match: Handler<"match"> = (state, question) => matchElsewhere(state.index, state.origin, state.passShown, question);
