/** The lane and the list show what `opscope memory` prints: both models are asked about the same random buffers. */
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { kindShade } from "../../src/core/memory/kinds";
import { type GroupedBy, type LiveLine, liveAt } from "../../src/core/memory/live";
import { decodeMemory, type MemoryData } from "../../src/core/memory/memory";
import { repeatKey } from "../../src/core/memory/repeats";
import { usageOf } from "../../src/core/memory/usage";
import { memoryPicture } from "../../src/core/picture/memory";
import type { Painter } from "../../src/core/scene/painter";
import { THEMES } from "../../src/core/scene/theme";
import { bytesText } from "../../src/core/text/quantities";
import { python } from "../support/python";

const directory = mkdtempSync(join(tmpdir(), "opscope-memory-"));

interface Expected {
  peak: number;
  peakBytes: number;
  unknown: number;
  read: Record<string, number>;
  totals: number[];
  byKind: number[][];
  live: [why: string, bytes: number | null, shares: string[]][][];
}

describe("memory that Python wrote", () => {
  let expected: Expected;
  let memory: MemoryData;
  let steps: number[];

  beforeAll(() => {
    python("memory/write_sample.py", directory);
    expected = JSON.parse(readFileSync(join(directory, "expected.json"), "utf-8")) as Expected;
    memory = decodeMemory(new Uint8Array(readFileSync(join(directory, "memory.opsw"))));
    steps = [...expected.totals.keys()];
  });

  const lines = (position: number, by: GroupedBy, closed: string[] = []): LiveLine[] =>
    liveAt(memory, position, { by, toggled: new Set(closed) });
  const why = (buffer: number): string => memory.strings.at(memory.why[buffer]);

  it("has its peak, its nodes, and names for what is not a node", () => {
    const { peak, peakBytes, unknown } = memory;
    expect({ peak, peakBytes, unknown }).toEqual({ peak: expected.peak, peakBytes: expected.peakBytes, unknown: expected.unknown });
    expect([...memory.steps]).toEqual(steps.map((step) => (step === 59 ? -1 : step)));
    expect(memory.strings.at(memory.stepNames[59])).toBe("not a node");
    const strangers = [...memory.node.keys()].filter((buffer) => memory.node[buffer] < 0);
    expect(strangers.length).toBeGreaterThan(3);
    expect(new Set(strangers.map((buffer) => memory.strings.at(memory.nameOf[buffer])))).toEqual(new Set(["elsewhere"]));
  });

  it("knows what reads a buffer last, which may be before it is freed", () => {
    expect(Object.fromEntries([...memory.read].map((at, buffer) => [why(buffer), at]))).toEqual(expected.read);
    expect([...memory.read].some((at, buffer) => at < memory.last[buffer])).toBe(true);
  });

  it("has the same bytes in use at every position, in total and by kind", () => {
    const usage = usageOf(memory, 0, 60, 1000);
    expect([...usage.position]).toEqual(steps);
    expect([...usage.total]).toEqual(expected.totals);
    const kinds = memory.kinds.length;
    expect(steps.map((step) => [...usage.stack.subarray(step * kinds, (step + 1) * kinds)])).toEqual(expected.byKind);
  });

  it("shows the highest point of each column, wherever the lane begins", () => {
    for (const [from, to, columns] of [
      [0, 60, 7],
      [13, 41, 5],
      [59, 60, 3],
    ]) {
      const usage = usageOf(memory, from, to, columns);
      const byColumn = Array.from({ length: usage.columns }, (_, c) =>
        steps.filter((step) => step >= from && step < to && Math.floor(((step - from) * usage.columns) / (to - from)) === c),
      );
      expect([...usage.total]).toEqual(byColumn.map((inside) => Math.max(...inside.map((step) => expected.totals[step]))));
      for (const [c, position] of usage.position.entries()) {
        expect(byColumn[c]).toContain(position);
        expect(expected.totals[position]).toBe(usage.total[c]);
      }
    }
  });

  it("lists the same buffers, with those in the same memory, and what is reserved and unused", () => {
    for (const step of steps) {
      const rows: [string, number | null, string[]][] = [];
      for (const { buffer, shares, bytes } of lines(step, "buffer")) {
        if (shares) rows.at(-1)![2].push(why(buffer));
        else rows.push([buffer < 0 ? "reserved, but not in use at this point" : why(buffer), Number.isNaN(bytes) ? null : bytes, []]);
      }
      const sorted = (all: [string, number | null, string[]][]) => all.map(([name, size, more]) => [name, size, [...more].sort()]).sort();
      expect(rows.map((row) => row[1])).toEqual(expected.live[step].map((row) => row[1]));
      expect(sorted(rows)).toEqual(sorted(expected.live[step]));
    }
  });

  it("groups add up, the largest first, and a closed one has no lines", () => {
    const at = expected.peak;
    for (const by of ["module", "source", "kind"] as const) {
      const groups = lines(at, by).filter(({ group }) => group !== undefined);
      expect(groups.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(expected.totals[at]);
      expect(groups.map(({ bytes }) => bytes)).toEqual(groups.map(({ bytes }) => bytes).sort((a, b) => b - a));
      const [first] = groups;
      const closed = lines(at, by, [first.group!]);
      expect(closed.length).toBeLessThan(lines(at, by).length);
      expect(closed[1].group).toBe(groups[1]?.group);
    }
  });

  it("folds equal buffers of repeated layers, and opens them", () => {
    const all = lines(expected.peak, "buffer").filter(({ shares }) => !shares);
    const nameOf = (buffer: number) => `layer_${buffer}`;
    const fold = (toggled: string[]) => liveAt(memory, expected.peak, { by: "buffer", toggled: new Set(toggled), nameOf });
    const folded = fold([]).filter(({ shares }) => !shares);
    const sizes = (list: readonly LiveLine[]) => list.map(({ bytes }) => (Number.isNaN(bytes) ? -1 : bytes));
    expect(folded.length).toBeLessThan(all.length);
    expect(folded.reduce((sum, { count }) => sum + count, 0)).toBe(all.length);
    expect(sizes(folded.slice(0, -1))).toEqual(sizes(folded.slice(0, -1)).sort((a, b) => b - a));
    const { repeats, bytes } = folded.find((line) => line.repeats)!;
    const parts = repeats!.buffers.map((buffer) => memory.bytes[buffer]);
    expect(parts.reduce((sum, each) => sum + each, 0)).toBe(bytes);
    expect(new Set(repeats!.buffers.map((buffer) => memory.kind[buffer])).size).toBe(1);
    expect(fold([repeats!.key]).filter(({ shares }) => !shares)).toHaveLength(folded.length + parts.length);
    expect(repeatKey(memory, 0, "gelu_1")).toBe(repeatKey(memory, 0, "gelu"));
    expect(repeatKey(memory, 0, "gelu_1")).not.toBe(repeatKey(memory, 0, "gelu_1_tanh"));
  });

  it("draws the lane once for the page and for files: every byte of every kind, and the peak", () => {
    const { width, height, paint } = memoryPicture(memory, memory.peak);
    const areas = new Map<string, number>();
    const texts: string[] = [];
    const painter: Painter = {
      begin() {},
      end() {},
      rect: (_x, _y, w, h, radius, fill) => radius === 0 && areas.set(fill, (areas.get(fill) ?? 0) + w * h),
      curve() {},
      triangle() {},
      text: (run) => texts.push(run.text),
    };
    paint(painter, THEMES.light);
    expect(width).toBeGreaterThan(height);
    const sum = (kind: number) => expected.byKind.reduce((bytes, kinds) => bytes + kinds[kind], 0);
    const saved = memory.kinds.indexOf("saved");
    const temporary = memory.kinds.indexOf("temporary");
    const area = (kind: number) => areas.get(kindShade(memory.kinds[kind]).light) ?? 0;
    expect(area(saved) / area(temporary)).toBeCloseTo(sum(saved) / sum(temporary), 1);
    expect(texts).toContain(`sample: peak ${bytesText(expected.peakBytes)}, computed from the order of the program`);
    expect(texts).toContain(expected.live[expected.peak][0][0]);
  });
});
