/** The colours of a run on a view, with the rows of its legend. A closed group has the colour of the largest value inside. */
import { readColour, type Shade } from "../base/colour";
import { HEAT } from "../scene/theme";
import { type CustomPaint, type Highlights, type LegendRow, PAINT_SAME } from "../scene/types";
import type { Visible } from "../program/types";
import type { DataRun } from "./nodeData";

/** Steps that a gradient is cut into: more than an eye tells apart, and few enough to be a table. */
const STEPS = 64;
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

export interface DataColouring {
  readonly highlights: Highlights;
  /** Everything else steps back. */
  readonly paints: Uint8Array;
  readonly legend: readonly LegendRow[];
}

export function dataColours(run: DataRun, visible: Visible): DataColouring {
  const table = new PaintTable();
  const colour = colourer(run, table);
  const box = new Int16Array(visible.boxCount).fill(-1);
  const largest = new Float64Array(visible.boxCount).fill(-Infinity);
  for (const node of run.text.keys()) {
    const at = visible.boxOfNode[node];
    const value = run.value[node];
    if (at < 0 || (box[at] >= 0 && !(value > largest[at]))) continue;
    const number = colour(node);
    if (number < 0) continue;
    box[at] = number;
    if (value > largest[at]) largest[at] = value;
  }
  return {
    highlights: { paints: table.paints, box, shades: [], edge: new Int16Array(visible.edgeCount).fill(-1) },
    paints: new Uint8Array(visible.boxCount).fill(PAINT_SAME),
    legend: legendOf(run),
  };
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

/** Colours that an entry brings along win; then the file's gradient or thresholds; a file without any gets a scale from cold to hot. */
function colourer(run: DataRun, table: PaintTable): (node: number) => number {
  const { data, statistics } = run;
  const given = Boolean(data.gradient?.length || data.thresholds?.length);
  const rank = new Map(statistics.words.map(([word], i) => [word, Math.min(i, WORD_COLOURS.length - 1)]));
  return (node) => {
    const own = run.own.get(node);
    const fill = own?.bgColor === undefined ? undefined : readColour(own.bgColor);
    const ink = own?.textColor === undefined ? undefined : readColour(own.textColor);
    if (fill) return table.put(same(fill), ink);
    const value = run.value[node];
    if (!Number.isFinite(value)) return given || run.own.size ? -1 : table.put(WORD_COLOURS[rank.get(run.text.get(node) ?? "") ?? 0]);
    if (!given) return run.own.size ? -1 : table.put(HEAT[heatStep(value, statistics.min, statistics.max)]);
    const found = run.coloursOf(data.gradient?.length ? stepped(value, statistics.min, statistics.max) : value);
    return found ? table.put(same(found.fill), found.ink ?? ink) : -1;
  };
}

function stepped(value: number, min: number, max: number): number {
  return max > min ? min + (Math.round(((value - min) / (max - min)) * STEPS) / STEPS) * (max - min) : value;
}

function heatStep(value: number, min: number, max: number): number {
  return max > min ? Math.min(HEAT.length - 1, Math.floor(((value - min) / (max - min)) * HEAT.length)) : 0;
}

/** Rows with a colour each; numbers on a scale say their ends and middle. */
function legendOf(run: DataRun): LegendRow[] {
  const { data, statistics } = run;
  const rows: LegendRow[] = [];
  if (statistics.numbers) {
    const { min, max } = statistics;
    if (data.gradient?.length) {
      for (let i = 0; i <= 8; i++) {
        const value = min + ((max - min) * i) / 8;
        rows.push({ text: i % 4 ? "" : short(value), shade: same(run.coloursOf(value)?.fill ?? "#ffffff"), scale: true });
      }
    } else if (data.thresholds?.length) {
      for (const each of data.thresholds) rows.push({ text: `≤ ${short(each.value)}`, shade: same(readColour(each.bgColor) ?? "#ffffff") });
    } else if (!run.own.size) {
      const at: Record<number, number> = { 0: min, 5: (min + max) / 2, [HEAT.length - 1]: max };
      HEAT.forEach((shade, i) => {
        rows.push({ text: i in at ? short(at[i]) : "", shade, scale: true });
      });
    }
  } else if (!run.own.size && !data.thresholds?.length && !data.gradient?.length) {
    statistics.words.slice(0, WORD_COLOURS.length).forEach(([word, count], i) => {
      rows.push({ text: `${word} (${count})`, shade: WORD_COLOURS[i] });
    });
  }
  rows.push({ text: summary(run) });
  return rows;
}

/** One line: what was measured, and its extremes. */
export function summary({ statistics }: DataRun): string {
  const { name, nodes, numbers, min, max, sum, mean } = statistics;
  const of = `${name}: ${nodes.toLocaleString("en-US")} ${nodes === 1 ? "node" : "nodes"}`;
  return numbers ? `${of}, min ${short(min)}, max ${short(max)}, sum ${short(sum)}, mean ${short(mean)}` : of;
}

export function short(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(2);
  return String(Number(value.toPrecision(4)));
}
