/**
 * Forward and backward side by side. Data runs down the left half and back up the right one, as in backpropagation, and
 * what belongs together is at the same height, so that a value that is saved for the backward half runs straight across.
 *
 * Each half is laid out alone (the right one with its edges reversed, which makes it flow upwards), gaps are stretched until
 * pairs are level, and edges between the halves run through the gutters next to them (see corridors.ts).
 */
import { Block, blocksOf, type Halves } from "../../base/halves";
import { LayoutCache } from "../compound/cache";
import { layoutCompound } from "../compound/compound";
import { Crossings, Gutter } from "./corridors";
import { Part, type Whole } from "./block";
import { alignPairs } from "./stretch";
import type { CompoundGraph, CompoundLayout, LayoutOptions } from "../types";

/** The space between the halves and what is above or below them. */
const CORRIDOR = 64;
/** The space between inputs in a row. */
const ROW_GAP = 24;

export function layoutTwoHalves(
  graph: CompoundGraph,
  halves: Halves,
  options: LayoutOptions = {},
  cache: LayoutCache = new LayoutCache(),
): CompoundLayout {
  const block = blocksOf(graph, halves);
  const layOut = (part: Part) => layoutCompound(part.graph, { ...options, direction: "TB" }, cache);
  const parts = [Block.Before, Block.Forward, Block.Backward].map((which) => new Part(graph, block, which, which === Block.Backward));
  const placed = parts.map(layOut);
  const widths = placed.map((layout) => layout.width);
  const before = inRow(parts[Block.Before], placed[Block.Before], widths[Block.Forward] + widths[Block.Backward]);
  placed[Block.Before] = before;
  const [forward, backward] = alignPairs(
    parts[Block.Forward],
    placed[Block.Forward],
    parts[Block.Backward],
    placed[Block.Backward],
    halves,
  );
  [placed[Block.Forward], placed[Block.Backward]] = [forward, backward];

  const halvesTop = parts[Block.Before].boxes.length ? before.height + CORRIDOR : 0;
  const halvesBottom = halvesTop + Math.max(forward.height, backward.height);
  const tops = [0, halvesTop, halvesTop, halvesBottom + CORRIDOR];
  const whole = emptyWhole(graph);
  const put = (part: Part, i: number, left: number) => {
    part.put(placed[i], left, tops[i], whole);
    const half = i === Block.Forward ? halves.forward : i === Block.Backward ? halves.backward : -1;
    if (half >= 0 && graph.container[half]) whole.h[half] = halvesBottom - whole.y[half];
  };
  parts.forEach((part, i) => {
    put(part, i, 0);
  });
  const crossings = new Crossings(graph, block, whole, { above: halvesTop - CORRIDOR, below: halvesBottom, room: CORRIDOR });
  parts.push(new Part(graph, block, Block.After, false, crossings.entryPort));
  const after = layOut(parts[Block.After]);
  placed.push(after);

  const rightHalf = crossings.width[Gutter.Left] + forward.width + crossings.width[Gutter.Middle];
  const across = rightHalf + backward.width + crossings.width[Gutter.Right];
  const lefts = [
    crossings.width[Gutter.Left] + (forward.width - before.width) / 2,
    crossings.width[Gutter.Left],
    rightHalf,
    (across - after.width) / 2,
  ];
  const shift = -Math.min(0, ...lefts);
  parts.forEach((part, i) => {
    put(part, i, lefts[i] + shift);
  });
  crossings.draw([shift, shift + crossings.width[Gutter.Left] + forward.width, shift + rightHalf + backward.width]);

  const reversed = new Uint8Array(graph.edgeSource.length);
  parts.forEach((part, i) => {
    part.edges.forEach((e, k) => {
      reversed[e] = placed[i].reversed[k];
    });
  });
  return {
    width: Math.max(across + shift, ...lefts.map((left, i) => left + shift + placed[i].width)),
    height: halvesBottom + (parts[Block.After].boxes.length ? CORRIDOR + after.height : 0),
    ...whole,
    reversed,
    ...joined(whole.lines),
    laidOut: placed.reduce((sum, layout) => sum + layout.laidOut, 0),
    reused: placed.reduce((sum, layout) => sum + layout.reused, 0),
  };
}

/** Loose boxes next to each other, so that no line runs behind a box; the layout as it is if they are connected or do not fit. */
function inRow({ graph, edges }: Part, layout: CompoundLayout, room: number): CompoundLayout {
  const width = graph.width.reduce((sum, each) => sum + each + ROW_GAP, -ROW_GAP);
  if (edges.length || graph.container.includes(1) || width > room) return layout;
  let left = 0;
  const x = graph.width.map((each) => {
    left += each + ROW_GAP;
    return left - each - ROW_GAP;
  });
  return { ...layout, width: Math.max(0, width), height: Math.max(0, ...graph.height), x, y: new Float64Array(graph.boxCount) };
}

function emptyWhole({ boxCount, edgeSource }: CompoundGraph): Whole {
  const column = () => new Float64Array(boxCount);
  return { x: column(), y: column(), w: column(), h: column(), lines: new Array(edgeSource.length).fill(undefined) };
}

function joined(lines: readonly (Float64Array | undefined)[]): { points: Float64Array; pointStart: Int32Array } {
  const pointStart = new Int32Array(lines.length + 1);
  lines.forEach((line, e) => {
    pointStart[e + 1] = pointStart[e] + (line ? line.length / 2 : 0);
  });
  const points = new Float64Array(2 * pointStart[lines.length]);
  lines.forEach((line, e) => {
    if (line) points.set(line, 2 * pointStart[e]);
  });
  return { points, pointStart };
}
