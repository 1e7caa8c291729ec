/**
 * Edges between the blocks of a drawing with two halves. They leave and enter the halves at the side, run along a gutter in their own
 * lane, and turn at right angles; if nothing is in between, they run straight.
 */
import { Block } from "../../base/halves";
import { Bands, lanesFor, type Stretch } from "./lanes";
import type { Whole } from "./block";
import type { CompoundGraph } from "../types";

export const enum Gutter {
  Left = 0,
  Middle = 1,
  Right = 2,
}

const LANE = 7;
const MOST_LANES = 26;
const MARGIN = 22;
const NARROWEST = 90;
/** How far below a box a line turns if it cannot leave at the side: as soon as it passes whatever is there, but before the next box below. */
const UNDER = { least: 9, most: 36, step: 3 };
const LEVEL = 0.75;

/** One end of a line at a half: where it touches the box, and whether it does so from below. */
interface Port {
  y: number;
  readonly under: boolean;
}

interface Crossing {
  readonly edge: number;
  readonly gutter: Gutter;
  /** Ends at a half; undefined: the box is above or below the halves. */
  source: Port | undefined;
  target: Port | undefined;
  lane: number;
  /** Lanes in the corridors above and below the halves, or -1. */
  above: number;
  below: number;
}

export interface Corridors {
  /** Where the space above and below the halves begins, and its height. */
  readonly above: number;
  readonly below: number;
  readonly room: number;
}

export class Crossings {
  /** The width of each gutter. */
  readonly width: readonly number[];
  /** Where along its top each value enters the block below, from left (0) to right (1). */
  readonly entryPort = new Map<number, number>();
  private readonly crossings: Crossing[] = [];
  private readonly sideways: Bands[] = [];
  private readonly upright: Bands[] = [];

  /** Vertical places in `whole` are final except for the last block; horizontal ones are relative to each block. */
  constructor(
    private readonly graph: CompoundGraph,
    private readonly block: Uint8Array,
    private readonly whole: Whole,
    private readonly corridors: Corridors,
  ) {
    this.findFreeRays();
    for (let e = 0; e < graph.edgeSource.length; e++) {
      const from = block[graph.edgeSource[e]];
      const to = block[graph.edgeTarget[e]];
      if (from !== to)
        this.crossings.push({ edge: e, gutter: gutterOf(from, to), source: undefined, target: undefined, lane: -1, above: -1, below: -1 });
    }
    this.choosePorts();
    this.width = [Gutter.Left, Gutter.Middle, Gutter.Right].map((gutter) => this.chooseLanes(gutter));
    this.chooseCorridorLanes();
  }

  private findFreeRays(): void {
    const { container } = this.graph;
    const { x, y, w, h } = this.whole;
    for (let block = Block.Before; block <= Block.After; block++) {
      this.sideways.push(new Bands());
      this.upright.push(new Bands());
    }
    for (let box = 0; box < container.length; box++) {
      if (container[box]) continue;
      this.sideways[this.block[box]].add(y[box], y[box] + h[box], x[box], x[box] + w[box]);
      this.upright[this.block[box]].add(x[box], x[box] + w[box], y[box], y[box] + h[box]);
    }
  }

  /** Lines at one side of a box are spread out; one that runs horizontally to its other end gets the middle. */
  private choosePorts(): void {
    const { edgeSource, edgeTarget } = this.graph;
    const atBox = new Map<string, { crossing: Crossing; end: "source" | "target"; other: number }[]>();
    const centre = (box: number) => this.whole.y[box] + this.whole.h[box] / 2;
    for (const crossing of this.crossings) {
      const s = edgeSource[crossing.edge];
      const t = edgeTarget[crossing.edge];
      for (const [end, box, other] of [
        ["source", s, t],
        ["target", t, s],
      ] as const) {
        if (!this.inHalf(box)) continue;
        const key = `${box}:${this.side(box, crossing.gutter)}`;
        const list = atBox.get(key);
        const one = {
          crossing,
          end,
          other: this.inHalf(other) ? centre(other) : this.block[other] === Block.Before ? -1 : Number.MAX_VALUE,
        };
        if (list) list.push(one);
        else atBox.set(key, [one]);
      }
    }
    for (const [key, list] of atBox) {
      const box = Number.parseInt(key, 10);
      const values = new Map<string, number>();
      list.sort((a, b) => a.other - b.other);
      const level = list.findIndex(({ other }) => Math.abs(other - centre(box)) < LEVEL);
      for (const { crossing, end } of list) {
        const line = end === "source" ? `v${this.valueOf(crossing.edge)}` : `e${crossing.edge}`;
        if (!values.has(line)) values.set(line, values.size);
      }
      list.forEach(({ crossing, end }, i) => {
        const index = values.get(end === "source" ? `v${this.valueOf(crossing.edge)}` : `e${crossing.edge}`)!;
        const at = i === level ? 0.5 : (index + 1) / (values.size + 1);
        crossing[end] = this.port(box, crossing.gutter, at);
      });
    }
  }

