/** Looking things up in a program: names, users, callers. Tables are made when first needed. */
import type { Csr, ProgramData } from "../../core/program/types";
import type { GraphRow, NodeName } from "./protocol";

export class Lookup {
  private userRows: Csr | undefined;
  private callerRows: Csr | undefined;
  private readonly idRows = new Map<number, Map<string, number>>();

  constructor(readonly program: ProgramData) {}

  text(index: number): string {
    return index < 0 ? "" : this.program.strings.at(index);
  }

  id(node: number): string {
    return this.text(this.program.nodeId[node]);
  }

  op(node: number): string {
    return this.text(this.program.nodeOp[node]);
  }

  graphName(graph: number): string {
    return this.text(this.program.graphName[graph]);
  }

  graphOf(node: number): number {
    const { graphStart, graphCount } = this.program;
    let low = 0,
      high = graphCount - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (graphStart[middle] <= node) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** What a node yields: its type, or its types in brackets, and not more than a screen of them. */
  type(node: number): string {
    const { start, value } = this.program.outputs;
    const count = start[node + 1] - start[node];
    const at = (i: number) => this.text(this.program.types.text[value[start[node] + i]]);
    if (count === 1) return at(0);
    const shown = Array.from({ length: Math.min(count, 6) }, (_, i) => at(i));
    return count === 0 ? "" : `(${shown.join(", ")}${count > 6 ? `, … ${count} in all` : ""})`;
  }

  bytes(node: number): number {
    const { start, value } = this.program.outputs;
    let sum = 0;
    for (let i = start[node]; i < start[node + 1]; i++) sum += Math.max(0, this.program.types.bytes[value[i]]);
    return sum;
  }

  name(node: number): NodeName {
    return { node, id: this.id(node), op: this.op(node), graph: this.graphName(this.graphOf(node)), type: this.type(node) };
  }

  graph(graph: number): GraphRow {
    const { graphStart } = this.program;
    const callers = this.callers;
    return {
      name: this.graphName(graph),
      nodes: graphStart[graph + 1] - graphStart[graph],
      callers: callers.start[graph + 1] - callers.start[graph],
    };
  }

  graphNumber(name: string): number {
    for (let g = 0; g < this.program.graphCount; g++) if (this.graphName(g) === name) return g;
    return -1;
  }

  /** The node with this id in a graph, or -1. */
  find(graph: number, id: string): number {
    let ids = this.idRows.get(graph);
    if (!ids) {
      ids = new Map();
      for (let n = this.program.graphStart[graph]; n < this.program.graphStart[graph + 1]; n++) ids.set(this.id(n), n);
      this.idRows.set(graph, ids);
    }
    return ids.get(id) ?? -1;
  }

  /** Nodes that take each node's values, once each. */
  get users(): Csr {
    this.userRows ??= reversed(this.program.inputs, this.program.nodeCount);
    return this.userRows;
  }

  /** Nodes that call each graph. */
  get callers(): Csr {
    this.callerRows ??= reversed(this.program.calls, this.program.graphCount);
    return this.callerRows;
  }
}

/** Rows the other way round; a row that names the same number twice counts once. */
export function reversed(rows: Csr, count: number): Csr {
  const last = new Int32Array(count).fill(-1);
  const start = new Int32Array(count + 1);
  const each = (visit: (value: number, row: number) => void) => {
    last.fill(-1);
    for (let row = 0; row + 1 < rows.start.length; row++) {
      for (let i = rows.start[row]; i < rows.start[row + 1]; i++) {
        const value = rows.value[i];
        if (last[value] === row) continue;
        last[value] = row;
        visit(value, row);
      }
    }
  };
  each((value) => start[value + 1]++);
  for (let i = 0; i < count; i++) start[i + 1] += start[i];
  const next = start.slice();
  const value = new Int32Array(start[count]);
  each((to, row) => {
    value[next[to]++] = row;
  });
  return { start, value };
}
