/** Looking things up in a program: names, types, graphs, users, callers. One index per program; its tables are made when first needed. */
import { type Csr, type Csr2, distinct, distinctTranspose, transpose } from "../base/csr";
import { memoized } from "../base/memoized";
import { opName } from "./ops";
import { operandsOf, parametersOf } from "./parameters";
import type { ProgramData } from "./types";

const MOST_TYPES = 6;

export const indexOf = memoized((program: ProgramData) => new ProgramIndex(program));

export class ProgramIndex {
  private graphRows: Int32Array | undefined;
  private useRows: Csr | undefined;
  private userRows: Csr | undefined;
  private callerRows: Csr | undefined;
  private parameterRows: Csr2 | undefined;
  private outputMarks: Uint8Array | undefined;
  private readonly nodesById = new Map<number, Map<string, number>>();
  private graphsByName: Map<string, number> | undefined;

  constructor(readonly program: ProgramData) {}

  /** A string by its number; nothing for -1. */
  text(number: number): string {
    return number < 0 ? "" : this.program.strings.at(number);
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

  /** The type that a node yields, or its types in brackets: no more than fit on a screen. */
  typeText(node: number): string {
    const { outputs, types } = this.program;
    const first = outputs.start[node];
    const count = outputs.start[node + 1] - first;
    const text = (i: number) => this.text(types.text[outputs.value[first + i]]);
    if (count === 1) return text(0);
    const shown = Array.from({ length: Math.min(count, MOST_TYPES) }, (_, i) => text(i));
    return count === 0 ? "" : `(${shown.join(", ")}${count > MOST_TYPES ? `, … ${count} in total` : ""})`;
  }

  /** Bytes of all that a node yields, as far as they are known. */
  bytes(node: number): number {
    const { outputs, types } = this.program;
    let sum = 0;
    for (let i = outputs.start[node]; i < outputs.start[node + 1]; i++) sum += Math.max(0, types.bytes[outputs.value[i]]);
    return sum;
  }

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
    this.userRows ??= distinct(this.uses);
    return this.userRows;
  }

  /** Nodes that call each graph. */
  get callers(): Csr {
    this.callerRows ??= distinctTranspose(this.program.calls, this.program.graphCount);
    return this.callerRows;
  }

  /**
   * Parameters of each graph, in order, each with its place among them or, where these name them, the caller's operands. The gradient
   * that a backward half is given is one of them.
   */
  get parameters(): Csr2 {
    if (!this.parameterRows) {
      const { graphCount } = this.program;
      const start = new Int32Array(graphCount + 1);
      const value: number[] = [];
      const extra: number[] = [];
      for (let g = 0; g < graphCount; g++) {
        const parameters = parametersOf(this.program, g);
        for (const parameter of parameters) value.push(parameter);
        for (const operand of operandsOf(this.program, parameters)) extra.push(operand);
        start[g + 1] = value.length;
      }
      this.parameterRows = { start, value: Int32Array.from(value), extra: Int32Array.from(extra) };
    }
    return this.parameterRows;
  }

  /** 1: the node is named as an output of its graph. */
  get isOutput(): Uint8Array {
    if (!this.outputMarks) {
      this.outputMarks = new Uint8Array(this.program.nodeCount);
      for (const node of this.program.graphOutputs.value) this.outputMarks[node] = 1;
    }
    return this.outputMarks;
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
