import { sameDiff } from "../../src/core/program/recording/diff";
import { overlay } from "../../src/core/program/recording/mergedDiff";
import type { ProgramData } from "../../src/core/program/types";

/** Before and after in one program, where nodes of the same name are the same. */
export function overlaid(before: ProgramData, after: ProgramData): ProgramData {
  const ids = (program: ProgramData) => Array.from(program.nodeId, (text) => program.strings.at(text));
  const [old, now] = [ids(before), ids(after)];
  return overlay(before, after, {
    ...sameDiff(0),
    beforeCount: old.length,
    back: Int32Array.from(old, (id) => now.indexOf(id)),
    counterpart: Int32Array.from(now, (id) => old.indexOf(id)),
  }).program;
}
