/** What feeds some nodes and what uses them, so many steps away. */
import type { Csr } from "../../core/types";
import type { Lookup } from "./names";
import type { TraceResult } from "./protocol";

export function trace(lookup: Lookup, nodes: readonly number[], up: number, down: number): TraceResult {
  const { program } = lookup;
  const mark = new Uint8Array(program.nodeCount);
  const upstream = walk(program.inputs, nodes, up, mark, 1);
  const downstream = walk(lookup.users, nodes, down, mark, 2);
  for (const node of nodes) mark[node] = 3;
  return { mark, upstream, downstream };
}

function walk(rows: Csr, from: readonly number[], steps: number, mark: Uint8Array, bit: number): number {
  let edge = [...from];
  let reached = 0;
  const seen = new Uint8Array(mark.length);
  for (const node of from) seen[node] = 1;
  for (let step = 0; step < steps && edge.length; step++) {
    const next: number[] = [];
    for (const node of edge) {
      for (let i = rows.start[node]; i < rows.start[node + 1]; i++) {
        const other = rows.value[i];
        if (seen[other]) continue;
        seen[other] = 1;
        mark[other] |= bit;
        reached++;
        next.push(other);
      }
    }
    edge = next;
  }
  return reached;
}
