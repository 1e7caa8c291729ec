/**
 * Nodes that repeat side by side without groups around them: the updates of a hundred parameters, each the same chain of operations.
 *
 * Within one container, a node's number is computed from what is upstream and what is downstream of it. Nodes with the same number are
 * at the same place of parallel copies, so drawing each place once draws one copy for all. Nodes in a row differ, because different
 * things are upstream.
 */

import { bucketBy, mix, TripleMap } from "../../base/csr";
import { nodeLabels } from "./nodeHash";
import { Forwards } from "../../program/ops";
import type { Traits } from "../traits";
import { Role } from "../../program/roles";

/** Fewer copies than this are drawn one by one. */
const LEAST_COPIES = 8;

/** The number of each node's place, if enough nodes share it, otherwise -1. `container` is the container of each node. */
export function parallelPlaces(traits: Traits, container: Int32Array): Int32Array {
  const { program, plumbing, small, isFusionBody } = traits;
  const { graphOf } = traits.index;
  const { graphCount, nodeCount, nodeRole, nodeText, inputs, outputs, types } = program;
  const labels = nodeLabels(program);
  const hasCopies = containersWithCopies(labels, container, graphCount);
  const takesPart = new Uint8Array(nodeCount);
  const up = new Int32Array(nodeCount);
  const down = new Int32Array(nodeCount);
  const within = (source: number, user: number): boolean =>
    takesPart[source] === 1 && source < user && container[source] === container[user];

  for (let n = 0; n < nodeCount; n++) {
    if (hasCopies[graphCount + container[n]] === 0) continue;
    if (plumbing.kind[n] !== Forwards.Nothing || small.is[n] || nodeRole[n] === Role.Output || isFusionBody[graphOf[n]]) continue;
    let h = labels[n];
    for (let i = inputs.start[n]; i < inputs.start[n + 1]; i++) {
      const piped = plumbing.kind[inputs.value[i]] === Forwards.Value;
      const source = piped ? plumbing.node[inputs.value[i]] : inputs.value[i];
      const output = piped ? plumbing.output[inputs.value[i]] : inputs.extra[i];
      if (within(source, n)) {
        h = mix(h, mix(up[source], output));
        continue;
      }
      const constant = small.root[source];
      let outside = nodeRole[constant] === Role.Constant ? nodeText[constant] : -1;
      for (let o = outputs.start[source]; o < outputs.start[source + 1]; o++) outside = mix(outside, types.text[outputs.value[o]]);
      h = mix(h, mix(outside, output));
    }
    takesPart[n] = 1;
    up[n] = h;
  }
  for (let n = nodeCount - 1; n >= 0; n--) {
    if (!takesPart[n]) continue;
    const h = mix(up[n], down[n]);
    for (let i = inputs.start[n], place = 0; i < inputs.start[n + 1]; i++, place++) {
      const piped = plumbing.kind[inputs.value[i]] === Forwards.Value;
      const source = piped ? plumbing.node[inputs.value[i]] : inputs.value[i];
      if (within(source, n)) down[source] += mix(h, mix(place, piped ? plumbing.output[inputs.value[i]] : inputs.extra[i]));
    }
  }
  const numbers = new TripleMap(nodeCount);
  const place = new Int32Array(nodeCount).fill(-1);
  const count: number[] = [];
  for (let n = 0; n < nodeCount; n++) {
    if (!takesPart[n]) continue;
    place[n] = numbers.number(container[n], up[n], down[n]);
    count[place[n]] = (count[place[n]] ?? 0) + 1;
  }
  for (let n = 0; n < nodeCount; n++) if (place[n] >= 0 && count[place[n]] < LEAST_COPIES) place[n] = -1;
  return place;
}

/** 1: enough nodes directly in a container (by its number, from -graphCount on) have the same label. Most layers have no such nodes. */
function containersWithCopies(labels: Int32Array, container: Int32Array, graphCount: number): Uint8Array {
  const key = container.map((number) => graphCount + number);
  let count = 0;
  for (const number of key) if (number >= count) count = number + 1;
  const { start, value } = bucketBy(key, count, labels);
  const found = new Uint8Array(count);
  for (let c = 0; c < count; c++) {
    if (start[c + 1] - start[c] < LEAST_COPIES) continue;
    const sorted = value.subarray(start[c], start[c + 1]).sort();
    for (let i = LEAST_COPIES - 1; i < sorted.length; i++) if (sorted[i] === sorted[i - LEAST_COPIES + 1]) found[c] = 1;
  }
  return found;
}
