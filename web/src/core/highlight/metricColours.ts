/**
 * The colours of a metric on a view, with the rows of its legend. Boxes have the number that the metric declares for them; a file of node
 * data may define colours, everything else is on a scale from cold to hot.
 */
import { readColour, type Shade } from "../base/colour";
import { metricText, shareText, wholeOf } from "../metrics/changes";
import { scaleOf, type Scale } from "../metrics/scale";
import { sharesOf } from "../metrics/shares";
import { valuesOf } from "../metrics/values";
import type { MetricData } from "../program/metrics";
import { isChange } from "../program/names";
import type { ProgramData, Visible } from "../program/types";
import type { ViewOptions } from "../program/viewOptions";
import { CHANGES, HEAT } from "../scene/theme";
import { type CustomPaint, type Highlights, type LegendRow, PAINT_SAME } from "../scene/types";
import { countText, quantityText } from "../text/quantities";
import type { DataRun } from "./nodeData";

/** The steps of a gradient: more than the eye distinguishes, and few enough for a table. */
const STEPS = 64;
/** A smaller share of the whole is not worth a text. */
const LEAST_SHARE = 0.001;
/** The middle step of the scale, which has its number written. */
const MIDDLE = HEAT.length / 2;
const WORD_COLOURS: readonly Shade[] = [
  { light: "#DCE6FB", dark: "#26345A" },
  { light: "#FBE6CC", dark: "#4A3413" },
  { light: "#DDF1E3", dark: "#1D4029" },
  { light: "#F8DDEC", dark: "#4A2039" },
  { light: "#D8EFF9", dark: "#164052" },
  { light: "#E9DDF5", dark: "#38245A" },
  { light: "#EEEBD0", dark: "#3E3C22" },
  { light: "#E6E6EA", dark: "#3A3A42" },
];

export interface MetricColouring {
  readonly highlights: Highlights;
  /** Everything else is pale. */
  readonly paints: Uint8Array;
  readonly legend: readonly LegendRow[];
  /** The number of each box. */
  readonly values: Float64Array;
  /** 1: in the hottest step of a scale, which has a strong border too. */
  readonly strong: Uint8Array;
  /** What is written on each box: its share, empty where that is tiny; undefined where shares mean nothing. */
  readonly corners: readonly string[] | undefined;
}

/** `run` has the rest of a file of node data, if the metric comes from one. Open frames keep their colour, because their content is visible. */
export function metricColours(
  program: ProgramData,
  metric: MetricData,
  visible: Visible,
  run?: DataRun,
  scaleBy?: ViewOptions["colourScale"],
): MetricColouring {
  const values = valuesOf(program, metric).boxes(visible);
  const shares = sharesOf(program, metric, visible);
  const shades = isChange(metric) ? undefined : HEAT;
  const closed = values.filter((_, box) => !visible.open[box]);
  const scale =
    run && hasColours(run) ? undefined : scaleOf(shades ? closed : closed.map(Math.abs), (shades ?? CHANGES.more).length, scaleBy);
  const table = new PaintTable();
  const entries = run && entriesOf(run, visible, values);
  const box = Int16Array.from(values, (value, b) => {
    if (visible.open[b]) return -1;
    const node = entries?.get(b) ?? -1;
    const entry = run?.coloured.get(node);
    const ink = entry?.textColor === undefined ? undefined : readColour(entry.textColor);
    const fill = entry?.bgColor === undefined ? undefined : readColour(entry.bgColor);
    if (fill) return table.put(same(fill), ink);
    if (Number.isNaN(value)) return run?.has(node) ? table.put(wordColour(run, node), ink) : -1;
    if (scale && !shades) return value === 0 ? -1 : table.put((value < 0 ? CHANGES.less : CHANGES.more)[scale.step(Math.abs(value))], ink);
    if (scale) return table.put(HEAT[scale.step(value)], ink);
    const colours = run?.coloursOf(run.data.gradient?.length ? stepped(value, run) : value);
    return colours ? table.put(same(colours.fill), colours.ink ?? ink) : -1;
  });
  return {
    highlights: { paints: table.paints, box, shades: [], edge: new Int16Array(visible.edgeCount).fill(-1) },
    paints: new Uint8Array(visible.boxCount).fill(PAINT_SAME),
    legend: [
      ...(run && !scale
        ? fileRows(run)
        : scale
          ? (shades ? scaleRows : changeRows)(scale, scaleText(program, metric, visible, scaleBy))
          : []),
      { text: caption(program, metric, visible, run) },
    ],
    values,
    strong: Uint8Array.from(values, (value, b) =>
      !visible.open[b] &&
      scale &&
      !Number.isNaN(value) &&
      scale.low < scale.high &&
      scale.step(value) === (shades ?? CHANGES.more).length - 1
        ? 1
        : 0,
    ),
    corners: shares && Array.from(shares, (share) => (Math.abs(share) >= LEAST_SHARE ? shareText(metric, share) : "")),
  };
}

/** Does the file define colours, for its numbers or for some entries? */
function hasColours({ data, coloured }: DataRun): boolean {
  return Boolean(data.gradient?.length || data.thresholds?.length || coloured.size);
}

