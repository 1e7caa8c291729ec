/** Where the cost of a program is, as a picture: its modules as wide as their shares, its nodes below the limits of a device, and a step. */
import { cellName } from "../metrics/cellNames";
import { addable, chosenGrouping, preferred, times } from "../metrics/chosen";
import { metricText, shareText, wholeOf } from "../metrics/changes";
import { icicleOf, LEAST_WIDTH } from "../metrics/icicle";
import { gainOf, gainsOf, rooflineOf, roofsOf, unjudgedText, wholeStep } from "../metrics/roofline";
import type { MetricData } from "../program/metrics";
import { isChange } from "../program/names";
import type { ProgramIndex } from "../program/programIndex";
import { straightLines } from "../scene/curves";
import { endOf, kernelLaneOf, laneText, paintKernels } from "../scene/kernelLane";
import { label } from "../scene/memoryLane";
import type { Painter } from "../scene/painter";
import { plotOf } from "../scene/rooflinePlot";
import { partShade, type Theme } from "../scene/theme";
import { elideMiddle, textWidth } from "../text/measure";
import { percentText, quantityText } from "../text/quantities";
import type { PanelPicture } from "./types";

const MARGIN = 20;
const WIDTH = 1200;
const INSIDE = WIDTH - 2 * MARGIN;
const LINE = 20;
const ROW = 24;
/** Modules inside modules; deeper ones are in the viewer. */
const MOST_ROWS = 12;
const PLOT = { width: 760, height: 360 };
const MOST_GAINS = 15;
const LANE = 130;
const SIZE = 11;
/** What a name needs to be read, if it is cut. */
const READABLE = 40;

/** A part of the picture, with its title over it. */
interface Section {
  readonly title: string;
  readonly height: number;
  readonly paint: (painter: Painter, theme: Theme, top: number) => void;
}

/** The picture of a graph. `by` names the metric that the widths are; by default it is time if there is any. Undefined: nothing sums up. */
export function costPicture(index: ProgramIndex, graph: number, by?: string): PanelPicture | undefined {
  const metrics = addable(index.program);
  const metric = metrics.find(({ name }) => name === by) ?? preferred(metrics);
  const shares = metric && icicle(index, graph, metric);
  if (!shares) return undefined;
  const sections = [shares, roofline(index, graph, metrics), kernels(index)].filter((each) => each !== undefined);
  const height = sections.reduce((sum, each) => sum + each.height + 2 * LINE, MARGIN);
  const paint = (painter: Painter, theme: Theme) => {
    let top = MARGIN;
    for (const section of sections) {
      painter.text(label(elideMiddle(section.title, INSIDE, SIZE, true), MARGIN, top + 12, "start", true), theme.text);
      section.paint(painter, theme, top + LINE);
      top += section.height + 2 * LINE;
    }
  };
  return { width: WIDTH, height, paint };
}

function icicle(index: ProgramIndex, graph: number, metric: MetricData): Section | undefined {
  const grouping = chosenGrouping(index.program);
  const whole = wholeOf(index.program, metric, graph);
  const { total, gross, cells } = icicleOf(index.program, grouping, metric, graph, -1, LEAST_WIDTH);
  const shown = cells.filter(({ depth }) => depth < MOST_ROWS);
  if (shown.length === 0) return undefined;
  return {
    title: `${index.program.name}: ${metric.name} ${metricText(metric, total)}, ${metric.origin}`,
    height: (1 + Math.max(...shown.map(({ depth }) => depth))) * ROW,
    paint: (painter, theme, top) => {
      for (const cell of shown) {
        const [x, y, width] = [MARGIN + cell.from * INSIDE, top + cell.depth * ROW, cell.width * INSIDE];
        painter.rect(x, y, width, ROW - 1, 0, partShade(cell.value / gross, isChange(metric))[theme.name], theme.background, 1, "solid");
        const text = cellText(cellName(index, grouping, cell), shareText(metric, cell.value / whole), width - 8);
        if (text) painter.text(label(text, x + 4, y + 16), theme.text);
      }
    },
  };
}

