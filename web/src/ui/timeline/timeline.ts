/** The passes of a recording on the page: which is shown and how, what it did, and what happened to the selected node. */
import { lastAtMost } from "../../core/base/arrays";
import type { PassRow } from "../../core/program/recording/types";
import { Cancelled } from "../engine/client";
import { type HistoryRow, NO_REASONS, type NodeReasons, type PassFacts, type PassRequest } from "../engine/passProtocol";
import type { GroupFacts, NodeFacts, NodeName } from "../engine/protocol";
import type { Session } from "../session";
import { asOpen } from "./alike";
import { didSomething, nextChange, peakRise } from "./cards";
import { PassFilter } from "./passFilter";

/** How often a server that is still comparing is asked for its progress. */
const ASK_MS = 400;

export type PassMode = PassRequest["mode"];

export class Timeline {
  rows: readonly PassRow[] = [];
  facts: PassFacts | undefined;
  /** The selected node, what passes did to it, and why it was fused or not. */
  history: { readonly node: NodeFacts; readonly rows: readonly HistoryRow[]; readonly reasons: NodeReasons } | undefined;
  /** The passes that changed the selected node, or something in the selected group. */
  touched: ReadonlySet<number> | undefined;
  /** The node of which it was asked why it is not fused, and how often anybody asked: each time, the answer is brought into view. */
  explained: { readonly node: NodeFacts; readonly times: number } | undefined;
  readonly unfolded = new Set<number>();
  /** Which of the changes by module was shown last; -1: none. */
  change = -1;
  readonly filter: PassFilter;
  private asking = 0;

  constructor(private readonly session: Session) {
    this.filter = new PassFilter(session);
  }

  get exists(): boolean {
    return this.rows.length > 0;
  }

  /** Are two programs compared, without a pass between them? */
  get compares(): boolean {
    return this.rows.length > 0 && this.rows[0].compares === true;
  }

  /** The position of the shown pass. */
  get pass(): number {
    return lastAtMost(this.rows.length, (at) => this.rows[at].number, this.session.view.pass);
  }

  /** The number of a pass, which the address has, by its position. */
  numberOf(pass: number): number {
    return this.rows[pass]?.number ?? pass;
  }

  /** Modules of the recording, each with its first pass: a program that was compiled in parts has several. */
  get modules(): ReadonlyMap<string, number> {
    const first = new Map<string, number>();
    for (const [pass, { module }] of this.rows.entries()) if (!first.has(module)) first.set(module, pass);
    return first;
  }

  /** Where to start: with the largest module, which is the one that somebody wrote. */
  get start(): number {
    const largest = this.rows.reduce((most, row) => (row.nodes > most.nodes ? row : most), this.rows[0]);
    return this.modules.get(largest?.module) ?? 0;
  }

  get row(): PassRow | undefined {
    return this.rows[this.pass];
  }

  get mode(): PassMode {
    return this.session.view.diff ?? "after";
  }

  /** What the engine is asked for in addition to the view. */
  request(revealChange = false): { readonly pass?: PassRequest } {
    const { passColours, colourBy } = this.session.view;
    const colours = passColours && colourBy === undefined;
    return this.exists ? { pass: { index: this.pass, mode: this.mode, colours, revealChange } } : {};
  }

  get counted(): boolean {
    return this.rows.every((row) => row.added !== undefined);
  }

  /** The passes of the module that is shown. */
  get modulePasses(): readonly PassRow[] {
    return this.rows.filter((row) => row.module === this.row?.module);
  }

  get changedCount(): number {
    return this.modulePasses.filter((row) => row.added !== undefined && didSomething(row, this.rows)).length;
  }

  /** Is a pass listed, and stepped to? */
  readonly takes = (pass: number): boolean => this.filter.takes(pass, this.rows[pass], this.touched);

  /** Takes the passes of a newly opened source, if it is a recording. */
  opened(rows: readonly PassRow[] | undefined): void {
    this.rows = rows ?? [];
    this.facts = this.history = this.touched = undefined;
    this.change = -1;
    this.filter.clear();
    this.unfolded.clear();
    clearTimeout(this.asking);
    if (this.exists && !this.counted) this.askAgain();
  }

  dispose(): void {
    clearTimeout(this.asking);
  }

  choose(pass: number, mode = this.mode): void {
    const { session } = this;
    const view = { ...session.view, pass: this.numberOf(pass), diff: mode };
    if (pass !== this.pass || mode !== this.mode) session.change(view, { stay: true });
  }

  /** What is open stays open: before, after and overlay are three programs, and each would be opened in another way. */
  setMode(mode: PassMode): void {
    const { session } = this;
    if (mode === this.mode) return;
    const view = { ...session.view, diff: mode };
    session.change(session.shown ? asOpen(view, session.shown) : view, { stay: true });
  }

  setColours(passColours: boolean): void {
    const { session } = this;
    session.change({ ...session.view, passColours, ...(passColours ? { colourBy: undefined } : {}) }, { keepCamera: true });
  }

  get next(): number | undefined {
    return nextChange(this.rows, this.pass, 1, this.takes);
  }

  get previous(): number | undefined {
    return nextChange(this.rows, this.pass, -1, this.takes);
  }

  /** Is there a change in this direction? */
  canStep(by: 1 | -1): boolean {
    if (!this.compares) return (by > 0 ? this.next : this.previous) !== undefined;
    return by > 0 ? this.change + 1 < (this.facts?.byModule.length ?? 0) : this.change > 0;
  }

