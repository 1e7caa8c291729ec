/** A pass at one moment: before it, after it, or both merged, with everything that it did marked. */
import type { ProgramData } from "../types";
import { CHANGED, marksAfter, marksBefore, REMOVED, SAME } from "./marks";
import { type Overlay, overlay } from "./mergedDiff";
import type { PassDiff, RecordingData } from "./types";

export type Moment = "before" | "after" | "overlay";

export interface Marked {
  readonly program: ProgramData;
  readonly marks: Uint8Array;
  /** The marks of the nodes that the row of the pass counts, the others SAME: as changed, it counts nodes after the pass. Undefined before it. */
  readonly counted?: Uint8Array;
  readonly overlay?: Overlay;
}

export function markedProgram(before: ProgramData, after: ProgramData, diff: PassDiff, moment: Moment): Marked {
  if (moment === "before") return { program: before, marks: marksBefore(diff) };
  const marks = marksAfter(diff);
  if (moment === "after") return { program: after, marks, counted: marks };
  const both = overlay(before, after, diff);
  // A ghost that became part of something else was not removed: it has the mark that it has before the pass.
  const old = marksBefore(diff);
  const shown = Uint8Array.from(both.after, (node, i) => (node >= 0 ? marks[node] : old[both.before[i]] || REMOVED));
  const counted = shown.map((mark, i) => (mark === CHANGED && both.after[i] < 0 ? SAME : mark));
  return { program: both.program, marks: shown, counted, overlay: both };
}

/** The last pass of a recording; undefined if there is none, it is the first of its module, or it changed nothing. */
export function momentOf(recording: RecordingData, moment: Moment): Marked | undefined {
  const row = recording.passes.at(-1);
  if (!row) return undefined;
  const { before, content, added, removed, changed, merged, copied } = row;
  const diff = recording.diff(recording.passes.length - 1);
  return before < 0 || !diff || !(added || removed || changed || merged || copied)
    ? undefined
    : markedProgram(recording.program(recording.passes[before].content), recording.program(content), diff, moment);
}
