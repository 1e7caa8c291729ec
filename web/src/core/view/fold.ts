/** Repeats among sibling groups. */

export interface Folding {
  /** Stack that a group belongs to, or -1. */
  readonly classOfGroup: Int32Array;
  first(stack: number): number;
  last(stack: number): number;
  size(stack: number): number;
  /** Nodes of a group in an order that is the same for all repeats of its stack. */
  nodes(group: number): Int32Array;
}
