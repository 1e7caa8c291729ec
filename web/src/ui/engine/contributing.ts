/** The lines of the user's program that a node computes (`analysis/contributing.py` says the same): its own, and those of what it calls. */
import { LINES_ATTR } from "../../core/program/names";
import type { ProgramIndex } from "../../core/program/programIndex";
import type { NodeDetails } from "../../core/program/types";
import type { SourceFrame, SourceLine } from "./kernelProtocol";
import { nodeName } from "./names";

/** The body of a loop may be the whole model, and its lines say nothing about the loop. */
const MOST_NODES = 10_000;
const MOST_LISTED = 20;

/** A node, and the nodes of the graphs that it calls, as runs of numbers; only the node if that is more than a kernel computes. */
export function computedNodes({ program }: ProgramIndex, node: number): [from: number, to: number][] {
  const { calls, graphStart } = program;
  const runs: [number, number][] = [[node, node + 1]];
  const seen = new Set<number>();
  let count = 1;
  for (let at = 0; at < runs.length; at++) {
    for (let each = runs[at][0]; each < runs[at][1]; each++) {
      for (let i = calls.start[each]; i < calls.start[each + 1]; i++) {
        const graph = calls.value[i];
        if (seen.has(graph)) continue;
        seen.add(graph);
        runs.push([graphStart[graph], graphStart[graph + 1]]);
        count += graphStart[graph + 1] - graphStart[graph];
        if (count > MOST_NODES) return [[node, node + 1]];
      }
    }
  }
  return runs;
}

/** The lines of a node itself: the innermost of its frames, or those that it was given. */
export function ownLines(details: NodeDetails | undefined): readonly SourceFrame[] {
  const given = details?.attrs[LINES_ATTR];
  if (!Array.isArray(given)) return details?.source.slice(0, 1) ?? [];
  return given.flatMap((frame: unknown) =>
    Array.isArray(frame) && typeof frame[0] === "string" && typeof frame[1] === "number"
      ? [{ file: frame[0], line: frame[1], function: String(frame[2] ?? "") }]
      : [],
  );
}

export function contributingLines(index: ProgramIndex, node: number): SourceLine[] {
  const lines = new Map<string, { readonly frame: SourceFrame; readonly nodes: number[] }>();
  for (const [from, to] of computedNodes(index, node)) {
    for (let each = from; each < to; each++) {
      for (const frame of ownLines(index.program.details(each))) {
        const key = `${frame.file}:${frame.line}`;
        const line = lines.get(key) ?? { frame, nodes: [] };
        line.nodes.push(each);
        lines.set(key, line);
      }
    }
  }
  return [...lines.values()]
    .sort((a, b) => (a.frame.file < b.frame.file ? -1 : a.frame.file > b.frame.file ? 1 : a.frame.line - b.frame.line))
    .map(({ frame, nodes }) => ({
      ...frame,
      nodes: nodes.slice(0, MOST_LISTED).map((each) => nodeName(index, each)),
      count: nodes.length,
    }));
}
