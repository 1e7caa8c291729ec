/** Turns the growing columns into a `Visible`. */

import type { Visible } from "../program/types";
import type { Boxes } from "./boxes/boxes";
import { TripleMap } from "../base/csr";
import type { Edges } from "./edges/edges";
import { INLINED, type Instance, noEnds, PASSED_ON, sources } from "./boxes/instance";
import type { Placement } from "./boxes/placement";
import { Forwards } from "../program/ops";
import { WHOLE } from "../program/roles";

export function finish(placement: Placement, edges: Edges): Visible {
  const { boxes } = placement;
  for (let box = boxes.count - 1; box >= 0; box--) {
    if (boxes.parent[box] >= 0) boxes.nodesInside[boxes.parent[box]] += boxes.nodesInside[box];
  }
  return {
    graph: placement.instances[0].graph,
    grouping: placement.traits.program.groupings.findIndex(({ name }) => name === placement.tree.name),
    boxCount: boxes.count,
    kind: boxes.kind.slice(0, boxes.count),
    parent: boxes.parent.slice(0, boxes.count),
    open: boxes.open.slice(0, boxes.count),
    expandable: boxes.expandable.slice(0, boxes.count),
    node: boxes.node.slice(0, boxes.count),
    group: boxes.group.slice(0, boxes.count),
    category: boxes.category.slice(0, boxes.count),
    key: boxes.key,
    title: boxes.title,
    subtitle: boxes.subtitle,
    notes: boxes.notes,
    repeat: boxes.repeat.slice(0, boxes.count),
    nodesInside: boxes.nodesInside.slice(0, boxes.count),
    edgeCount: edges.count,
    edgeSource: edges.source.slice(0, edges.count),
    edgeTarget: edges.target.slice(0, edges.count),
    edgeKind: edges.kind.slice(0, edges.count),
    edgeNode: edges.node.slice(0, edges.count),
    edgeOutput: edges.output.slice(0, edges.count),
    edgeCountMerged: edges.merged.slice(0, edges.count),
    edgeDistinct: edges.distinct.slice(0, edges.count),
    edgeBytes: edges.bytes.slice(0, edges.count),
    ...(edges.values.length ? { edgeValues: edges.values } : {}),
    sourcePort: new Float32Array(edges.sourcePort.subarray(0, edges.count)),
    targetPort: new Float32Array(edges.targetPort.subarray(0, edges.count)),
    edgeOperand: edges.operand.slice(0, edges.count),
    edgeValue: numberValues(edges, placement.boxes),
    ...whereNodesAre(placement),
    keyPrefix: keyPrefixes(placement),
    remarks: placement.remarks,
  };
}

/** Edges from the same output of an operation run together; those from a collapsed group are one bundle, whatever is inside. */
function numberValues(edges: Edges, boxes: Boxes): Int32Array {
  const numbers = new TripleMap(edges.count);
  const values = new Int32Array(edges.count);
  for (let e = 0; e < values.length; e++) {
    const source = edges.source[e];
    const single = boxes.isLeaf(source);
    values[e] = numbers.number(source, single ? edges.node[e] : -1, single ? edges.output[e] * 4 + edges.kind[e] : edges.kind[e]);
  }
  return values;
}

/** What precedes the names of nodes in the keys of the first instance of each graph. */
function keyPrefixes({ instances, traits }: Placement): (string | undefined)[] {
  const prefixes = new Array<string | undefined>(traits.program.graphCount).fill(undefined);
  for (const { graph, prefix } of instances) prefixes[graph] ??= prefix;
  return prefixes;
}

/** The first box that shows each node: its own, that of its user if it is text, that of its source if it only forwards a value. */
function whereNodesAre(placement: Placement): Pick<Visible, "boxOfNode" | "folded"> {
  const { traits, instances } = placement;
  const { program, plumbing } = traits;
  const { uses } = traits.index;
  const { nodeCount, graphCount, graphStart, calls } = program;
  const ends = noEnds();
  const where = new Int32Array(nodeCount).fill(-1);
  const folded = new Uint8Array(nodeCount);
  const placed = new Uint8Array(graphCount);
  const first: Instance[] = [];
  for (const instance of instances) {
    if (placed[instance.graph]) continue;
    placed[instance.graph] = 1;
    first.push(instance);
    for (let i = 0; i < instance.count; i++) if (instance.boxOf[i] >= 0) where[instance.first + i] = instance.boxOf[i];
  }
  for (const instance of first) {
    for (let n = instance.first; n < instance.first + instance.count; n++) {
      const isText = instance.place(n) === INLINED;
      if (isText || (instance.place(n) === PASSED_ON && !instance.moves.has(n))) folded[n] = 1;
      if (instance.place(n) !== PASSED_ON) continue;
      if (plumbing.kind[n] === Forwards.Nothing && !instance.moves.has(n)) {
        where[n] = instance.frame;
        continue;
      }
      sources(instance, n, plumbing.kind[n] === Forwards.Value ? 0 : WHOLE, true, ends);
      where[n] = ends.instance[0].place(ends.node[0]);
    }
    for (let n = instance.first + instance.count - 1; n >= instance.first; n--) {
      if (instance.place(n) !== INLINED && !(instance.place(n) === PASSED_ON && where[n] < 0)) continue;
      for (let u = uses.start[n]; u < uses.start[n + 1] && where[n] < 0; u++) where[n] = where[uses.value[u]];
      if (where[n] < 0) where[n] = instance.frame;
    }
  }
  // Graphs that are not expanded anywhere are shown by the box of the first node that calls them.
  const queue: number[] = first.map((instance) => instance.graph);
  for (let q = 0; q < queue.length; q++) {
    for (let n = graphStart[queue[q]]; n < graphStart[queue[q] + 1]; n++) {
      for (let c = calls.start[n]; c < calls.start[n + 1]; c++) {
        const graph = calls.value[c];
        if (placed[graph] || where[n] < 0) continue;
        placed[graph] = 1;
        where.fill(where[n], graphStart[graph], graphStart[graph + 1]);
        queue.push(graph);
      }
    }
  }
  return { boxOfNode: where, folded };
}
