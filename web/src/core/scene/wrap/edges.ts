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

interface Stub {
  readonly e: number;
  readonly box: number;
  readonly column: number;
  /** (across, along, across, …) from the number to the box, or the other way round. */
  readonly way: readonly number[];
  readonly out: boolean;
  readonly numbers: Set<number>;
}

/** A stub as it is drawn. */
interface Line {
  readonly e: number;
  readonly source: number;
  readonly target: number;
  readonly column: number;
  readonly points: readonly number[];
}

export class EdgeItems {
  /** Edges that are still whole, which keep the points of the layout, and their columns. */
  private readonly whole: Int32Array;
  private readonly wholeColumn: Int32Array;
  private wholeCount = 0;
  private readonly lines: Line[] = [];
  private readonly labels: { edge: number; column: number; u: number; v: number; text: string }[] = [];
  /** Stubs by box end (`endOf`): which numbers leave here, which arrive. */
  private readonly stubs = new Map<number, Stub>();
  private readonly marked: Uint8Array;

  constructor(
    private readonly visible: Visible,
    private readonly layout: CompoundLayout,
    private readonly down: boolean,
  ) {
    this.whole = new Int32Array(visible.edgeCount);
    this.wholeColumn = new Int32Array(visible.edgeCount);
    this.marked = new Uint8Array(2 * visible.boxCount);
  }

  keep(e: number, column: number): void {
    this.whole[this.wholeCount] = e;
    this.wholeColumn[this.wholeCount++] = column;
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
    this.stub({ e, box: source, column: from, way: this.at(layout.pointStart[e]), out: true }, source, number);
    const way = entered < 0 ? this.at(layout.pointStart[e + 1] - 1) : this.wayFrom(e, begins);
    this.stub({ e, box: target, column: to, way, out: false }, entered < 0 ? target : entered, number);
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

  /** `anchor`: what the number is next to: the box, or a frame whose title it would otherwise cover. */
  private stub(stub: Omit<Stub, "numbers">, anchor: number, number: number): void {
    const end = endOf(stub.box, stub.out);
    const stubHere = this.stubs.get(end);
    if (stubHere) stubHere.numbers.add(number);
    else {
      this.stubs.set(end, { ...stub, numbers: new Set([number]) });
      this.marked[endOf(anchor, stub.out)] = 1;
    }
  }

  /** Whether a number is before or after a box. */
  isMarked(box: number, out: boolean): boolean {
    return this.marked[endOf(box, out)] === 1;
  }

  /** Draws the stubs. If other edges leave at the same place, the number is next to them. */
  finishStubs(): void {
    const leaving = new Uint8Array(this.visible.boxCount);
    for (let i = 0; i < this.wholeCount; i++) leaving[this.visible.edgeSource[this.whole[i]]] = 1;
    for (const { e, box, column, way, out, numbers } of this.stubs.values()) {
      const [u, v] = way;
      const end = out ? v + STUB : v - STUB - 5;
      const shown =
        [...numbers]
          .sort((a, b) => a - b)
          .slice(0, MOST_NUMBERS)
          .join(", ") + (numbers.size > MOST_NUMBERS ? `, +${numbers.size - MOST_NUMBERS}` : "");
      const aside = out && leaving[box] ? (textWidth(shown, TINY) + LABEL) / 2 : 0;
      const edge = this.wholeCount + this.lines.length;
      this.labels.push({ edge, column, u: u + aside, v: out ? end + LABEL / 2 : end - LABEL / 2, text: shown });
      if (out) this.lines.push({ e, source: box, target: -1, column, points: [u, v, u + aside, end] });
      else this.lines.push({ e, source: -1, target: box, column, points: [u, end, ...way] });
    }
  }

  eachWhole(visit: (edge: number, column: number) => void): void {
    for (let i = 0; i < this.wholeCount; i++) visit(this.whole[i], this.wholeColumn[i]);
  }

  eachPoint(visit: (column: number, u: number, v: number) => void): void {
    const { pointStart, points } = this.layout;
    const [across, along] = this.down ? [0, 1] : [1, 0];
    this.eachWhole((e, column) => {
      for (let p = pointStart[e]; p < pointStart[e + 1]; p++) visit(column, points[2 * p + across], points[2 * p + along]);
    });
    for (const { column, points: line } of this.lines) for (let p = 0; p < line.length; p += 2) visit(column, line[p], line[p + 1]);
  }

  eachLabel(visit: (column: number, u: number, v: number, wide: number, high: number) => void): void {
    for (const { column, u, v, text } of this.labels) {
      const wide = textWidth(text, TINY) + 10;
      visit(column, u, v, this.down ? wide : LABEL, this.down ? LABEL : wide);
    }
  }

  placed(shift: Float64Array, top: Float64Array): Pick<Placed, "edge" | "edgeSource" | "edgeTarget" | "points" | "pointStart" | "labels"> {
    const { layout, lines, visible, whole, wholeCount } = this;
    const count = wholeCount + lines.length;
    const edge = new Int32Array(count);
    const edgeSource = new Int32Array(count);
    const edgeTarget = new Int32Array(count);
    const pointStart = new Int32Array(count + 1);
    for (let i = 0; i < count; i++) {
      const e = i < wholeCount ? whole[i] : lines[i - wholeCount].e;
      const line = i < wholeCount ? undefined : lines[i - wholeCount];
      edge[i] = e;
      edgeSource[i] = line ? line.source : visible.edgeSource[e];
      edgeTarget[i] = line ? line.target : visible.edgeTarget[e];
      pointStart[i + 1] = pointStart[i] + (line ? line.points.length / 2 : layout.pointStart[e + 1] - layout.pointStart[e]);
    }
    const points = new Float64Array(2 * pointStart[count]);
    const [u, v] = this.down ? [0, 1] : [1, 0];
    let at = 0;
    this.eachPoint((column, across, along) => {
      points[at + u] = across + shift[column];
      points[at + v] = along - top[column];
      at += 2;
    });
    const labels = this.labels.map(({ edge: of, column, u: across, v: along, text }): SceneLabel => {
      const place = [across + shift[column], along - top[column]];
      return { edge: of, x: place[u], y: place[v], text, kind: "cut" };
    });
    return { edge, edgeSource, edgeTarget, points, pointStart, labels };
  }
}

/** The number of a box's end: where edges leave it, or where they arrive. */
function endOf(box: number, out: boolean): number {
  return 2 * box + (out ? 1 : 0);
}
