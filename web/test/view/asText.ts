/** Views as text, so that tests can say what they expect to see. */

import type { BoxKind, Visible } from "../../src/core/program/types";

const KINDS = ["node", "group", "call", "stack", "stub", "value", "omitted"];

/** "group g:a open" lines, indented by nesting, in box order. */
export function boxLines(view: Visible): string[] {
  const depth = (box: number): number => (view.parent[box] < 0 ? 0 : 1 + depth(view.parent[box]));
  return view.key.map((key, box) => `${"  ".repeat(depth(box))}${KINDS[view.kind[box]]} ${key}${view.open[box] ? " open" : ""}`);
}

/** "n:a -> g:b x3" lines. */
export function edgeLines(view: Visible): string[] {
  return Array.from(view.edgeSource, (source, e) => {
    const count = view.edgeCountMerged[e] > 1 ? ` x${view.edgeCountMerged[e]}` : "";
    return `${view.key[source]} -> ${view.key[view.edgeTarget[e]]}${count}`;
  });
}

export function boxNamed(view: Visible, key: string): number {
  const box = view.key.indexOf(key);
  if (box < 0) throw new Error(`no box ${key} among ${view.key.join(" ")}`);
  return box;
}

export function boxesOfKind(view: Visible, kind: BoxKind): number[] {
  return Array.from(view.kind.keys()).filter((box) => view.kind[box] === kind);
}
