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

export interface SourceText {
  readonly text?: string;
  /** What to know about it. */
  readonly note?: string;
  /** Why the text is missing. */
  readonly problem?: string;
}

/** A file of the user's program. */
export interface SourceShown extends SourceText {
  readonly file: string;
  /** All files that the node comes from, the innermost first. */
  readonly files: readonly string[];
  /** Lines of the file that the node comes from. */
  readonly at: readonly number[];
  /** How many nodes come from each line, by its number. */
  readonly counts: Int32Array;
}

export interface KernelMethods {
  /** The file that a node comes from, or one of them; undefined if its source is unknown. */
  source(params: { readonly node: number; readonly file?: string }): SourceShown | undefined;
  /** The code of a node's kernel, and every source line that it computes. */
  kernel(params: { readonly node: number }): KernelFacts;
}
