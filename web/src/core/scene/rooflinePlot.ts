/** Where everything of a roofline plot is, on the page and in files: FLOPs per byte × FLOPs per second on logarithmic axes. */
import type { Shade } from "../base/colour";
import { textWidth } from "../text/measure";
import { bytesText, shortNumber } from "../text/quantities";
import { HEAT, heatOf } from "./theme";

const MARGIN = { left: 46, right: 12, top: 10, bottom: 30 };
/** What takes a smaller share is not drawn: it would stretch the axes, and nobody has to look at it. */
const LEAST_SHARE = 0.0005;
/** Names of roofs that are closer to each other are side by side. */
const NAME_HEIGHT = 11;
const LEAST_RADIUS = 3;
const MOST_RADIUS = 13;
/** How far up the slope its label is: the first place where no point is on it. */
const SLOPE_LABELS = [0.35, 0.5, 0.65, 0.2, 0.8];
const LABEL_HEIGHT = 12;
const PLACE_WIDTH = 12;
const MOST_PLACES = 40;
const NAME_GAP = 8;
const CLEAR = 4;
const LABEL_SIZE = 11;

/** A node or module: FLOPs per byte and per second, the part of the time that it takes, and the part that it would save. */
export interface PlotPoint {
  readonly intensity: number;
  readonly rate: number;
  readonly share: number;
  readonly gain: number;
}

/** The limits of a device: bytes per second, and FLOPs per second by name. */
export interface PlotDevice {
  readonly bandwidth: number;
  readonly roofs: readonly { readonly rate: number; readonly name: string }[];
}

export interface PlotText {
  readonly x: number;
  readonly y: number;
  readonly text: string;
  readonly anchor: "start" | "middle" | "end";
}

export interface Plot<Point> {
  /** The lines behind everything, from x1, y1 to x2, y2. */
  readonly rules: readonly (readonly [number, number, number, number])[];
  readonly texts: readonly PlotText[];
  /** Each a slope and a level: three corners. */
  readonly roofs: readonly (readonly (readonly [number, number])[])[];
  /** The largest first, so that small ones are on top. */
  readonly dots: readonly {
    readonly point: Point;
    readonly x: number;
    readonly y: number;
    readonly radius: number;
    readonly shade: Shade;
  }[];
}

/** A logarithmic axis: powers of ten around all values, and where a value is between 0 and 1. */
function axisOf(values: readonly number[]): { readonly ticks: readonly number[]; readonly at: (value: number) => number } {
  const from = Math.floor(Math.log10(Math.min(...values)));
  const to = Math.max(from + 1, Math.ceil(Math.log10(Math.max(...values))));
  const ticks = Array.from({ length: to - from + 1 }, (_, i) => 10 ** (from + i));
  return { ticks, at: (value) => (Math.log10(value) - from) / (to - from) };
}

/**
 * The names of roofs over their right ends, or further left: side by side where they would be on top of each other, and beside points if
 * there is room.
 */
function roofNames(
  names: readonly { readonly from: number; readonly y: number; readonly text: string }[],
  right: number,
  isFree: IsFree,
): PlotText[] {
  const placed: { y: number; from: number; to: number }[] = [];
  return names.map(({ from, y, text }) => {
    const width = textWidth(text, LABEL_SIZE);
    const near = placed.filter((other) => Math.abs(y - other.y) < NAME_HEIGHT);
    const ends = Array.from({ length: MOST_PLACES }, (_, i) => right - i * PLACE_WIDTH).filter((end) =>
      near.every((other) => end < other.from - NAME_GAP || end - width > other.to + NAME_GAP),
    );
    const x = ends.find((end) => end - width > from && isFree(text, end, y)) ?? ends[0] ?? right;
    placed.push({ y, from: x - width, to: x });
    return { x, y, text, anchor: "end" };
  });
}

/** Whether no point is on a text that ends at `right`, on the line `base`. */
type IsFree = (text: string, right: number, base: number) => boolean;

