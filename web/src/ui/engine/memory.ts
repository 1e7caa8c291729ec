/** The memory of the program that is shown, for questions of the page. */
import { type GroupedBy, liveAt, type LiveLine } from "../../core/memory/live";
import type { MemoryData } from "../../core/memory/memory";
import { anyLayer } from "../../core/memory/repeats";
import { usageOf } from "../../core/memory/usage";
import type { ProgramIndex } from "../../core/program/programIndex";
import type { LaneUsage, LiveRow, LiveSummary, MemorySummary, Named, NodeSpans, StepFacts, WhatIfSummary } from "./memoryProtocol";
import { nodeName } from "./names";

export class ShownMemory {
  private lines: readonly LiveLine[] = [];
  private changed: MemoryData | undefined;
  private homonymIds: ReadonlySet<string> | undefined;

  /** `shownAs` has the number that each node of the memory's program has in the program that is shown, if they differ. */
  constructor(
    private readonly memory: MemoryData,
    readonly index: ProgramIndex,
    private readonly shownAs: Int32Array | undefined,
  ) {}

  get summary(): MemorySummary {
    const { origin, peak, peakBytes, measured, unknown, remark, kinds, unusedKind, unusedWhy, given, actions, steps } = this.memory;
    return {
      origin,
      peak,
      peakBytes,
      measured,
      unknown,
      remark,
      kinds,
      unusedKind,
      unusedWhy,
      given,
      actions,
      steps: steps.length,
      mostBytes: mostBytes(this.memory),
      mostHeld: this.memory.held.reduce((most, bytes) => Math.max(most, bytes), 0),
    };
  }

  /** Takes the memory with changes, which the lane shows over this one; undefined: none any more. */
  compare(changed: MemoryData | undefined): WhatIfSummary | undefined {
    this.changed = changed;
    return changed?.whatIf && { ...changed.whatIf, mostBytes: mostBytes(changed) };
  }

  usage(from: number, to: number, columns: number): LaneUsage {
    const changed = this.changed && usageOf(this.changed, from, to, columns).total;
    return { ...usageOf(this.memory, from, to, columns), changed };
  }

  step(position: number): StepFacts {
    const { total, stack } = usageOf(this.memory, position, position + 1, 1);
    return { position, runs: this.runsAt(position), bytes: total[0], byKind: stack };
  }

  live(position: number, by: GroupedBy, toggled: readonly string[]): LiveSummary {
    const nameOf = (buffer: number) => this.made(buffer).id;
    this.lines = liveAt(this.memory, position, { by, toggled: new Set(toggled), nameOf });
    return { ...this.step(position), lines: this.lines.length };
  }

  rows(from: number, to: number): LiveRow[] {
    return this.lines.slice(from, to).map((line) => this.row(line));
  }

  /** A mark for each node that runs from one position to before another. */
  nodesIn(from: number, to: number): Uint8Array {
    const mark = new Uint8Array(this.index.program.nodeCount);
    for (let position = from; position < to; position++) {
      const node = this.shown(this.memory.steps[position] ?? -1);
      if (node >= 0) mark[node] = 1;
    }
    return mark;
  }

  spans(node: number): NodeSpans {
    const { memory } = this;
    const spans: [number, number][] = [];
    for (let buffer = 0; buffer < memory.count; buffer++)
      if (this.shown(memory.node[buffer]) === node) spans.push([memory.born[buffer], memory.last[buffer]]);
    return { position: memory.steps.findIndex((step) => this.shown(step) === node), spans };
  }

  private row({ buffer, shares, group, bytes, count, repeats }: LiveLine): LiveRow {
    const { memory } = this;
    const size = Number.isNaN(bytes) ? -1 : bytes;
    if (group !== undefined) return { group, count, bytes: size };
    if (buffer < 0) return { count: 1, bytes: size };
    const text = (column: Int32Array) => memory.strings.at(column[buffer]);
    return {
      count,
      bytes: size,
      numbers: repeats?.buffers ?? [buffer],
      repeats: repeats && { key: repeats.key, ids: repeats.buffers.map((each) => this.made(each).id), each: memory.bytes[buffer] },
      results: (repeats?.buffers ?? [buffer]).map((each) => this.resultName(each)),
      buffer: {
        made: this.made(buffer),
        output: text(memory.output),
        kind: memory.kinds[memory.kind[buffer]],
        type: text(memory.type),
        why: text(memory.why),
        module: repeats ? anyLayer(text(memory.module)) : text(memory.module),
        source: text(memory.source),
        lastUse: this.runsAt(memory.read[buffer]),
        shares,
      },
    };
  }

  private made(buffer: number): Named {
    const { node, nameOf, strings } = this.memory;
    return this.named(node[buffer], strings.at(nameOf[buffer]));
  }

  private resultName(buffer: number): string {
    const made = this.made(buffer);
    const name = made.id + this.memory.strings.at(this.memory.output[buffer]);
    return "graph" in made && this.homonyms().has(made.id) ? `${made.graph}/${name}` : name;
  }

  /** Ids of nodes that make buffers in several graphs: halves of a compiled step use the same. */
  private homonyms(): ReadonlySet<string> {
    if (this.homonymIds) return this.homonymIds;
    const graphs = new Map<string, string>();
    const found = new Set<string>();
    for (let buffer = 0; buffer < this.memory.count; buffer++) {
      const made = this.made(buffer);
      if (!("graph" in made)) continue;
      if ((graphs.get(made.id) ?? made.graph) !== made.graph) found.add(made.id);
      graphs.set(made.id, made.graph);
    }
    this.homonymIds = found;
    return found;
  }

  private runsAt(position: number): Named | undefined {
    const { steps, stepNames, strings } = this.memory;
    return position < steps.length ? this.named(steps[position], strings.at(stepNames[position])) : undefined;
  }

  private named(node: number, name: string): Named {
    const shown = this.shown(node);
    return shown < 0 ? { node: -1, id: name } : nodeName(this.index, shown);
  }

  private shown(node: number): number {
    return node >= 0 && this.shownAs ? (this.shownAs[node] ?? -1) : node;
  }
}

function mostBytes(memory: MemoryData): number {
  return usageOf(memory, memory.peak, memory.peak + 1, 1).total[0];
}