  private port(box: number, gutter: Gutter, part: number): Port {
    const { x, y, w, h } = this.whole;
    const bands = this.sideways[this.block[box]];
    const free = (at: number, low: number, high: number) =>
      this.side(box, gutter) < 0 ? bands.freeBelow(at, low) : bands.freeAbove(at, high);
    const inside = this.graph.container[box] ? 12 : 0;
    const at = y[box] + inside + (h[box] - inside) * part;
    if (free(at, x[box], x[box] + w[box]) || this.graph.container[box]) return { y: at, under: false };
    const foot = x[box] + this.foot(box, gutter);
    for (let below = UNDER.least; below <= UNDER.most; below += UNDER.step) {
      const turn = y[box] + h[box] + below;
      if (free(turn, foot, foot)) return { y: turn, under: true };
    }
    return { y: at, under: false };
  }

  /** Where along its bottom a line that turns below a box leaves it. */
  private foot(box: number, gutter: Gutter): number {
    return this.whole.w[box] * (this.side(box, gutter) < 0 ? 0.2 : 0.8);
  }

  /** -1: the left side of a half faces the gutter, 1: the right one. */
  private side(box: number, gutter: Gutter): -1 | 1 {
    return this.block[box] === Block.Forward ? (gutter === Gutter.Left ? -1 : 1) : gutter === Gutter.Right ? 1 : -1;
  }

  private inHalf(box: number): boolean {
    return this.block[box] === Block.Forward || this.block[box] === Block.Backward;
  }

  /** Edges of one value from one box run together. */
  private valueOf(edge: number): number {
    return crossingValue(this.graph, edge);
  }

  private chooseLanes(gutter: Gutter): number {
    const taking = this.crossings.filter((crossing) => crossing.gutter === gutter && !this.runsLevel(crossing) && !this.isFree(crossing));
    const stretches = taking.map((crossing): Stretch => {
      const ends = [crossing.source?.y ?? this.corridorOf(crossing, "source"), crossing.target?.y ?? this.corridorOf(crossing, "target")];
      return { from: Math.min(...ends), to: Math.max(...ends), value: this.valueOf(crossing.edge) };
    });
    const { lane, count } = lanesFor(stretches, MOST_LANES);
    taking.forEach((crossing, i) => {
      crossing.lane = lane[i];
    });
    if (gutter === Gutter.Middle) return Math.max(NARROWEST, count * LANE + 2 * MARGIN);
    return count ? count * LANE + MARGIN : 0;
  }

  private corridorOf({ edge }: Crossing, end: "source" | "target"): number {
    const box = end === "source" ? this.graph.edgeSource[edge] : this.graph.edgeTarget[edge];
    return this.block[box] === Block.Before ? this.corridors.above : this.corridors.below;
  }

  private runsLevel({ source, target }: Crossing): boolean {
    return source !== undefined && target !== undefined && !source.under && !target.under && Math.abs(source.y - target.y) < LEVEL;
  }

  /** Straight down into the forward half, or out of it, with nothing in between? */
  private isFree({ edge }: Crossing): boolean {
    const { x, y, w, h } = this.whole;
    const s = this.graph.edgeSource[edge];
    const t = this.graph.edgeTarget[edge];
    if (this.block[s] === Block.Before && this.block[t] === Block.Forward)
      return this.upright[Block.Forward].freeBelow(x[t] + w[t] / 2, y[t]);
    if (this.block[s] === Block.Forward && this.block[t] === Block.After)
      return this.upright[Block.Forward].freeAbove(x[s] + w[s] / 2, y[s] + h[s]);
    return false;
  }

  /**
   * Lines along a corridor keep apart as far as there is room. Below, those from further out run deeper and enter further out, so
   * that none crosses another.
   */
  private chooseCorridorLanes(): void {
    const { edgeSource, edgeTarget } = this.graph;
    const above = this.crossings.filter((crossing) => this.block[edgeSource[crossing.edge]] === Block.Before && crossing.lane >= 0);
    this.spread(above, "above", (crossing) => crossing.lane);
    const below = this.crossings.filter(
      ({ edge }) => this.block[edgeTarget[edge]] === Block.After || this.block[edgeSource[edge]] === Block.After,
    );
    const left = below.filter(({ gutter, lane }) => gutter !== Gutter.Right && lane >= 0);
    const right = below.filter(({ gutter, lane }) => gutter === Gutter.Right && lane >= 0);
    const fromLeft = this.spread(left, "below", ({ lane }) => -lane);
    const direct = below.filter(({ lane }) => lane < 0).map(({ edge }) => this.valueOf(edge));
    const fromRight = this.spread(right, "below", ({ lane }) => lane);
    const order = [...new Set([...fromLeft.reverse(), ...direct, ...fromRight])];
    order.forEach((value, i) => {
      this.entryPort.set(value, (i + 0.5) / order.length);
    });
  }