/** The plot of points that have an intensity and a rate; there must be one. */
export function plotOf<Point extends PlotPoint>(
  all: readonly Point[],
  device: PlotDevice | undefined,
  { width, height }: { readonly width: number; readonly height: number },
): Plot<Point> {
  const points = all.filter(({ intensity, rate, share }) => intensity > 0 && rate > 0 && share >= LEAST_SHARE);
  const { bandwidth = Number.NaN, roofs = [] } = device ?? {};
  const ridges = roofs.map(({ rate }) => rate / bandwidth);
  const xAxis = axisOf([...points.map(({ intensity }) => intensity), ...ridges.flatMap((x) => [x / 10, x * 3])]);
  const yAxis = axisOf([...points.map(({ rate }) => rate), ...roofs.map(({ rate }) => rate)]);
  const [right, bottom] = [width - MARGIN.right, height - MARGIN.bottom];
  const x = (value: number) => MARGIN.left + xAxis.at(value) * Math.max(1, right - MARGIN.left);
  const y = (value: number) => bottom - yAxis.at(value) * Math.max(1, bottom - MARGIN.top);
  const [first, last] = [xAxis.ticks[0], xAxis.ticks[xAxis.ticks.length - 1]];
  const lowest = yAxis.ticks[0];
  const foot: readonly [number, number] = [x(Math.max(first, lowest / bandwidth)), y(Math.max(lowest, first * bandwidth))];
  const most = Math.max(...points.map(({ share }) => share));
  const radiusOf = (share: number) => LEAST_RADIUS + (MOST_RADIUS - LEAST_RADIUS) * Math.sqrt(share / most);
  const isFree: IsFree = (text, end, base) => {
    const from = end - textWidth(text, LABEL_SIZE);
    return points.every(({ intensity, rate, share }) => {
      const [atX, atY] = [x(intensity), y(rate)];
      const [nearX, nearY] = [Math.min(end, Math.max(from, atX)), Math.min(base, Math.max(base - LABEL_HEIGHT, atY))];
      return Math.hypot(nearX - atX, nearY - atY) > radiusOf(share) + CLEAR;
    });
  };
  const texts: PlotText[] = [
    ...xAxis.ticks.map((tick, i) => ({
      x: x(tick),
      y: bottom + 12,
      text: shortNumber(tick),
      anchor: i === 0 ? ("start" as const) : ("middle" as const), // left of it is the lowest of the other axis
    })),
    ...yAxis.ticks.map((tick) => ({ x: MARGIN.left - 5, y: y(tick) + 3.5, text: shortNumber(tick), anchor: "end" as const })),
    { x: (MARGIN.left + width) / 2, y: height - 4, text: "FLOPs per byte; upwards: FLOPs per second", anchor: "middle" },
    ...roofNames(
      roofs.map(({ rate, name }) => ({ from: x(rate / bandwidth), y: y(rate) - 3, text: name })),
      right - 3,
      isFree,
    ),
  ];
  if (roofs.length > 0) {
    const ridge: readonly [number, number] = [x(roofs[0].rate / bandwidth), y(roofs[0].rate)];
    const text = `${bytesText(bandwidth)}/s`;
    const places = SLOPE_LABELS.map((part) => [0, 1].map((i) => foot[i] + part * (ridge[i] - foot[i]) - (i ? 4 : 6)));
    const [atX, atY] = places.find(([end, base]) => isFree(text, end, base)) ?? places[0];
    texts.push({ x: atX, y: atY, text, anchor: "end" });
  }
  const mostGain = Math.max(...points.map(({ gain }) => gain || 0));
  return {
    rules: [
      ...xAxis.ticks.map((tick) => [x(tick), MARGIN.top, x(tick), bottom] as const),
      ...yAxis.ticks.map((tick) => [MARGIN.left, y(tick), right, y(tick)] as const),
    ],
    texts,
    roofs: roofs.map(({ rate }) => [foot, [x(rate / bandwidth), y(rate)], [x(last), y(rate)]]),
    dots: points.map((point) => ({
      point,
      x: x(point.intensity),
      y: y(point.rate),
      radius: radiusOf(point.share),
      shade: mostGain > 0 ? heatOf((point.gain || 0) / mostGain) : HEAT[2],
    })),
  };
}
