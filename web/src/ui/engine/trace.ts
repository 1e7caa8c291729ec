/**
 * What is upstream and downstream of some nodes, up to a number of hops. The walk leaves a called graph through its callers (only the
 * graphs that it began in), and a call that is reached includes its whole body.
 */
import type { Csr } from "../../core/program/types";
import type { ProgramIndex } from "../../core/program/programIndex";
import type { TraceResult } from "./protocol";

export function trace(index: ProgramIndex, nodes: readonly number[], up: number, down: number): TraceResult {
  const { program } = index;
  const mark = new Uint8Array(program.nodeCount);
  const outside = graphsAround(index, nodes);
  const upstream = new Walk(index, outside, program.inputs, isSource, 1, mark).run(nodes, up);
  const downstream = new Walk(index, outside, index.users, isResult, 2, mark).run(nodes, down);
  for (const node of nodes) mark[node] = 3;
  return { mark, upstream, downstream };
}

/** Nodes at which a walk leaves a graph: those without inputs, or its results. */
const isSource = (index: ProgramIndex, node: number) => index.program.inputs.start[node + 1] === index.program.inputs.start[node];
const isResult = (index: ProgramIndex, node: number) => {
  const { start, value } = index.program.graphOutputs;
  const graph = index.graphOf[node];
  for (let i = start[graph]; i < start[graph + 1]; i++) if (value[i] === node) return true;
  return false;
};

/** The graphs of some nodes and all graphs that call them, directly or indirectly. */
function graphsAround(index: ProgramIndex, nodes: readonly number[]): Uint8Array {
  const around = new Uint8Array(index.program.graphCount);
  const todo = nodes.map((node) => index.graphOf[node]);
  for (let graph = todo.pop(); graph !== undefined; graph = todo.pop()) {
    if (around[graph]) continue;
    around[graph] = 1;
    for (let i = index.callers.start[graph]; i < index.callers.start[graph + 1]; i++) todo.push(index.graphOf[index.callers.value[i]]);
  }
  return around;
}

class Walk {
  private readonly visited: Uint8Array;
  private reached = 0;
  private next: number[] = [];

  constructor(
    private readonly index: ProgramIndex,
    private readonly outside: Uint8Array,
    private readonly rows: Csr,
    private readonly leaves: (index: ProgramIndex, node: number) => boolean,
    private readonly bit: number,
    private readonly mark: Uint8Array,
  ) {
    this.visited = new Uint8Array(mark.length);
  }

  run(from: readonly number[], hops: number): number {
    for (const node of from) this.visited[node] = 1;
    let frontier = [...from];
    for (let hop = 0; hop < hops && frontier.length; hop++) {
      this.next = [];
      for (const node of frontier) {
        for (let i = this.rows.start[node]; i < this.rows.start[node + 1]; i++) this.reach(this.rows.value[i]);
        this.leave(node);
      }
      frontier = this.next;
    }
    return this.reached;
  }

  private reach(node: number): void {
    if (this.visited[node]) return;
    this.visited[node] = 1;
    this.mark[node] |= this.bit;
    this.reached++;
    this.next.push(node);
    this.includeBodies(node);
  }

  private leave(node: number): void {
    const graph = this.index.graphOf[node];
    if (!this.outside[graph] || !this.leaves(this.index, node)) return;
    const { start, value } = this.index.callers;
    for (let i = start[graph]; i < start[graph + 1]; i++) this.reach(value[i]);
  }

  /** Everything that a reached node calls, unless the walk began there. */
  private includeBodies(node: number): void {
    const { calls, graphStart } = this.index.program;
    const todo = [node];
    for (let at = todo.pop(); at !== undefined; at = todo.pop()) {
      for (let c = calls.start[at]; c < calls.start[at + 1]; c++) {
        const graph = calls.value[c];
        const first = graphStart[graph];
        if (this.outside[graph] || first === graphStart[graph + 1] || this.visited[first]) continue;
        for (let inner = first; inner < graphStart[graph + 1]; inner++) {
          this.visited[inner] = 1;
          this.mark[inner] |= this.bit;
          if (calls.start[inner + 1] > calls.start[inner]) todo.push(inner);
        }
      }
    }
  }
}
