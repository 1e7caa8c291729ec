/** The operands of a node that have no box, or need none. */
import { Forwards } from "../program/ops";
import type { ProgramData, Visible } from "../program/types";
import { traitsOf } from "./traits";

export interface FoldedOperands {
  /** Nodes that are text in the node's box or part of its edges, the nearest first. */
  readonly folded: readonly number[];
  /** Nodes that have a box but would be folded if nobody had asked for them; the node itself may be one. */
  readonly foldable: readonly number[];
}

export function foldedOperands(program: ProgramData, visible: Visible, node: number): FoldedOperands {
  const { small, plumbing } = traitsOf(program);
  const { start, value } = program.inputs;
  const needsNoBox = (n: number): boolean => small.is[n] === 1 || plumbing.kind[n] !== Forwards.Nothing;
  /** Operands that pass the test, operands of these, and so on. */
  const walk = (test: (n: number) => boolean): number[] => {
    const reached = new Set([node]);
    for (const n of reached) for (let i = start[n]; i < start[n + 1]; i++) if (test(value[i])) reached.add(value[i]);
    return [...reached].slice(1);
  };
  const folded = walk((n) => visible.folded[n] === 1);
  const foldable = walk((n) => !visible.folded[n] && needsNoBox(n));
  return { folded, foldable: needsNoBox(node) ? [node, ...foldable] : foldable };
}