  /** Assigns heights in a corridor by rank; returns the order of the values. */
  private spread(using: Crossing[], where: "above" | "below", rank: (crossing: Crossing) => number): number[] {
    using.sort((a, b) => rank(a) - rank(b));
    const lanes = new Map<number, number>();
    for (const { edge } of using) if (!lanes.has(this.valueOf(edge))) lanes.set(this.valueOf(edge), lanes.size);
    const step = Math.min(LANE, this.corridors.room / (lanes.size + 1));
    for (const crossing of using) crossing[where] = this.corridors[where] + (lanes.get(this.valueOf(crossing.edge))! + 1) * step;
    return [...lanes.keys()];
  }

  /** Draws all lines, once boxes have their final places and the gutters their starts. */
  draw(gutterStart: readonly number[]): void {
    const { edgeSource, edgeTarget } = this.graph;
    const { x, y, w, h, lines } = this.whole;
    for (const crossing of this.crossings) {
      const s = edgeSource[crossing.edge];
      const t = edgeTarget[crossing.edge];
      const entered = lines[crossing.edge];
      if (this.isFreeDown(crossing, s, t)) {
        const [from, to] = [x[s] + w[s] / 2, x[t] + w[t] / 2];
        if (entered) lines[crossing.edge] = Float64Array.of(from, y[s] + h[s], from, this.corridors.below, ...entered);
        else lines[crossing.edge] = Float64Array.of(from, y[s] + h[s], to, this.corridors.above + this.corridors.room, to, y[t]);
        continue;
      }
      const line: number[] = [];
      const lane = gutterStart[crossing.gutter] + (crossing.gutter === Gutter.Left ? 0 : MARGIN / 2) + (crossing.lane + 0.5) * LANE;
      this.leave(line, s, crossing, crossing.source);
      if (crossing.lane >= 0) {
        line.push(lane, line[line.length - 1]);
        const back: number[] = [];
        this.leave(back, t, crossing, crossing.target);
        line.push(lane, back[back.length - 1]);
        for (let p = back.length - 2; p >= 0; p -= 2) line.push(back[p], back[p + 1]);
      } else line.push(this.side(t, crossing.gutter) < 0 ? x[t] : x[t] + w[t], line[line.length - 1]);
      lines[crossing.edge] = Float64Array.from(line);
    }
  }

  private isFreeDown(crossing: Crossing, s: number, t: number): boolean {
    const direct =
      (this.block[s] === Block.Before && this.block[t] === Block.Forward) ||
      (this.block[s] === Block.Forward && this.block[t] === Block.After);
    return direct && crossing.lane < 0;
  }

  /** The line from a box to the height at which it runs across to the gutter. */
  private leave(line: number[], box: number, crossing: Crossing, port: Port | undefined): void {
    const { x, y, w, h, lines } = this.whole;
    const middle = x[box] + w[box] / 2;
    const entered = lines[crossing.edge];
    if (!port && this.block[box] === Block.Before) line.push(middle, y[box] + h[box], middle, crossing.above);
    else if (!port && entered) {
      for (let p = entered.length - 2; p >= 0; p -= 2) line.push(entered[p], entered[p + 1]);
      line.push(entered[0], crossing.below);
    } else if (!port) line.push(middle, y[box] + h[box], middle, crossing.below);
    else if (port.under) {
      const foot = x[box] + this.foot(box, crossing.gutter);
      line.push(foot, y[box] + h[box], foot, port.y);
    } else line.push(this.side(box, crossing.gutter) < 0 ? x[box] : x[box] + w[box], port.y);
  }
}

/** A number for the value that an edge carries from its source; an edge without a shared value has its own. */
export function crossingValue({ edgeValue, edgeSource, boxCount }: CompoundGraph, edge: number): number {
  return edgeValue[edge] < 0 ? -1 - edge : edgeValue[edge] * boxCount + edgeSource[edge];
}

function gutterOf(from: number, to: number): Gutter {
  if (from === Block.Forward && to === Block.After) return Gutter.Left;
  if (from === Block.Before && to !== Block.Backward) return Gutter.Left;
  return from === Block.After || to === Block.After || to === Block.Before ? Gutter.Right : Gutter.Middle;
}
