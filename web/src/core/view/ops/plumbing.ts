/**
 * Plumbing: nodes that only forward a value. They disappear into edges.
 *
 * A pipe forwards one value of its first operand. A tuple forwards its operands: output i is operand i. A call that only takes an element
 * of a loop's stack is a pipe for the stack, and one that writes an element is a pipe for the element.
 */

import { Forwards } from "../../program/ops";
import { forwardedOperand } from "../../program/parameters";
import type { ProgramData } from "../../program/types";

export interface Plumbing {
  /** Forwards of each node. */
  readonly kind: Uint8Array;
  /** Where a pipe's value comes from, after all pipes in a row: node and output. */
  readonly node: Int32Array;
  readonly output: Int32Array;
}

export function findPlumbing({ nodeCount, nodeOp, nodePlace, inputs, outputs, types, ops }: ProgramData): Plumbing {
  const kind = new Uint8Array(nodeCount);
  const node = new Int32Array(nodeCount).fill(-1);
  const output = new Int32Array(nodeCount);
  for (let n = 0; n < nodeCount; n++) {
    const part = forwardedOperand(nodePlace[n]);
    const forwards = part < 0 ? ops.forwards[nodeOp[n]] : Forwards.Value;
    const first = inputs.start[n] + Math.max(0, part);
    if (forwards === Forwards.Nothing || inputs.start[n + 1] <= first) continue;
    if (forwards === Forwards.Tuple) {
      kind[n] = forwards;
      continue;
    }
    const source = inputs.value[first];
    if (forwards === Forwards.Element && outputs.start[source + 1] - outputs.start[source] < 2) continue;
    if (isReinterpreted(n, source, inputs.extra[first])) continue;
    kind[n] = Forwards.Value;
    node[n] = source;
    output[n] = inputs.extra[first];
  }
  shorten(kind, node, output);
  breakCycles({ kind, node, output }, inputs);
  return { kind, node, output };

  /** A value of another dtype is another value, even if its bits are the same. */
  function isReinterpreted(n: number, source: number, index: number): boolean {
    const place = outputs.start[source] + index;
    if (index < 0 || place >= outputs.start[source + 1] || outputs.start[n + 1] - outputs.start[n] !== 1) return false;
    return types.dtype[outputs.value[place]] !== types.dtype[outputs.value[outputs.start[n]]];
  }
}

/** Of tuples that contain themselves, one becomes an ordinary node, so that whoever follows a value gets to its end. */
function breakCycles({ kind, node }: Plumbing, inputs: ProgramData["inputs"]): void {
  const begun = new Uint8Array(kind.length);
  const finished = new Uint8Array(kind.length);
  const path: number[] = [];
  const next: number[] = [];
  for (let n = 0; n < kind.length; n++) {
    if (kind[n] !== Forwards.Tuple || begun[n]) continue;
    path.push(n);
    next.push(0);
    while (path.length) {
      const at = path[path.length - 1];
      begun[at] = 1;
      const isTuple = kind[at] === Forwards.Tuple;
      const count = isTuple ? inputs.start[at + 1] - inputs.start[at] : Number(kind[at] === Forwards.Value);
      const i = next[next.length - 1]++;
      if (i >= count) {
        finished[at] = 1;
        path.pop();
        next.pop();
        continue;
      }
      const source = isTuple ? inputs.value[inputs.start[at] + i] : node[at];
      if (kind[source] === Forwards.Nothing || finished[source]) continue;
      if (begun[source]) kind[at] = Forwards.Nothing;
      else {
        path.push(source);
        next.push(0);
      }
    }
  }
}

/** Makes every pipe point past the pipes before it. Pipes in a cycle are ordinary nodes. */
function shorten(kind: Uint8Array, node: Int32Array, output: Int32Array): void {
  const done = new Uint8Array(kind.length);
  const chain: number[] = [];
  for (let n = 0; n < kind.length; n++) {
    let at = n;
    while (kind[at] === Forwards.Value && done[at] === 0) {
      done[at] = 1;
      chain.push(at);
      at = node[at];
    }
    if (kind[at] === Forwards.Value && done[at] === 1) {
      for (const member of chain) kind[member] = Forwards.Nothing;
    }
    for (let i = chain.length - 1; i >= 0; i--) {
      const member = chain[i];
      const source = node[member];
      if (kind[member] === Forwards.Value && kind[source] === Forwards.Value) {
        node[member] = node[source];
        output[member] = output[source];
      }
      done[member] = 2;
    }
    chain.length = 0;
  }
}
