/** What the view needs to know of a program beyond its columns: worked out once, kept as long as the program is. */

import type { Csr, Csr2, ProgramData } from "../program/types";
import { Control } from "../program/ops";
import { operandsOf, parametersOf } from "../program/parameters";
import { indexOf } from "../program/programIndex";
import { memoized } from "../base/memoized";
import { findInputs } from "./ops/inputs";
import { findPlumbing, type Plumbing } from "./ops/plumbing";
import { findReducers } from "./ops/reducers";
import { findSmall, type Small } from "./ops/inlineOperands";

export interface Prepared {
  readonly program: ProgramData;
  readonly graphOf: Int32Array;
  /** Nodes that take a value of each node, once per use, in order. */
  readonly users: Csr;
  /** How many nodes lie on the longest way to each node, as far as they stand in the order of their data. */
  readonly depth: Int32Array;
  /** 1: the node is named as an output of its graph. */
  readonly isOutput: Uint8Array;
  /** Input of inputs.ts: is a parameter data, or does it come in from the side? */
  readonly inputKind: Uint8Array;
  readonly plumbing: Plumbing;
  readonly small: Small;
  /** The op that a graph applies, if it does nothing else (`to_apply=add`): its number, otherwise -1. */
  readonly reducerOp: Int32Array;
  /** 1: the body of a fusion, which is shown without groups: a fusion is one step. */
  readonly isFusionBody: Uint8Array;
  /**
   * Parameters of each graph, in order, each with its place among them or, where these name them, the caller's operands. The gradient
   * that a backward half is given is one of them.
   */
  readonly parameters: Csr2;
  /** Which line of the source each node is from, or -1; undefined where no node says it. */
  readonly sourceLine: Int32Array | undefined;
  /** Node number by graph and id. */
  find(graph: number, id: string): number;
  graphNamed(name: string): number;
}

const SOURCE_LINE = "source line";

export const prepare = memoized((program: ProgramData): Prepared => {
  const { graphCount, nodeCount } = program;
  const index = indexOf(program);
  const { graphOf, uses: users } = index;
  const isOutput = new Uint8Array(nodeCount);
  for (const node of program.graphOutputs.value) isOutput[node] = 1;

  const inputKind = findInputs(program, users);

  const parameterStart = new Int32Array(graphCount + 1);
  const parameterList: number[] = [];
  const operandPlaces: number[] = [];
  for (let g = 0; g < graphCount; g++) {
    const parameters = parametersOf(program, g);
    for (const parameter of parameters) parameterList.push(parameter);
    for (const operand of operandsOf(program, parameters)) operandPlaces.push(operand);
    parameterStart[g + 1] = parameterList.length;
  }

  const isFusionBody = new Uint8Array(graphCount);
  for (let n = 0; n < nodeCount; n++) {
    if (program.calls.start[n + 1] > program.calls.start[n] && program.ops.control[program.nodeOp[n]] === Control.Fusion) {
      for (let i = program.calls.start[n]; i < program.calls.start[n + 1]; i++) isFusionBody[program.calls.value[i]] = 1;
    }
  }

  return {
    program,
    graphOf,
    users,
    depth: depthsOf(program),
    isOutput,
    inputKind,
    plumbing: findPlumbing(program),
    small: findSmall(program, users, isOutput, inputKind),
    reducerOp: findReducers(program),
    isFusionBody,
    parameters: { start: parameterStart, value: Int32Array.from(parameterList), extra: Int32Array.from(operandPlaces) },
    sourceLine: program.groupings.find(({ name }) => name === SOURCE_LINE)?.nodeGroup,
    find: (graph, id) => index.find(graph, id),
    graphNamed: (name) => index.graphNamed(name),
  };
});

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
