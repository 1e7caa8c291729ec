/** Edges after wrapping: whole ones within a column, and pairs of numbered stubs between columns. */
import type { CompoundLayout } from "../../layout/types";
import { textWidth } from "../../text/measure";
import type { Visible } from "../../program/types";
import { TINY } from "../boxText";
import type { Placed } from "../placed";
import type { SceneLabel } from "../types";

const STUB = 9;
const LABEL = 15;
const MOST_NUMBERS = 4;
/** The space of a stub and its number next to a box. */
export const STUB_ROOM = STUB + 5 + LABEL;

const stubKey = (box: number, out: boolean): string => `${box}${out ? ">" : "<"}`;

interface Stub {
  readonly e: number;
  readonly box: number;
  /** What the number is next to: the box, or a frame whose title it would otherwise cover. */
  readonly anchor: number;
  readonly column: number;
  /** (across, along, across, …) from the number to the box, or the other way round. */
  readonly way: readonly number[];
  readonly out: boolean;
  readonly numbers: Set<number>;
}

export class EdgeItems {
  private readonly edge: number[] = [];
  private readonly source: number[] = [];
  private readonly target: number[] = [];
  private readonly column: number[] = [];
  private readonly points: number[] = [];
  private readonly starts: number[] = [0];
  private readonly labels: { edge: number; column: number; u: number; v: number; text: string }[] = [];
  /** Stubs by box end: which numbers leave here, which arrive. */
  private readonly stubs = new Map<string, Stub>();
  private readonly marked = new Set<string>();

  constructor(
    private readonly visible: Visible,
    private readonly layout: CompoundLayout,
    private readonly down: boolean,
  ) {}

  private add(edge: number, source: number, target: number, column: number, points: readonly number[]): void {
    this.edge.push(edge);
    this.source.push(source);
    this.target.push(target);
    this.column.push(column);
    this.points.push(...points);
    this.starts.push(this.points.length / 2);
  }

  keep(e: number, column: number): void {
    const points: number[] = [];
    for (let p = this.layout.pointStart[e]; p < this.layout.pointStart[e + 1]; p++) points.push(...this.at(p));
    this.add(e, this.visible.edgeSource[e], this.visible.edgeTarget[e], column, points);
  }

  /** (across, along) of a point of the layout. */
  private at(p: number): [number, number] {
    const { points } = this.layout;
    return this.down ? [points[2 * p], points[2 * p + 1]] : [points[2 * p + 1], points[2 * p]];
  }

  /** `entered`: the frame (and where it begins) that the edge enters in its last column, or -1. */
  cut(e: number, number: number, from: number, to: number, entered: number, begins: number): void {
    const { visible, layout } = this;
    if (layout.pointStart[e + 1] - layout.pointStart[e] < 2) return;
    const [source, target] = [visible.edgeSource[e], visible.edgeTarget[e]];
    this.stub({ e, box: source, anchor: source, column: from, way: this.at(layout.pointStart[e]), out: true }, number);
    const way = entered < 0 ? this.at(layout.pointStart[e + 1] - 1) : this.wayFrom(e, begins);
    this.stub({ e, box: target, anchor: entered < 0 ? target : entered, column: to, way, out: false }, number);
  }

  /** The end of an edge, from where it reaches a line across the flow. */
  private wayFrom(e: number, line: number): number[] {
    const { pointStart } = this.layout;
    const way: number[] = [];
    let p = pointStart[e + 1] - 1;
    for (; p > pointStart[e] && this.at(p)[1] > line; p--) way.unshift(...this.at(p));
    const [u0, v0] = this.at(p);
    const [u1, v1] = way.length ? way : [u0, v0];
    const share = v1 > v0 ? (line - v0) / (v1 - v0) : 1;
    return [u0 + share * (u1 - u0), line, ...way];
  }

  private stub(stub: Omit<Stub, "numbers">, number: number): void {
    const key = stubKey(stub.box, stub.out);
    const stubHere = this.stubs.get(key);
    if (stubHere) stubHere.numbers.add(number);
    else this.stubs.set(key, { ...stub, numbers: new Set([number]) });
    this.marked.add(stubKey(this.stubs.get(key)!.anchor, stub.out));
  }

  /** Whether a number is before or after a box. */
  isMarked(box: number, out: boolean): boolean {
    return this.marked.has(stubKey(box, out));
  }

  /** Draws the stubs. If other edges leave at the same place, the number is next to them. */
  finishStubs(): void {
    const leaving = new Set(this.source);
    for (const { e, box, column, way, out, numbers } of this.stubs.values()) {
      const [u, v] = way;
      const end = out ? v + STUB : v - STUB - 5;
      const shown =
        [...numbers]
          .sort((a, b) => a - b)
          .slice(0, MOST_NUMBERS)
          .join(", ") + (numbers.size > MOST_NUMBERS ? `, +${numbers.size - MOST_NUMBERS}` : "");
      const aside = out && leaving.has(box) ? (textWidth(shown, TINY) + LABEL) / 2 : 0;
      this.labels.push({ edge: this.edge.length, column, u: u + aside, v: out ? end + LABEL / 2 : end - LABEL / 2, text: shown });
      if (out) this.add(e, box, -1, column, [u, v, u + aside, end]);
      else this.add(e, -1, box, column, [u, end, ...way]);
    }
  }

  /** Every edge that is still whole, with its points (across, along, across, …). */
  eachWhole(visit: (edge: number, column: number, points: readonly number[]) => void): void {
    for (let e = 0; e < this.edge.length; e++) {
      if (this.source[e] >= 0 && this.target[e] >= 0)
        visit(this.edge[e], this.column[e], this.points.slice(2 * this.starts[e], 2 * this.starts[e + 1]));
    }
  }

  eachPoint(visit: (column: number, u: number, v: number) => void): void {
    for (let e = 0; e < this.edge.length; e++) {
      for (let p = this.starts[e]; p < this.starts[e + 1]; p++) visit(this.column[e], this.points[2 * p], this.points[2 * p + 1]);
    }
  }

  eachLabel(visit: (column: number, u: number, v: number, wide: number, high: number) => void): void {
    for (const { column, u, v, text } of this.labels) {
      const wide = textWidth(text, TINY) + 10;
      visit(column, u, v, this.down ? wide : LABEL, this.down ? LABEL : wide);
    }
  }

  placed(shift: Float64Array, top: Float64Array): Pick<Placed, "edge" | "edgeSource" | "edgeTarget" | "points" | "pointStart" | "labels"> {
    const points = new Float64Array(this.points.length);
    const [u, v] = this.down ? [0, 1] : [1, 0];
    for (let e = 0; e < this.edge.length; e++) {
      for (let p = this.starts[e]; p < this.starts[e + 1]; p++) {
        points[2 * p + u] = this.points[2 * p] + shift[this.column[e]];
        points[2 * p + v] = this.points[2 * p + 1] - top[this.column[e]];
      }
    }
    const labels = this.labels.map(({ edge, column, u: across, v: along, text }): SceneLabel => {
      const place = [across + shift[column], along - top[column]];
      return { edge, x: place[u], y: place[v], text, kind: "cut" };
    });
    return {
      edge: Int32Array.from(this.edge),
      edgeSource: Int32Array.from(this.source),
      edgeTarget: Int32Array.from(this.target),
      points,
      pointStart: Int32Array.from(this.starts),
      labels,
    };
  }
}