/** The node whose entry applies to a box: one with its number, or if there is no number, the first with a text. */
function entriesOf({ text, metric }: DataRun, visible: Visible, values: Float64Array): Map<number, number> {
  const entries = new Map<number, number>();
  for (const node of text.keys()) {
    const box = visible.boxOfNode[node];
    if (box >= 0 && !entries.has(box) && Object.is(metric.values[node], values[box])) entries.set(box, node);
  }
  return entries;
}

function wordColour(run: DataRun, node: number): Shade | undefined {
  if (hasColours(run)) return undefined;
  const word = run.text.get(node);
  const rank = run.statistics.words.findIndex(([each]) => each === word);
  return WORD_COLOURS[Math.min(Math.max(rank, 0), WORD_COLOURS.length - 1)];
}

class PaintTable {
  readonly paints: CustomPaint[] = [];
  private readonly numbers = new Map<string, number>();

  put(fill: Shade | undefined, ink?: string): number {
    if (!fill && !ink) return -1;
    const key = `${fill?.light} ${fill?.dark} ${ink}`;
    let number = this.numbers.get(key);
    if (number === undefined) {
      number = this.paints.push({ ...(fill ? { fill } : {}), ...(ink ? { text: same(ink) } : {}) }) - 1;
      this.numbers.set(key, number);
    }
    return number;
  }
}

const same = (colour: string): Shade => ({ light: colour, dark: colour });

function stepped(value: number, { statistics: { min, max } }: DataRun): number {
  return max > min ? min + (Math.round(((value - min) / (max - min)) * STEPS) / STEPS) * (max - min) : value;
}

/** The numbers of a scale as text: as shares of the whole, if that is what it shows. */
function scaleText(program: ProgramData, metric: MetricData, visible: Visible, by: ViewOptions["colourScale"] | undefined) {
  const whole = metric.combine === "sum" ? wholeOf(program, metric, visible.graph) : Number.NaN;
  return (value: number): string => (by === "share" && whole > 0 ? shareText(metric, value / whole) : metricText(metric, value));
}

/** A scale shows its ends and its middle. */
function scaleRows(scale: Scale, text: (value: number) => string): LegendRow[] {
  if (scale.low === scale.high) return [{ text: text(scale.low), shade: HEAT[0] }];
  const at = new Map([
    [0, scale.low],
    [MIDDLE, scale.start(MIDDLE)],
    [HEAT.length - 1, scale.high],
  ]);
  return HEAT.map((shade, step) => ({ text: at.has(step) ? text(at.get(step)!) : "", shade, scale: true }));
}

/** A scale of a change shows its ends and its middle. */
function changeRows(scale: Scale, text: (value: number) => string): LegendRow[] {
  if (scale.high === 0) return [];
  const shades = [...[...CHANGES.less].reverse(), ...CHANGES.more];
  const at = new Map([
    [0, -scale.high],
    [CHANGES.less.length, 0],
    [shades.length - 1, scale.high],
  ]);
  return shades.map((shade, step) => ({ text: at.has(step) ? text(at.get(step)!) : "", shade, scale: true }));
}

/** Rows for the colours of a file, or for its most frequent words. */
function fileRows(run: DataRun): LegendRow[] {
  const { data, statistics, metric } = run;
  const { min, max } = statistics;
  if (!hasColours(run))
    return statistics.words
      .slice(0, WORD_COLOURS.length)
      .map(([word, count], i) => ({ text: `${word} (${count})`, shade: WORD_COLOURS[i] }));
  if (statistics.numbers && data.gradient?.length)
    return Array.from({ length: 9 }, (_, i) => {
      const value = min + ((max - min) * i) / 8;
      return { text: i % 4 ? "" : quantityText(value, metric.unit), shade: same(run.coloursOf(value)?.fill ?? "#ffffff"), scale: true };
    });
  if (!statistics.numbers || !data.thresholds) return [];
  return data.thresholds.map(({ value, bgColor }) => ({
    text: `≤ ${quantityText(value, metric.unit)}`,
    shade: same(readColour(bgColor) ?? "#ffffff"),
  }));
}

const OVERALL: Readonly<Record<string, string>> = { sum: "in total", max: "at most", last: "at the end" };

/** One line: what the numbers are, where they come from, and their total. */
function caption(program: ProgramData, metric: MetricData, visible: Visible, run: DataRun | undefined): string {
  const { name, origin, combine } = metric;
  if (run) return `${summary(run)}, ${origin}`;
  const overall = valuesOf(program, metric).graph[visible.graph];
  return Number.isNaN(overall)
    ? `${name}, ${origin}`
    : `${name}, ${origin}: ${metricText(metric, overall)} ${OVERALL[combine] ?? "overall"}`;
}

/** The statistics of a file. */
function summary({ statistics, metric: { unit } }: DataRun): string {
  const { name, nodes, numbers, min, max, sum, mean } = statistics;
  const of = `${name}: ${countText(nodes)} ${nodes === 1 ? "node" : "nodes"}`;
  const text = (value: number) => quantityText(value, unit);
  return numbers ? `${of}, min ${text(min)}, max ${text(max)}, sum ${text(sum)}, mean ${text(mean)}` : of;
}
