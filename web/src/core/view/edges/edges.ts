/** The edges of a view under construction: columns that grow, merged as they come. */

import { EdgeKind, type ProgramData } from "../../program/types";
import type { Boxes } from "../boxes/boxes";
import { withRoom } from "../../base/arrays";
import { TripleMap } from "../../base/csr";

const FIRST_ROOM = 64;

export class Edges {
  count = 0;
  /** These have room for further edges behind the last, and are replaced by longer ones: never keep one while edges are added. */
  source: Int32Array;
  target: Int32Array;
  kind: Uint8Array;
  node: Int32Array;
  output: Int32Array;
  merged: Int32Array;
  distinct: Int32Array;
  bytes: Float64Array;
  sourcePort: Float64Array;
  targetPort: Float64Array;
  /** Which operand of its target the value is, if the order matters and the box does not show it; -1 otherwise. */
  operand: Int32Array;
  /** The values that each edge carries, as positions in the table of outputs, if they are kept. */
  readonly values: number[][] = [];
  private readonly numbers: TripleMap;
  /** The first edge with each value, by its place in the table of outputs, or -1; and values with their further edges. */
  private carrier: Int32Array | undefined;
  private readonly carried = new TripleMap();

  constructor(
    private readonly boxes: Boxes,
    private readonly program: ProgramData,
    expected: number,
    private readonly keepsValues = false,
  ) {
    this.numbers = new TripleMap(expected);
    // Columns of a million edges that grow by doubling would be copied twenty times.
    const room = Math.max(FIRST_ROOM, expected);
    [this.source, this.target, this.node, this.output] = Array.from({ length: 4 }, () => new Int32Array(room));
    [this.merged, this.distinct, this.operand] = Array.from({ length: 3 }, () => new Int32Array(room));
    [this.bytes, this.sourcePort, this.targetPort] = Array.from({ length: 3 }, () => new Float64Array(room));
    this.kind = new Uint8Array(room);
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
    const again = !single && this.isCarried(number, node, output);
    if (number < this.count) {
      if (!repeated) this.merged[number]++;
      if (!again) {
        this.distinct[number]++;
        this.bytes[number] += this.bytesOf(node, output);
        if (this.keepsValues) this.values[number].push(...this.positions(node, output));
      }
      return number;
    }
    if (this.count === this.source.length) this.grow();
    const edge = this.count++;
    this.source[edge] = source;
    this.target[edge] = target;
    this.kind[edge] = kind;
    this.node[edge] = node;
    this.output[edge] = output;
    this.merged[edge] = 1;
    this.distinct[edge] = 1;
    this.bytes[edge] = this.bytesOf(node, output);
    this.sourcePort[edge] = Number.NaN;
    this.targetPort[edge] = Number.NaN;
    this.operand[edge] = -1;
    if (this.keepsValues) this.values.push(this.positions(node, output));
    return number;
  }

  /** Does an edge carry this value already? From now on, it does. Most values are on one edge, and need no hashing. */
  private isCarried(edge: number, node: number, output: number): boolean {
    const { start, value } = this.program.outputs;
    const at = start[node] + output;
    if (node >= 0 && output >= 0 && at < start[node + 1]) {
      this.carrier ??= new Int32Array(value.length).fill(-1);
      const first = this.carrier[at];
      if (first < 0) this.carrier[at] = edge;
      if (first < 0 || first === edge) return first === edge;
    }
    const { size } = this.carried;
    return this.carried.number(edge, node, output) < size;
  }

  private grow(): void {
    const room = 2 * this.count;
    this.source = withRoom(this.source, room);
    this.target = withRoom(this.target, room);
    this.kind = withRoom(this.kind, room);
    this.node = withRoom(this.node, room);
    this.output = withRoom(this.output, room);
    this.merged = withRoom(this.merged, room);
    this.distinct = withRoom(this.distinct, room);
    this.bytes = withRoom(this.bytes, room);
    this.sourcePort = withRoom(this.sourcePort, room);
    this.targetPort = withRoom(this.targetPort, room);
    this.operand = withRoom(this.operand, room);
  }

  /** Removes the marked edges. */
  remove(gone: Uint8Array): void {
    if (!gone.includes(1)) return;
    const { source, target, kind, node, output, merged, distinct, bytes, sourcePort, targetPort, operand, values } = this;
    const columns = [source, target, kind, node, output, merged, distinct, bytes, sourcePort, targetPort, operand];
    let left = 0;
    for (let e = 0; e < this.count; e++) {
      if (gone[e]) continue;
      if (left < e) for (const column of columns) column[left] = column[e];
      if (this.keepsValues) values[left] = values[e];
      left++;
    }
    this.count = left;
    if (this.keepsValues) values.length = left;
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
