/** What the page and the engine exchange about kernels and the user's program. */
import type { Code } from "../../core/program/recording/types";
import type { NodeName } from "./protocol";

export interface SourceFrame {
  readonly file: string;
  readonly line: number;
  readonly function?: string;
}

/** A line of the user's program, and the nodes that come from it: the first ones, and how many. */
export interface SourceLine extends SourceFrame {
  readonly nodes: readonly NodeName[];
  readonly count: number;
}

export interface KernelFacts {
  readonly codes: readonly Code[];
  readonly lines: readonly SourceLine[];
}

export interface KernelMethods {
  /** The code of a node's kernel, and every source line that it computes. */
  kernel(params: { readonly node: number }): KernelFacts;
}