/** The name of a cell and its share; where there is little room, its name alone, or nothing. */
function cellText(name: string, share: string, room: number): string {
  const beside = room - textWidth(` ${share}`, SIZE);
  const fits = (place: number) => textWidth(name, SIZE) <= place || place >= READABLE;
  if (fits(beside)) return `${elideMiddle(name, beside, SIZE)} ${share}`;
  return fits(room) ? elideMiddle(name, room, SIZE) : "";
}

function roofline(index: ProgramIndex, graph: number, metrics: readonly MetricData[]): Section | undefined {
  const { program } = index;
  const time = preferred(times(metrics));
  if (!time) return undefined;
  const points = rooflineOf(program, time, graph);
  const whole = wholeStep(program, time, graph);
  const total = points.reduce((sum, { seconds }) => sum + seconds, 0);
  const placed = points.map((point) => ({ ...point, share: point.seconds / total, gain: gainOf(point) / total }));
  const device = program.device && { bandwidth: program.device.bandwidth, roofs: roofsOf(program.device) };
  if (!placed.some(({ intensity }) => intensity > 0)) return undefined;
  const plot = plotOf(placed, device, PLOT);
  const unjudged = unjudgedText(points, whole);
  const hasGains = points.some((point) => gainOf(point) > 0);
  const alike = gainsOf(index, chosenGrouping(program), points).map(({ points: same, name, where, seconds, best, gain }) => ({
    gain,
    words: `${name}${same.length > 1 ? ` ×${same.length}` : ""}${where && `, ${where}`}`,
    times: `${quantityText(seconds, "s")}${hasGains && !Number.isNaN(best) ? ` → ${quantityText(best, "s")}` : ""}`,
  }));
  const idle = whole.idleWorth > 0 ? [{ gain: whole.idle, words: "device idle", times: quantityText(whole.idle, "s") }] : [];
  const gains = [...idle, ...alike].sort((a, b) => b.gain - a.gain).slice(0, MOST_GAINS);
  return {
    title: program.device ? `Roofline: limits of ${program.device.title}` : "Roofline; --device NAME adds the limits of a device",
    height: PLOT.height,
    paint: (painter, theme, top) => {
      const line = (corners: readonly (readonly [number, number])[], colour: string, width: number) => {
        const curve = straightLines(corners.map(([x, y]) => [MARGIN + x, top + y]));
        painter.curve(curve, 0, curve.length / 2, colour, width, "solid");
      };
      const corners = (x1: number, y1: number, x2: number, y2: number): [number, number][] => [
        [x1, y1],
        [x2, y2],
      ];
      for (const rule of plot.rules) line(corners(...rule), theme.line, 1);
      for (const roof of plot.roofs) line(roof, theme.secondary, 1.5);
      for (const { x, y, text, anchor } of plot.texts) painter.text(label(text, MARGIN + x, top + y, anchor), theme.secondary);
      for (const { x, y, radius, shade } of plot.dots) {
        const [left, above] = [MARGIN + x - radius, top + y - radius];
        painter.rect(left, above, 2 * radius, 2 * radius, radius, shade[theme.name], theme.secondary, 1, "solid");
      }
      const at = MARGIN + PLOT.width + 2 * LINE;
      const room = WIDTH - MARGIN - at;
      const title = hasGains ? "Most to gain" : "Slowest";
      painter.text(label(title, at, top + 12, "start", true), theme.text);
      painter.text(label(`of ${whole.text}`, at + 6 + textWidth(title, SIZE, true), top + 12), theme.secondary);
      gains.forEach(({ gain, words, times }, i) => {
        const y = top + 14 + (i + 1) * LINE;
        painter.text(label(percentText(gain / whole.seconds), at + 44, y, "end"), theme.text);
        painter.text(label(elideMiddle(words, room - 60 - textWidth(times, SIZE), SIZE), at + 52, y), theme.text);
        painter.text(label(times, at + room, y, "end"), theme.secondary);
      });
      if (unjudged) painter.text(label(unjudged, at, top + 14 + (gains.length + 1) * LINE), theme.secondary);
    },
  };
}

function kernels(index: ProgramIndex): Section | undefined {
  const lane = kernelLaneOf(index);
  return (
    lane && {
      title: `Kernels of ${laneText(lane)}`,
      height: LANE,
      paint: (painter, theme, top) =>
        paintKernels(painter, lane, [0, endOf(lane)], theme, { x: MARGIN, y: top, width: INSIDE, height: LANE }),
    }
  );
}
