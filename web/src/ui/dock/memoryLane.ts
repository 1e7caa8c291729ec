/** The memory panel's state: which part of the run is seen, which point it is about, and what the graph highlights of it. */
import type { GroupedBy } from "../../core/memory/live";
import { emphasisOf } from "../canvas/marks";
import { Cancelled } from "../engine/client";
import type { LaneUsage, LiveRow, LiveSummary, MemoryMethods, MemorySummary, NodeSpans, StepFacts } from "../engine/memoryProtocol";
import type { Answer, Params, WireAt } from "../engine/protocol";
import type { Session } from "../session";
import { Signal } from "../state/signal";
import { WhatIf } from "./whatIf";

/** A part of the run: the first position, and the one after the last. */
export type Range = readonly [from: number, to: number];

/** The fewest steps that fill the lane. */
const LEAST_STEPS = 8;

const lanes = new WeakMap<Session, MemoryLane>();

export class MemoryLane {
  readonly onChange = new Signal();
  summary: MemorySummary | undefined;
  /** Why there is nothing to show. */
  problem: string | undefined;
  range: Range = [0, 1];
  usage: LaneUsage | undefined;
  hovered: StepFacts | undefined;
  brushed: Range | undefined;
  live: LiveSummary | undefined;
  /** Where the selected node is in the run. */
  spans: NodeSpans | undefined;
  by: GroupedBy = "buffer";
  /** Groups that are closed, and equal buffers that are opened. */
  toggled: readonly string[] = [];

  readonly whatIf: WhatIf;

  private columns = 0;
  /** The program that the summary is about. */
  private of: unknown;
  private restoring: Promise<void> | undefined;
  private hovering = false;
  private next: number | undefined;

  constructor(private readonly session: Session) {
    const changed = () => {
      this.onChange.emit();
      void this.refreshUsage();
    };
    this.whatIf = new WhatIf(
      session,
      () => this.place(),
      (at) => this.answer("memoryWhatIf", { at }),
      changed,
    );
  }

  /** The state outlives the panel: another panel of the dock may be shown in between. */
  static of(session: Session): MemoryLane {
    const lane = lanes.get(session) ?? new MemoryLane(session);
    lanes.set(session, lane);
    return lane;
  }

  /** Reads the memory of the program that is shown, unless it is here already. */
  async load(): Promise<void> {
    const { session } = this;
    const { program } = session;
    if (!program || !session.shown || this.of === program) return;
    this.of = program;
    this.summary = this.usage = this.live = this.hovered = this.brushed = this.spans = this.problem = undefined;
    this.whatIf.forget();
    this.onChange.emit();
    const at = this.place();
    if (!at) {
      this.problem = session.timeline.exists
        ? "This page has the memory after the last pass of each module only."
        : "This page has no memory: its program is very large, or not in the order in which it runs. `opscope view` computes it when you ask.";
      this.onChange.emit();
      return;
    }
    try {
      const summary = await session.ask("memory", { at });
      if (this.of !== program) return;
      this.summary = summary;
      this.range = [0, Math.max(1, summary.steps)];
      this.onChange.emit();
      await Promise.all([this.refreshUsage(), this.refreshLive(), this.refreshSpans()]);
    } catch (error) {
      if (error instanceof Cancelled) this.of = undefined;
      else if (this.of === program) this.problem = (error as Error).message;
      this.onChange.emit();
    }
  }

  /** The pass after which the memory is known for certain: the last of the module; undefined if it is shown. */
  get lastPass(): number | undefined {
    const { rows, row, pass } = this.session.timeline;
    let last = rows.length - 1;
    while (last > pass && rows[last].module !== row?.module) last--;
    return last > pass ? last : undefined;
  }

  /** The point that the list is about. */
  get position(): number {
    const { step } = this.session.view;
    return !this.summary || step < 0 || step >= this.summary.steps ? (this.summary?.peak ?? 0) : step;
  }

  /** Makes a position the point; with `go`, the node that runs there is selected on the graph. */
  async choose(position: number, go: boolean): Promise<void> {
    const { session, summary } = this;
    if (!summary) return;
    const step = Math.max(0, Math.min(summary.steps - 1, position));
    this.brush(undefined);
    session.note({ ...session.view, step: step === summary.peak ? -1 : step });
    this.onChange.emit();
    await this.refreshLive();
    const runs = this.live?.runs;
    if (!runs || runs.node < 0) return;
    if (go && "graph" in runs) await session.goTo(runs.node, runs.graph);
    else this.session.pointing.outline(runs.node);
  }

