/** The code of kernels, and the lines of the user's program. */
import { CODE_ATTR } from "../../../core/program/names";
import type { Code } from "../../../core/program/recording/types";
import { computedNodes, contributingLines, ownLines } from "../contributing";
import { nodesByLine } from "../nodesByLine";
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

export const source: Handler<"source"> = async (state, { node, file: wanted }) => {
  const { index, passes, passShown } = state;
  await state.needDetails();
  const lines = contributingLines(index, node);
  const frames = index.program.details(node)?.source ?? [];
  const files = [...new Set([...ownLines(index.program.details(node)), ...lines, ...frames].map((frame) => frame.file))];
  const file = wanted !== undefined && files.includes(wanted) ? wanted : files[0];
  if (file === undefined) return undefined;
  const counts = nodesByLine(index.program, file);
  const at = [...lines, ...frames].filter((frame) => frame.file === file).map((frame) => frame.line);
  // The host shows a file only to those who name a node that comes from it.
  const of = [node, ...computedNodes(index, node).flatMap(([from, to]) => Array.from({ length: to - from }, (_, i) => from + i))];
  const from = of.find((each) => index.program.details(each)?.source.some((frame) => frame.file === file)) ?? node;
  const place = passes && passShown ? passes.placeOf(passShown, from) : undefined;
  const text = await (passes && place ? passes.sourceFile(place.pass, place.node, file) : state.sourceFile?.(from, file));
  return { file, files, at: [...new Set(at)], counts, ...text };
};
