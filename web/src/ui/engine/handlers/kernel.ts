/** The code of kernels, and the lines of the user's program. */
import { CODE_ATTR } from "../../../core/program/names";
import type { Code } from "../../../core/program/recording/types";
import { computedNodes, contributingLines } from "../contributing";
import type { Handler } from "./handler";

export const kernel: Handler<"kernel"> = async (state, { node }) => {
  const { index, passes, passShown } = state;
  await Promise.all(computedNodes(index, node).map(([from, to]) => state.needDetails(from, to)));
  const codes: Code[] = [];
  const recorded = index.program.details(node)?.attrs[CODE_ATTR];
  if (typeof recorded === "string") codes.push({ language: index.op(node), file: "", text: recorded });
  if (passes && passShown) codes.push(...(await passes.codes(passes.placeOf(passShown, node).pass, index.id(node))));
  return { codes, lines: contributingLines(index, node) };
};
