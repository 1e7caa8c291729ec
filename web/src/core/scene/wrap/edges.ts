/** Edges after wrapping: whole ones within a column, and pairs of numbered stubs between columns. */
import { bucketBy } from "../../base/csr";
import type { CompoundLayout } from "../../layout/types";
import { textWidth } from "../../text/measure";
import { type PackedTexts, packTexts } from "../../text/packedTexts";
import type { Visible } from "../../program/types";
import { TINY } from "../boxText";
import { KINDS, LabelColumns, NO_LABELS } from "../labelColumns";
import type { Placed } from "../placed";

const STUB = 9;
const LABEL = 15;
const MOST_NUMBERS = 4;
/** The space of a stub and its number next to a box. */
export const STUB_ROOM = STUB + 5 + LABEL;

export class EdgeItems {
  /** Edges that are still whole, which keep the points of the layout, and their columns. */
  private readonly whole: Int32Array;
  private readonly wholeColumn: Int32Array;
  private wholeCount = 0;
  /**
   * Stubs: one for each end of a box (`endOf`) with cut edges. Columns of them: which edge gave it its place, the end, its column, where it
   * meets the box (across, along), the text and width of its number, and where that is.
   */
  private stubCount = 0;
  private readonly stubAt: Int32Array;
  private readonly stubEdge: Int32Array;
  private readonly stubEnd: Int32Array;
  private readonly stubColumn: Int32Array;
  /** -1 where the edge leads upwards, as in a backward half: its number is above its source, and below its target. */
  private readonly stubSign: Int8Array;
  private readonly stubU: Float64Array;
  private readonly stubV: Float64Array;
  private texts: PackedTexts = NO_LABELS.columns.texts;
  private readonly wide: Float64Array;
  private readonly labelU: Float64Array;
  private readonly labelV: Float64Array;
  /** The way (across, along, across, …) from a number to its box where that is more than a straight line: where the edge enters frames. */
  private readonly ways = new Map<number, readonly number[]>();
  /** Which numbers are at which stub. */
  private entryCount = 0;
  private readonly entryStub: Int32Array;
  private readonly entryNumber: Int32Array;
  private readonly marked: Uint8Array;

