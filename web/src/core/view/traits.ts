/** What the drawing rules know of the nodes and graphs of a program: computed once, kept as long as the program exists. */

import { memoized } from "../base/memoized";
import { groupingNamed, SOURCE_LINE } from "../program/names";
import { Control } from "../program/ops";
import { indexOf, type ProgramIndex } from "../program/programIndex";
import type { ProgramData } from "../program/types";
import { findSmall, type Small } from "./ops/inlineOperands";
import { findInputs } from "./ops/inputs";
import { findPlumbing, type Plumbing } from "./ops/plumbing";
import { findReducers } from "./ops/reducers";

export interface Traits {
  readonly program: ProgramData;
  readonly index: ProgramIndex;
  /** The length of the longest path to each node, over edges from earlier to later nodes. */
  readonly depth: Int32Array;
  /** Input of inputs.ts: is a parameter data, or does it come in from the side? */
  readonly inputKind: Uint8Array;
  readonly plumbing: Plumbing;
  readonly small: Small;
  /** The op that a graph applies, if it does nothing else (`to_apply=add`): its number, otherwise -1. */
  readonly reducerOp: Int32Array;
  /** 1: the body of a fusion, which is shown without groups: a fusion is one step. */
  readonly isFusionBody: Uint8Array;
  /** Which line of the source each node is from, or -1; undefined where no node says it. */
  readonly sourceLine: Int32Array | undefined;
}

export const traitsOf = memoized((program: ProgramData): Traits => {
  const index = indexOf(program);
  const inputKind = findInputs(program, index.uses);
  return {
    program,
    index,
    depth: depthsOf(program),
    inputKind,
    plumbing: findPlumbing(program),
    small: findSmall(program, index.uses, index.isOutput, inputKind),
    reducerOp: findReducers(program),
    isFusionBody: fusionBodies(program),
    sourceLine: groupingNamed(program, SOURCE_LINE)?.nodeGroup,
  };
});

function fusionBodies({ calls, graphCount, nodeCount, nodeOp, ops }: ProgramData): Uint8Array {
  const isBody = new Uint8Array(graphCount);
  for (let n = 0; n < nodeCount; n++) {
    if (ops.control[nodeOp[n]] !== Control.Fusion) continue;
    for (let i = calls.start[n]; i < calls.start[n + 1]; i++) isBody[calls.value[i]] = 1;
  }
  return isBody;
}

function depthsOf({ inputs, nodeCount }: ProgramData): Int32Array {
  const depth = new Int32Array(nodeCount);
  for (let n = 0; n < nodeCount; n++) {
    for (let i = inputs.start[n]; i < inputs.start[n + 1]; i++) {
      const taken = inputs.value[i];
      if (taken < n && depth[taken] >= depth[n]) depth[n] = depth[taken] + 1;
    }
  }
  return depth;
}