  /** The pointer is over a position; its node is highlighted. Of positions that come faster than answers, the last one counts. */
  async hover(position: number | undefined): Promise<void> {
    this.next = position;
    if (position === undefined) {
      this.hovered = undefined;
      this.session.pointing.outline(-1);
      this.onChange.emit();
      return;
    }
    if (this.hovering) return;
    this.hovering = true;
    try {
      while (this.next !== undefined && this.next !== this.hovered?.position) {
        const facts: StepFacts | undefined = await this.ask("memoryStep", { position: this.next });
        if (this.next === undefined || !facts) break;
        this.hovered = facts;
        this.session.pointing.outline(facts.runs?.node ?? -1);
        this.onChange.emit();
      }
    } finally {
      this.hovering = false;
    }
  }

  /** Highlights every node that runs in a part of the run; undefined: none any more. */
  brush(range: Range | undefined): void {
    if (!range && !this.brushed) return;
    this.brushed = range;
    this.onChange.emit();
    void (range ? this.highlight(range) : this.session.about.highlight());
  }

  private async highlight([from, to]: Range): Promise<void> {
    const { session } = this;
    const mark = await this.ask("memoryNodes", { from, to });
    const { shown, stage } = session;
    if (!mark || !shown || !stage || this.brushed?.[0] !== from || this.brushed[1] !== to) return;
    stage.emphasis = emphasisOf(shown, mark);
    stage.draw();
  }

  /** The panel is closed: nothing of it is highlighted any more. */
  leave(): void {
    void this.hover(undefined);
    this.brush(undefined);
  }

  /** Shows a part of the run about a place, `factor` times as long. */
  zoom(around: number, factor: number): void {
    const { summary } = this;
    if (!summary) return;
    const [from, to] = this.range;
    const length = Math.max(Math.min(LEAST_STEPS, summary.steps), Math.min(summary.steps, Math.round((to - from) * factor)));
    const share = (around - from) / Math.max(1, to - from);
    const start = Math.max(0, Math.min(summary.steps - length, Math.round(around - share * length)));
    this.show([start, start + length]);
  }

  show(range: Range): void {
    if (range[0] === this.range[0] && range[1] === this.range[1]) return;
    this.range = range;
    void this.refreshUsage();
  }

  showAll(): void {
    this.show([0, Math.max(1, this.summary?.steps ?? 1)]);
  }

  /** The lane has this many columns. */
  resize(columns: number): void {
    if (columns === this.columns) return;
    this.columns = columns;
    void this.refreshUsage();
  }

  groupBy(by: GroupedBy): void {
    this.by = by;
    this.toggled = [];
    void this.refreshLive();
  }

  toggle(name: string): void {
    this.toggled = this.toggled.includes(name) ? this.toggled.filter((each) => each !== name) : [...this.toggled, name];
    void this.refreshLive();
  }

  /** Finds the selected node in the run. */
  async refreshSpans(): Promise<void> {
    const node = this.session.about.node?.node;
    this.spans = this.summary && node !== undefined ? await this.ask("memorySpans", { node }) : undefined;
    this.onChange.emit();
  }

  private async refreshUsage(): Promise<void> {
    if (!this.summary || this.columns < 1) return;
    const [from, to] = this.range;
    const usage = await this.ask("memoryUsage", { from, to, columns: this.columns });
    if (usage && usage.from === this.range[0] && usage.to === this.range[1]) this.usage = usage;
    this.onChange.emit();
  }

  private async refreshLive(): Promise<void> {
    const { position, by, toggled } = this;
    const live = await this.ask("memoryLive", { position, by, toggled });
    if (live && position === this.position) this.live = live;
    this.onChange.emit();
  }

  async rows(from: number, to: number): Promise<readonly LiveRow[]> {
    return this.live ? this.answer("memoryRows", { from, to }) : [];
  }

  /** Asks the engine. Undefined: it cannot answer, because another program is shown by now. */
  private ask<M extends keyof MemoryMethods>(method: M, params: Params<M>): Promise<Answer<M> | undefined> {
    return this.answer(method, params).catch(() => undefined);
  }

  /** Asks the engine; one that was stopped and started again, once more when it knows what the lost one knew. */
  private async answer<M extends keyof MemoryMethods>(method: M, params: Params<M>): Promise<Answer<M>> {
    const question = () => this.session.ask(method, params);
    try {
      return await question();
    } catch (error) {
      if (this.of !== this.session.program || !this.summary) throw error;
      this.restoring ??= this.restore().finally(() => {
        this.restoring = undefined;
      });
      await this.restoring;
      return question();
    }
  }

  private async restore(): Promise<void> {
    const { session, position, by, toggled } = this;
    const at = this.place();
    if (!at) return;
    await session.ask("memory", { at });
    await this.whatIf.restore();
    await session.ask("memoryLive", { position, by, toggled });
  }

  /** Where the memory of the shown program is. */
  private place(): WireAt | undefined {
    const { view, options, timeline } = this.session;
    const before = timeline.mode === "before" ? (timeline.row?.before ?? -1) : -1;
    return options.sources[view.source]?.memory?.(before >= 0 ? before : timeline.exists ? timeline.pass : 0);
  }
}