  constructor(
    private readonly visible: Visible,
    private readonly layout: CompoundLayout,
    private readonly down: boolean,
    cutCount: number,
  ) {
    this.whole = new Int32Array(visible.edgeCount - cutCount);
    this.wholeColumn = new Int32Array(visible.edgeCount - cutCount);
    const most = Math.min(2 * cutCount, 2 * visible.boxCount);
    this.stubAt = new Int32Array(2 * visible.boxCount).fill(-1);
    this.stubEdge = new Int32Array(most);
    this.stubEnd = new Int32Array(most);
    this.stubColumn = new Int32Array(most);
    this.stubSign = new Int8Array(most);
    this.stubU = new Float64Array(most);
    this.stubV = new Float64Array(most);
    this.wide = new Float64Array(most);
    this.labelU = new Float64Array(most);
    this.labelV = new Float64Array(most);
    this.entryStub = new Int32Array(2 * cutCount);
    this.entryNumber = new Int32Array(2 * cutCount);
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
    this.stub(e, endOf(source, true), from, layout.pointStart[e], source, number);
    const stub = this.stub(e, endOf(target, false), to, layout.pointStart[e + 1] - 1, entered < 0 ? target : entered, number);
    if (entered < 0 || this.stubEdge[stub] !== e) return;
    const way = this.wayFrom(e, begins);
    this.ways.set(stub, way);
    [this.stubU[stub], this.stubV[stub]] = way;
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

  /** `p`: the point of the layout where it meets the box; `anchor`: what the number is next to: the box, or a frame whose title it would cover. */
  private stub(e: number, end: number, column: number, p: number, anchor: number, number: number): number {
    let stub = this.stubAt[end];
    if (stub < 0) {
      stub = this.stubCount++;
      this.stubAt[end] = stub;
      this.stubEdge[stub] = e;
      this.stubEnd[stub] = end;
      this.stubColumn[stub] = column;
      [this.stubU[stub], this.stubV[stub]] = this.at(p);
      this.stubSign[stub] = this.leadsUp(e, isOut(end)) ? -1 : 1;
      this.marked[endOf(anchor, isOut(end) === this.stubSign[stub] > 0)] = 1;
    }
    this.entryStub[this.entryCount] = stub;
    this.entryNumber[this.entryCount++] = number;
    return stub;
  }

  /** Does an edge leave its source, or reach its target, against the flow? */
  leadsUp(e: number, out: boolean): boolean {
    const p = out ? this.layout.pointStart[e] : this.layout.pointStart[e + 1] - 2;
    return this.at(p + 1)[1] < this.at(p)[1];
  }

  /** Whether a number is before or after a box. */
  isMarked(box: number, out: boolean): boolean {
    return this.marked[endOf(box, out)] === 1;
  }

  /** Numbers the stubs. If other edges leave at the same place, the number is next to them. */
  finishStubs(): void {
    const leaving = new Uint8Array(this.visible.boxCount);
    for (let i = 0; i < this.wholeCount; i++) leaving[this.visible.edgeSource[this.whole[i]]] = 1;
    const { start, value } = bucketBy(this.entryStub.subarray(0, this.entryCount), this.stubCount, this.entryNumber);
    this.texts = packTexts(this.stubCount, (stub) => {
      const words = this.visible.edgeText?.[this.stubEdge[stub]];
      const text = numbersText(value.subarray(start[stub], start[stub + 1])) + (words ? ` ${words}` : "");
      const end = this.stubEnd[stub];
      const isAside = isOut(end) && leaving[end >> 1];
      this.wide[stub] = textWidth(text, TINY);
      this.labelU[stub] = this.stubU[stub] + (isAside ? (this.wide[stub] + LABEL) / 2 : 0);
      this.labelV[stub] = this.stubV[stub] + this.stubSign[stub] * (isOut(end) ? STUB + LABEL / 2 : -STUB - 5 - LABEL / 2);
      return text;
    });
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
    for (let stub = 0; stub < this.stubCount; stub++) {
      const [column, u, v] = [this.stubColumn[stub], this.stubU[stub], this.stubV[stub]];
      if (isOut(this.stubEnd[stub])) {
        visit(column, u, v);
        visit(column, this.labelU[stub], v + this.stubSign[stub] * STUB);
        continue;
      }
      visit(column, u, v - this.stubSign[stub] * (STUB + 5));
      const way = this.ways.get(stub);
      if (way) for (let p = 0; p < way.length; p += 2) visit(column, way[p], way[p + 1]);
      else visit(column, u, v);
    }
  }

  eachLabel(visit: (column: number, u: number, v: number, wide: number, high: number) => void): void {
    for (let stub = 0; stub < this.stubCount; stub++) {
      const wide = this.wide[stub] + 10;
      visit(this.stubColumn[stub], this.labelU[stub], this.labelV[stub], this.down ? wide : LABEL, this.down ? LABEL : wide);
    }
  }

  placed(shift: Float64Array, top: Float64Array): Pick<Placed, "edge" | "edgeSource" | "edgeTarget" | "points" | "pointStart" | "labels"> {
    const { layout, visible, whole, wholeCount, stubCount } = this;
    const count = wholeCount + stubCount;
    const edge = new Int32Array(count);
    const edgeSource = new Int32Array(count);
    const edgeTarget = new Int32Array(count);
    const pointStart = new Int32Array(count + 1);
    for (let i = 0; i < wholeCount; i++) {
      const e = whole[i];
      edge[i] = e;
      edgeSource[i] = visible.edgeSource[e];
      edgeTarget[i] = visible.edgeTarget[e];
      pointStart[i + 1] = pointStart[i] + layout.pointStart[e + 1] - layout.pointStart[e];
    }
    for (let stub = 0; stub < stubCount; stub++) {
      const i = wholeCount + stub;
      const end = this.stubEnd[stub];
      edge[i] = this.stubEdge[stub];
      edgeSource[i] = isOut(end) ? end >> 1 : -1;
      edgeTarget[i] = isOut(end) ? -1 : end >> 1;
      const way = this.ways.get(stub);
      pointStart[i + 1] = pointStart[i] + (way ? 1 + way.length / 2 : 2);
    }
    const points = new Float64Array(2 * pointStart[count]);
    const [u, v] = this.down ? [0, 1] : [1, 0];
    let at = 0;
    this.eachPoint((column, across, along) => {
      points[at + u] = across + shift[column];
      points[at + v] = along - top[column];
      at += 2;
    });
    return { edge, edgeSource, edgeTarget, points, pointStart, labels: this.labels(shift, top) };
  }

  private labels(shift: Float64Array, top: Float64Array): LabelColumns {
    const { stubCount, stubColumn, wholeCount } = this;
    const [edge, across, along] = [new Int32Array(stubCount), new Float64Array(stubCount), new Float64Array(stubCount)];
    for (let stub = 0; stub < stubCount; stub++) {
      edge[stub] = wholeCount + stub;
      across[stub] = this.labelU[stub] + shift[stubColumn[stub]];
      along[stub] = this.labelV[stub] - top[stubColumn[stub]];
    }
    const [x, y] = this.down ? [across, along] : [along, across];
    const kind = new Uint8Array(stubCount).fill(KINDS.indexOf("cut"));
    return new LabelColumns({ edge, x, y, kind, ground: new Int32Array(stubCount).fill(-1), texts: this.texts });
  }
}

/** A few numbers, each once, and how many more there are. Sorts them. */
function numbersText(numbers: Int32Array): string {
  if (numbers.length === 1) return String(numbers[0]);
  numbers.sort();
  let text = "";
  let count = 0;
  for (let i = 0; i < numbers.length; i++) {
    if (i > 0 && numbers[i] === numbers[i - 1]) continue;
    if (count++ < MOST_NUMBERS) text += count === 1 ? numbers[i] : `, ${numbers[i]}`;
  }
  return count > MOST_NUMBERS ? `${text}, +${count - MOST_NUMBERS}` : text;
}

/** The number of a box's end: where edges leave it, or where they arrive. */
function endOf(box: number, out: boolean): number {
  return 2 * box + (out ? 1 : 0);
}

const isOut = (end: number): boolean => (end & 1) === 1;
