/** What things in a program are called, for the page's lists and panels. */
import { opName } from "../../core/program/ops";
import { indexOf, type ProgramIndex } from "../../core/program/programIndex";
import type { Csr, ProgramData } from "../../core/program/types";
import type { GraphRow, NodeName } from "./protocol";

export class Lookup {
  private readonly index: ProgramIndex;

  constructor(readonly program: ProgramData) {
    this.index = indexOf(program);
  }

  text(index: number): string {
    return index < 0 ? "" : this.program.strings.at(index);
  }

  id(node: number): string {
    return this.text(this.program.nodeId[node]);
  }

  op(node: number): string {
    return opName(this.program, node);
  }

  graphName(graph: number): string {
    return this.text(this.program.graphName[graph]);
  }

  graphOf(node: number): number {
    return this.index.graphOf[node];
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
    return this.index.graphNamed(name);
  }

  /** The node with this id in a graph, or -1. */
  find(graph: number, id: string): number {
    return this.index.find(graph, id);
  }

  /** Nodes that take each node's values, once each. */
  get users(): Csr {
    return this.index.users;
  }

  /** Nodes that call each graph. */
  get callers(): Csr {
    return this.index.callers;
  }
}
