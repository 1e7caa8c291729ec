/** How many nodes come from each line of a file, whichever of their frames is in it. */
import type { ProgramData } from "../../core/program/types";

const known = new WeakMap<ProgramData, Map<string, Int32Array>>();

/** All details must be here. */
export function nodesByLine(program: ProgramData, file: string): Int32Array {
  const files = known.get(program) ?? new Map<string, Int32Array>();
  known.set(program, files);
  const counts = files.get(file) ?? countNodes(program, file);
  files.set(file, counts);
  return counts;
}

function countNodes(program: ProgramData, file: string): Int32Array {
  const byLine = new Map<number, number>();
  for (let node = 0; node < program.nodeCount; node++) {
    const lines = new Set<number>();
    for (const frame of program.details(node)?.source ?? []) if (frame.file === file) lines.add(frame.line);
    for (const line of lines) byLine.set(line, (byLine.get(line) ?? 0) + 1);
  }
  const counts = new Int32Array(Math.min(MOST_LINES, [...byLine.keys()].reduce((most, line) => Math.max(most, line), 0) + 1));
  for (const [line, count] of byLine) if (line < counts.length) counts[line] = count;
  return counts;
}

const MOST_LINES = 1_000_000;
