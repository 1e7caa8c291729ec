/**
 * Plumbing: nodes that only pass a value on. They disappear into edges.
 *
 * A pipe (get-tuple-element, bitcast) hands on one value of its first operand. A bundle (tuple) is its operands: output i is
 * operand i.
 */

import type { ProgramData } from "../../program/types";

export const enum Kind {
  None = 0,
  Pipe = 1,
  Bundle = 2,
}

export interface Plumbing {
  readonly kind: Uint8Array;
  /** Where a pipe's value comes from, after all pipes in a row: node and output. */
  readonly node: Int32Array;
  readonly output: Int32Array;
}

/** Assertions about a value say nothing in a picture; like pipes, they stand where their value is. */
const PIPES = new Set(["get-tuple-element", "get_tuple_element", "bitcast", "getitem", "_assert_tensor_metadata", "_assert_scalar"]);
const BUNDLES = new Set(["tuple"]);

/** An op without its dialect: "stablehlo.tuple" → "tuple", "aten.add.Tensor" → "add", "torch.nn.functional.linear" → "linear". */
export function bareOp(op: string): string {
  const aten =
    /^(?:torch\.ops\.)?(?:aten|prims|prim|quantized|quantized_decomposed|_c10d_functional|edge\.aten|executorch_exir_dialects_edge__ops_aten)[.:]+([A-Za-z0-9_]+)/.exec(
      op,
    );
  if (aten) return aten[1];
  const dialect =
    /^(?:stablehlo|mhlo|chlo|hlo|arith|math|func|operator|_operator|builtins|torch\.nn\.functional|torch\._C\._nn|torch\.ops\.higher_order|torch(?!\.ops)|Tensor)\.(.+)$/.exec(
      op,
    );
  return dialect ? dialect[1] : op;
}

export function findPlumbing(program: ProgramData): Plumbing {
  const { nodeCount, nodeOp, inputs, strings } = program;
  const kindOfOp = new Map<number, Kind>();
  const kind = new Uint8Array(nodeCount);
  const node = new Int32Array(nodeCount).fill(-1);
  const output = new Int32Array(nodeCount);
  for (let n = 0; n < nodeCount; n++) {
    let of = kindOfOp.get(nodeOp[n]);
    if (of === undefined) {
      const op = bareOp(strings.at(nodeOp[n]));
      of = PIPES.has(op) ? Kind.Pipe : BUNDLES.has(op) ? Kind.Bundle : Kind.None;
      kindOfOp.set(nodeOp[n], of);
    }
    const first = inputs.start[n];
    if (of === Kind.None || inputs.start[n + 1] === first) continue;
    kind[n] = of;
    if (of === Kind.Pipe) {
      node[n] = inputs.value[first];
      output[n] = inputs.extra[first];
    }
  }
  shorten(kind, node, output);
  return { kind, node, output };
}

/** Lets every pipe point past the pipes before it. Pipes that run in a circle are ordinary nodes. */
function shorten(kind: Uint8Array, node: Int32Array, output: Int32Array): void {
  const done = new Uint8Array(kind.length);
  const chain: number[] = [];
  for (let n = 0; n < kind.length; n++) {
    let at = n;
    while (kind[at] === Kind.Pipe && done[at] === 0) {
      done[at] = 1;
      chain.push(at);
      at = node[at];
    }
    if (kind[at] === Kind.Pipe && done[at] === 1) {
      for (const member of chain) kind[member] = Kind.None;
    }
    for (let i = chain.length - 1; i >= 0; i--) {
      const member = chain[i];
      const source = node[member];
      if (kind[member] === Kind.Pipe && kind[source] === Kind.Pipe) {
        node[member] = node[source];
        output[member] = output[source];
      }
      done[member] = 2;
    }
    chain.length = 0;
  }
}
