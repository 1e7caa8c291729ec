/** The edges of a view under construction: columns that grow, merged as they come. */

import { EdgeKind, type ProgramData } from "../../program/types";
import type { Boxes } from "../boxes/boxes";
import { TripleMap } from "../../base/csr";

export class Edges {
  readonly source: number[] = [];
  readonly target: number[] = [];
  readonly kind: number[] = [];
  readonly node: number[] = [];
  readonly output: number[] = [];
  readonly merged: number[] = [];
  readonly distinct: number[] = [];
  readonly bytes: number[] = [];
  readonly sourcePort: number[] = [];
  readonly targetPort: number[] = [];
  /** Which operand of its target the value is, if the order matters and the box does not show it; -1 otherwise. */
  readonly operand: number[] = [];
  /** The values that each edge carries, as positions in the table of outputs, if they are kept. */
  readonly values: number[][] = [];
  private readonly numbers: TripleMap;
  private readonly carried = new TripleMap();

  constructor(
    private readonly boxes: Boxes,
    private readonly program: ProgramData,
    expected: number,
    private readonly keepsValues = false,
  ) {
    this.numbers = new TripleMap(expected);
  }

  get count(): number {
    return this.source.length;
  }

  /**
   * An edge that carries output `output` of `node` to operand `operand`. Between two operations each use is a separate edge;
   * if an end is a container, all edges between the same two boxes are one. An edge that only repeats a drawn one does not count again.
   * Returns the edge's number.
   */
  add(kind: EdgeKind, source: number, target: number, node: number, output: number, operand: number, repeated = false): number {
    const { boxes } = this;
    const single = boxes.isLeaf(source) && boxes.isLeaf(target);
    const number = this.numbers.number(
      source,
      target,
      kind * 0x10000000 + (kind === EdgeKind.Overlay || (single && kind === EdgeKind.Data) ? 1 + operand : 0),
    );
    const carried = this.carried.size;
    const again = !single && this.carried.number(number, node, output) < carried;
    if (number < this.source.length) {
      if (!repeated) this.merged[number]++;
      if (!again) {
        this.distinct[number]++;
        this.bytes[number] += this.bytesOf(node, output);
        if (this.keepsValues) this.values[number].push(...this.positions(node, output));
      }
      return number;
    }
    this.source.push(source);
    this.target.push(target);
    this.kind.push(kind);
    this.node.push(node);
    this.output.push(output);
    this.merged.push(1);
    this.distinct.push(1);
    this.bytes.push(this.bytesOf(node, output));
    this.sourcePort.push(Number.NaN);
    this.targetPort.push(Number.NaN);
    this.operand.push(-1);
    if (this.keepsValues) this.values.push(this.positions(node, output));
    return number;
  }

  /** Removes the marked edges. */
  remove(gone: Uint8Array): void {
    if (!gone.includes(1)) return;
    const columns: unknown[][] = [
      this.source,
      this.target,
      this.kind,
      this.node,
      this.output,
      this.merged,
      this.distinct,
      this.bytes,
      this.sourcePort,
      this.targetPort,
      this.operand,
      this.values,
    ];
    for (const column of columns) {
      let count = 0;
      for (let e = 0; e < column.length; e++) if (!gone[e]) column[count++] = column[e];
      column.length = count;
    }
  }

  private bytesOf(node: number, output: number): number {
    const { outputs, types } = this.program;
    if (node < 0) return Number.NaN;
    const from = outputs.start[node];
    let sum = 0;
    for (let o = output < 0 ? from : from + output; o < (output < 0 ? outputs.start[node + 1] : from + output + 1); o++)
      sum += types.bytes[outputs.value[o]] < 0 ? Number.NaN : types.bytes[outputs.value[o]];
    return sum;
  }

  /** Positions of a value in the table of outputs; a whole tuple has several. */
  private positions(node: number, output: number): number[] {
    if (node < 0) return [];
    const { start } = this.program.outputs;
    if (output >= 0) return [start[node] + output];
    return Array.from({ length: start[node + 1] - start[node] }, (_, i) => start[node] + i);
  }
}
