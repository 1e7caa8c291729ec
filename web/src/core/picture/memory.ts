/** The memory of a run as a picture: the lane, what its colours mean, and the largest buffers that are alive at a point. */
import { kindShade, kindTitle, peakText } from "../memory/kinds";
import { liveAt } from "../memory/live";
import { type MemoryData, shortSource } from "../memory/memory";
import { usageOf } from "../memory/usage";
import { SWATCH, TEXT_AT } from "../scene/legend";
import { label, paintLane } from "../scene/memoryLane";
import type { Painter } from "../scene/painter";
import type { Theme } from "../scene/theme";
import { elideMiddle, textWidth } from "../text/measure";
import { bytesText, countText } from "../text/quantities";
import type { PanelPicture } from "./types";

const MARGIN = 20;
const WIDTH = 1320;
const LANE = 240;
const LINE = 20;
const MOST_ROWS = 12;
const SIZE = 11;
/** Columns of the list: where each begins. Bytes end where the kind begins. */
const KIND = 76;
const NAME = 230;
const TYPE = 450;
const SOURCE = 600;
const WHY = 760;

export function memoryPicture(memory: MemoryData, position: number): PanelPicture {
  const steps = Math.max(1, memory.steps.length);
  const usage = usageOf(memory, 0, steps, WIDTH - 2 * MARGIN);
  const at = usageOf(memory, position, position + 1, 1);
  const legend = legendLines(memory, at.stack);
  const text = (number: number) => memory.strings.at(number);
  const nameOf = (buffer: number) => text(memory.nameOf[buffer]);
  const lines = liveAt(memory, position, { by: "buffer", toggled: new Set(), nameOf }).filter(({ shares }) => !shares);
  const rows = lines.slice(0, MOST_ROWS);
  const laneAt = MARGIN + 2 * LINE + 4;
  const legendAt = laneAt + LANE + LINE;
  const rowsAt = legendAt + legend.length * LINE + LINE;
  const more = lines.slice(MOST_ROWS).reduce((sum, { count }) => sum + count, 0);
  const height = rowsAt + (rows.length + 1 + (more > 0 ? 1 : 0)) * LINE + MARGIN;
  // An allocator does not know types, but which line of the program called it.
  const hasTypes = rows.some(({ buffer }) => buffer >= 0 && text(memory.type[buffer]));
  const facts = {
    kinds: memory.kinds,
    peak: memory.peak,
    mostBytes: usageOf(memory, memory.peak, memory.peak + 1, 1).total[0],
    mostHeld: memory.held.reduce((most, bytes) => Math.max(most, bytes), 0),
  };
  const paint = (painter: Painter, theme: Theme): void => {
    const write = (words: string, x: number, y: number, most: number, colour: string, bold = false) =>
      painter.text(label(elideMiddle(words, most, SIZE, bold), MARGIN + x, y, "start", bold), colour);
    const whole = WIDTH - 2 * MARGIN;
    write(`${memory.name}: ${peakText(memory)}`, 0, MARGIN + 12, whole, theme.text, true);
    const runs = text(memory.stepNames[position] ?? 0);
    const count = countText(steps);
    const here = `Step ${countText(position + 1)} of ${count}${runs && `, ${runs}`}: ${bytesText(at.total[0])} in use`;
    write(here, 0, MARGIN + 12 + LINE, whole, theme.secondary);
    const area = { x: MARGIN, y: laneAt, width: whole, height: LANE, pixels: 1 };
    paintLane(painter, usage, facts, theme, area);
    if (position !== memory.peak)
      painter.rect(MARGIN + ((position + 0.5) / steps) * whole, laneAt, 2, LANE, 0, theme.accent, "", 0, "solid");
    painter.text(label("step 1", MARGIN, laneAt + LANE + 6), theme.secondary);
    painter.text(label(`step ${count}`, WIDTH - MARGIN, laneAt + LANE + 6, "end"), theme.secondary);
    const swatch = (kind: number, x: number, y: number) =>
      painter.rect(MARGIN + x, y - SWATCH + 1, SWATCH, SWATCH, 2, kindShade(memory.kinds[kind])[theme.name], "", 0, "solid");
    legend.forEach((entries, i) => {
      for (const { kind, words, x } of entries) {
        swatch(kind, x, legendAt + (i + 1) * LINE);
        write(words, x + TEXT_AT, legendAt + (i + 1) * LINE, whole, theme.text);
      }
    });
    const head: readonly (readonly [string, number])[] = [
      ["kind", KIND + TEXT_AT],
      ["buffer", NAME],
      ...(hasTypes ? ([["type", TYPE]] as const) : []),
      ["source", hasTypes ? SOURCE : TYPE],
      ["why it is alive", WHY],
    ];
    for (const [words, x] of head) write(words, x, rowsAt + LINE, whole, theme.secondary);
    rows.forEach(({ buffer, bytes, count }, i) => {
      const y = rowsAt + (i + 2) * LINE;
      const kind = buffer < 0 ? memory.unusedKind : memory.kind[buffer];
      painter.text(label(Number.isNaN(bytes) ? "unknown" : bytesText(bytes), MARGIN + KIND - 10, y, "end"), theme.text);
      swatch(kind, KIND, y);
      write(kindTitle(memory.kinds[kind]), KIND + TEXT_AT, y, NAME - KIND - TEXT_AT - 8, theme.text);
      if (buffer >= 0) {
        write((count > 1 ? `${count} × ` : "") + nameOf(buffer) + text(memory.output[buffer]), NAME, y, TYPE - NAME - 10, theme.text);
        if (hasTypes) write(text(memory.type[buffer]), TYPE, y, SOURCE - TYPE - 10, theme.secondary);
        write(shortSource(text(memory.source[buffer])), hasTypes ? SOURCE : TYPE, y, WHY - SOURCE - 10, theme.secondary);
      }
      write(buffer < 0 ? memory.unusedWhy : text(memory.why[buffer]), WHY, y, whole - WHY, theme.text);
    });
    if (more > 0) write(`… ${countText(more)} more`, KIND, rowsAt + (rows.length + 2) * LINE, whole, theme.secondary);
  };
  return { width: WIDTH, height, paint };
}

interface Entry {
  readonly kind: number;
  readonly words: string;
  readonly x: number;
}

/** The kinds that are there, with their bytes, in as many lines as they need. */
function legendLines({ kinds }: MemoryData, stack: Float64Array): Entry[][] {
  const lines: Entry[][] = [[]];
  let x = 0;
  kinds.forEach((name, kind) => {
    if (!(stack[kind] > 0)) return;
    const words = `${kindTitle(name)} ${bytesText(stack[kind])}`;
    const width = TEXT_AT + textWidth(words, SIZE) + 18;
    if (x > 0 && x + width > WIDTH - 2 * MARGIN) {
      lines.push([]);
      x = 0;
    }
    lines[lines.length - 1].push({ kind, words, x });
    x += width;
  });
  return lines;
}
