/** Looking things up in a program: names, graphs, users, callers. One index per program; its tables are made when first needed. */
import { type Csr, distinctTranspose, transpose } from "../base/csr";
import { memoized } from "../base/memoized";
import type { ProgramData } from "./types";

export const indexOf = memoized((program: ProgramData) => new ProgramIndex(program));

export class ProgramIndex {
  private graphRows: Int32Array | undefined;
  private useRows: Csr | undefined;
  private userRows: Csr | undefined;
  private callerRows: Csr | undefined;
  private readonly nodesById = new Map<number, Map<string, number>>();
  private graphsByName: Map<string, number> | undefined;

  constructor(readonly program: ProgramData) {}

  /** The graph of each node. */
  get graphOf(): Int32Array {
    if (!this.graphRows) {
      const { graphStart, graphCount, nodeCount } = this.program;
      this.graphRows = new Int32Array(nodeCount);
      for (let g = 0; g < graphCount; g++) this.graphRows.fill(g, graphStart[g], graphStart[g + 1]);
    }
    return this.graphRows;
  }

  /** Nodes that take a value of each node, once per use, in order. */
  get uses(): Csr {
    this.useRows ??= transpose(this.program.inputs, this.program.nodeCount);
    return this.useRows;
  }

  /** Nodes that take a value of each node, once each. */
  get users(): Csr {
    this.userRows ??= distinctTranspose(this.program.inputs, this.program.nodeCount);
    return this.userRows;
  }

  /** Nodes that call each graph. */
  get callers(): Csr {
    this.callerRows ??= distinctTranspose(this.program.calls, this.program.graphCount);
    return this.callerRows;
  }

  /** The node with this id in a graph, or -1. */
  find(graph: number, id: string): number {
    let nodes = this.nodesById.get(graph);
    if (!nodes) {
      const { graphStart, nodeId, strings } = this.program;
      nodes = new Map();
      for (let n = graphStart[graph]; n < graphStart[graph + 1]; n++) nodes.set(strings.at(nodeId[n]), n);
      this.nodesById.set(graph, nodes);
    }
    return nodes.get(id) ?? -1;
  }

  /** The graph of this name, or -1. */
  graphNamed(name: string): number {
    this.graphsByName ??= new Map(Array.from(this.program.graphName, (text, g) => [this.program.strings.at(text), g]));
    return this.graphsByName.get(name) ?? -1;
  }
}