  /** Goes to the next or the previous change: of two programs that are compared, else to a pass that changed something. */
  step(by: 1 | -1): void {
    if (!this.exists) return;
    const { session } = this;
    if (!this.canStep(by))
      session.say(by > 0 ? "Last change reached" : this.compares ? "First change reached" : "This is the initial program");
    else if (this.compares) void session.idle.during(this.goToChange(this.change + by));
    else {
      const pass = (by > 0 ? this.next : this.previous)!;
      void session.idle.during(
        session.follow({ ...session.view, pass: this.numberOf(pass), diff: this.mode }, { stay: true, revealChange: true }),
      );
    }
  }

  /** Goes to one of the changes by module, and selects the first of its nodes. */
  async goToChange(number: number): Promise<void> {
    const { facts, session } = this;
    const row = facts?.byModule[number];
    if (!facts || !row) return;
    this.change = number;
    const before = row.after ? undefined : session.panes.list.find((pane) => pane.linked)?.session;
    if (before) {
      const node = await before.ask("find", { graph: row.first.graph, id: row.first.id });
      if (node >= 0) await before.goTo(node, row.first.graph);
    } else await this.jump(facts.pass, row.first, row.after);
    session.changed();
  }

  /** The shown node of that name; in an overlay, a node that is gone may have another. */
  private async find(graph: string, id: string): Promise<number> {
    for (const name of [id, `${id} (before)`]) {
      const node = await this.session.ask("find", { graph, id: name });
      if (node >= 0) return node;
    }
    return -1;
  }

  /** Goes to a pass and selects a node there (`after`: of the program after it, else of the one before). */
  async jump(pass: number, node: Pick<NodeName, "graph" | "id">, after: boolean): Promise<void> {
    const { session } = this;
    await session.follow({
      ...session.view,
      pass: this.numberOf(pass),
      diff: this.mode === "overlay" ? "overlay" : after ? "after" : "before",
      graph: undefined,
      trail: [],
      selection: [],
    });
    const number = await this.find(node.graph, node.id);
    if (number >= 0) await session.goTo(number, node.graph);
  }

  /** Asks what the shown pass did. */
  async refresh(): Promise<void> {
    if (!this.exists) return;
    const { pass } = this;
    if (this.facts?.pass === pass) return;
    this.facts = undefined;
    this.change = -1;
    const facts = await this.quietly(this.session.ask("passFacts", { pass }));
    if (pass === this.pass) this.facts = facts;
    this.session.changed();
  }

  /** Asks for the history of a newly selected node. */
  async follow(node: NodeFacts | undefined): Promise<void> {
    if (!this.exists) return;
    if (!node) this.history = this.touched = undefined;
    else {
      const [rows, reasons] = await Promise.all([
        this.quietly(this.session.ask("history", { node: node.node })),
        this.quietly(this.session.ask("reasons", { node: node.node })),
      ]);
      if (this.session.about.node !== node) return;
      this.history = rows && { node, rows, reasons: reasons ?? NO_REASONS };
      this.touched = rows && new Set(rows.flatMap(({ pass, kind }) => (kind === "carried" ? [] : [pass])));
    }
    this.session.changed();
  }

  /** Asks which passes changed something in a newly selected group. */
  async followGroup(group: GroupFacts | undefined): Promise<void> {
    if (!this.exists) return;
    this.history = this.touched = undefined;
    const passes = group && (await this.quietly(this.session.ask("passesTouchingBox", { key: group.key })));
    if (this.session.about.group !== group) return;
    this.touched = passes && new Set(passes);
    this.session.changed();
  }

  /** Shows why the selected node was fused, or was not: in the details, which open for it. */
  explain(): void {
    const { session } = this;
    const { node } = session.about;
    if (!node) return;
    this.explained = { node, times: (this.explained?.times ?? 0) + 1 };
    if (session.openPanels.has("details")) session.changed();
    else session.openPanels.set("details", true);
  }

  /** The pass of the shown module that raised the peak most; undefined: none did, or the peaks are not known. */
  get highestRise(): number | undefined {
    const rise = (row: PassRow) => peakRise(row, this.rows);
    let highest: number | undefined;
    for (const [pass, row] of this.rows.entries())
      if (row.module === this.row?.module && rise(row) > (highest === undefined ? 0 : rise(this.rows[highest]))) highest = pass;
    return highest;
  }

  /** Asks for the peak after each pass, which takes a server as long as comparing them. */
  async findPeaks(): Promise<void> {
    if (!this.exists || this.compares || this.rows.every((row) => row.peak !== undefined)) return;
    const { rows } = this;
    const answer = await this.quietly(this.session.ask("passes", { peaks: true }));
    if (answer?.length === rows.length) this.rows = answer;
    this.session.changed();
  }

  private askAgain(): void {
    this.asking = window.setTimeout(async () => {
      const rows = await this.quietly(this.session.ask("passes", { peaks: false }));
      if (rows?.length === this.rows.length) this.rows = rows;
      this.session.changed();
      if (!this.counted && rows) this.askAgain();
    }, ASK_MS);
  }

  /** Goes to the first pass after which the filter's query matches nodes, and to the first of them. */
  async goToFirst(): Promise<void> {
    const { session, filter } = this;
    if (filter.first === undefined) return;
    await session.follow({ ...session.view, pass: this.numberOf(filter.first), diff: "after" });
    await session.finder.search(filter.query);
    await session.finder.step(1);
  }

  private async quietly<T>(answer: Promise<T>): Promise<T | undefined> {
    try {
      return await answer;
    } catch (error) {
      if (!(error instanceof Cancelled)) this.session.say(error instanceof Error ? error.message : String(error));
      return undefined;
    }
  }
}
