/** The passes of a recording on the page: which is shown and how, what it did, and what happened to the selected node. */
import type { PassRow } from "../../core/program/recording/types";
import { Cancelled } from "../engine/client";
import type { HistoryRow, PassFacts, PassRequest } from "../engine/passProtocol";
import type { NodeFacts, NodeName } from "../engine/protocol";
import type { Session } from "../session";
import { didSomething, nextChange } from "./cards";

/** How often a server that is still comparing is asked for its progress. */
const ASK_MS = 400;

export type PassMode = PassRequest["mode"];

export class Timeline {
  rows: readonly PassRow[] = [];
  facts: PassFacts | undefined;
  /** The selected node and what passes did to it. */
  history: { readonly node: NodeFacts; readonly rows: readonly HistoryRow[] } | undefined;
  filter = "";
  /** Show only passes that changed the selected node. */
  onlyHistory = false;
  readonly unfolded = new Set<number>();
  private asking = 0;

  constructor(private readonly session: Session) {}

  get exists(): boolean {
    return this.rows.length > 0;
  }

  get pass(): number {
    return Math.max(0, Math.min(this.rows.length - 1, this.session.view.pass));
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
  get request(): { readonly pass?: PassRequest } {
    const { pass, passColours, colourBy } = this.session.view;
    return this.exists ? { pass: { index: pass, mode: this.mode, colours: passColours && colourBy === undefined } } : {};
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

  /** Passes that changed the selected node, if only those are shown. */
  get only(): ReadonlySet<number> | undefined {
    return this.onlyHistory && this.history ? new Set(this.history.rows.map((row) => row.pass)) : undefined;
  }

  /** Takes the passes of a newly opened source, if it is a recording. */
  opened(rows: readonly PassRow[] | undefined): void {
    this.rows = rows ?? [];
    this.facts = this.history = undefined;
    this.unfolded.clear();
    clearTimeout(this.asking);
    if (this.exists && !this.counted) this.askAgain();
  }

  dispose(): void {
    clearTimeout(this.asking);
  }

  choose(pass: number, mode = this.mode): void {
    const { session } = this;
    const view = { ...session.view, pass, diff: mode };
    if (pass !== this.pass || mode !== this.mode) session.change(view, { stay: true });
  }

  setMode(mode: PassMode): void {
    this.choose(this.pass, mode);
  }

  setColours(passColours: boolean): void {
    const { session } = this;
    session.change({ ...session.view, passColours, ...(passColours ? { colourBy: undefined } : {}) }, { keepCamera: true });
  }

  get next(): number | undefined {
    return nextChange(this.rows, this.pass, 1, this.only);
  }

  get previous(): number | undefined {
    return nextChange(this.rows, this.pass, -1, this.only);
  }

  /** Goes to the next or the previous pass that changed something. */
  step(by: 1 | -1): void {
    const to = by > 0 ? this.next : this.previous;
    if (to !== undefined) this.choose(to);
    else if (this.exists) this.session.say(by > 0 ? "Last change reached" : "This is the initial program");
  }

  /** Goes to a pass and selects a node there (`after`: of the program after it, else of the one before). */
  async jump(pass: number, node: NodeName, after: boolean): Promise<void> {
    const { session } = this;
    await session.follow({
      ...session.view,
      pass,
      diff: this.mode === "overlay" ? "overlay" : after ? "after" : "before",
      graph: undefined,
      trail: [],
      selection: [],
    });
    for (const id of [node.id, `${node.id} (before)`]) {
      const number = await session.ask("find", { graph: node.graph, id });
      if (number >= 0) return session.goTo(number, node.graph);
    }
  }

  /** Asks what the shown pass did. */
  async refresh(): Promise<void> {
    if (!this.exists) return;
    const { pass } = this;
    if (this.facts?.pass === pass) return;
    this.facts = undefined;
    const facts = await this.quietly(this.session.ask("passFacts", { pass }));
    if (pass === this.pass) this.facts = facts;
    this.session.changed();
  }

  /** Asks for the history of a newly selected node. */
  async follow(node: NodeFacts | undefined): Promise<void> {
    if (!this.exists) return;
    if (!node) this.history = undefined;
    else {
      const rows = await this.quietly(this.session.ask("history", { node: node.node }));
      if (this.session.about.node === node) this.history = rows && { node, rows };
    }
    this.session.changed();
  }

  private askAgain(): void {
    this.asking = window.setTimeout(async () => {
      const rows = await this.quietly(this.session.ask("passes", {}));
      if (rows?.length === this.rows.length) this.rows = rows;
      this.session.changed();
      if (!this.counted && rows) this.askAgain();
    }, ASK_MS);
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
