/** How the kernel lane is drawn, on the page and in files: a row for each stream, with the kernels of one step as bars over time. */
import type { ProgramIndex } from "../program/programIndex";
import type { LaneData } from "../program/types";
import { elideMiddle, textWidth } from "../text/measure";
import { countText, quantityText } from "../text/quantities";
import { nodePaints } from "./categoryFill";
import type { Painter } from "./painter";
import type { Theme } from "./theme";

const AXIS = 18;
const LABEL = 13;
const MOST_ROW = 90;
const NANOSECONDS = 1e-9;
/** A mark about every so many pixels. */
const MARKS = 110;
/** A bar narrower than this has no name on it. */
const READABLE = 34;
const SIZE = 10;
/** What profilers call the copies and fills of memory. */
const COPY = /^mem(?:cpy|set)/i;

export interface KernelLane extends LaneData {
  /** Row of `Theme.paints` for each piece's node, or -1. */
  readonly paint: Int8Array;
  /** The id of each piece's node, or nothing. */
  readonly names: readonly string[];
}

/** The shown part of the step, in nanoseconds. */
export type Span = readonly [from: number, to: number];

export interface LaneArea {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** What the device did in one step; undefined if the program has no profile with that. */
export function kernelLaneOf(index: ProgramIndex): KernelLane | undefined {
  const { lane } = index.program;
  const paint = nodePaints(index.program);
  return (
    lane && {
      ...lane,
      paint: Int8Array.from(lane.node, (node) => (node < 0 ? -1 : paint(node))),
      names: lane.node.map((node) => (node < 0 ? "" : index.id(node))),
    }
  );
}

/** When the last piece ends, in nanoseconds. */
export function endOf({ start, duration }: LaneData): number {
  return start.reduce((end, from, i) => Math.max(end, from + duration[i]), 1);
}

/** What a lane has, in words. */
export function laneText(lane: LaneData): string {
  const { start, leftOut, node, duration, kernels } = lane;
  const what = kernels.some((name) => COPY.test(name)) ? "kernels and copies" : "kernels";
  const seconds = (nanoseconds: number) => quantityText(nanoseconds * NANOSECONDS, "s");
  const busy = duration.reduce((sum, each) => sum + each, 0);
  const outside = node.reduce((sum, each, i) => sum + (each < 0 ? duration[i] : 0), 0);
  const more = leftOut > 0 ? `, ${countText(leftOut)} short ones left out` : "";
  return (
    `one step: ${seconds(endOf(lane))}, ${countText(start.length)} ${what} that take ${seconds(busy)}${more}` +
    (outside > 0 ? `; ${seconds(outside)} for no node of this program` : "")
  );
}

function rowHeight({ streams }: LaneData, { height }: LaneArea): number {
  return Math.min(MOST_ROW, (height - AXIS) / Math.max(1, streams.length));
}

/** Where a piece is. */
export function barOf(
  lane: LaneData,
  piece: number,
  [from, to]: Span,
  area: LaneArea,
): readonly [x: number, y: number, w: number, h: number] {
  const row = rowHeight(lane, area);
  const scale = area.width / Math.max(1, to - from);
  const x = area.x + (lane.start[piece] - from) * scale;
  return [x, area.y + AXIS + lane.stream[piece] * row + LABEL, Math.max(1, lane.duration[piece] * scale), Math.max(3, row - LABEL - 2)];
}

/** The piece under a point, or -1; of several, the longest. */
export function pieceAt(lane: LaneData, x: number, y: number, span: Span, area: LaneArea): number {
  let best = -1;
  for (let piece = 0; piece < lane.start.length; piece++) {
    const [left, top, wide, high] = barOf(lane, piece, span, area);
    const isHit = x >= left - 1 && x <= left + wide + 1 && y >= top - LABEL && y <= top + high + 2;
    if (isHit && (best < 0 || lane.duration[piece] > lane.duration[best])) best = piece;
  }
  return best;
}

export function paintKernels(painter: Painter, lane: KernelLane, span: Span, theme: Theme, area: LaneArea): void {
  paintAxis(painter, span, theme, area);
  for (let piece = 0; piece < lane.start.length; piece++) {
    const [x, y, w, h] = barOf(lane, piece, span, area);
    if (x + w < area.x || x > area.x + area.width) continue;
    const { fill, stroke } = theme.paints[lane.paint[piece]] ?? { fill: theme.background, stroke: theme.faintEdge };
    if (w > 3) painter.rect(x + 0.5, y + 0.5, w - 1, h - 1, 0, fill, stroke, 1, "solid");
    else painter.rect(x, y, w, h, 0, stroke, "", 0, "solid");
    if (w > READABLE)
      write(painter, elideMiddle(lane.names[piece] || lane.kernels[lane.kernel[piece]], w - 8, SIZE), x + 4, y + h / 2 + 3.5, theme.text);
  }
  for (const [i, stream] of lane.streams.entries())
    write(painter, stream, area.x + 6, area.y + AXIS + i * rowHeight(lane, area) + LABEL - 3, theme.secondary);
}

/** Round times, with their distance from the beginning of the step. */
function paintAxis(painter: Painter, [from, to]: Span, theme: Theme, { x: left, y, width, height }: LaneArea): void {
  const rough = ((to - from) * MARKS) / Math.max(1, width);
  const power = 10 ** Math.floor(Math.log10(Math.max(1, rough)));
  const step = power * ([1, 2, 5, 10].find((factor) => power * factor >= rough) ?? 10);
  for (let time = Math.ceil(from / step) * step; time <= to; time += step) {
    const x = left + ((time - from) / Math.max(1, to - from)) * width;
    painter.rect(x, y, 1, height, 0, theme.line, "", 0, "solid");
    write(painter, quantityText(time * NANOSECONDS, "s"), x + 4, y + 11, theme.secondary);
  }
}

function write(painter: Painter, text: string, x: number, y: number, colour: string): void {
  painter.text({ x, y, text, size: SIZE, bold: false, colour: "text", anchor: "start", width: textWidth(text, SIZE) }, colour);
}
