/**
 * One viewer at work: takes what the person does, changes the state, asks the engine, hands the answer to the canvas and tells the
 * panels. The panels only read it and call its methods.
 */
import { THEMES, type Theme } from "../core/scene/theme";
import { About } from "./about";
import type { Rect } from "./canvas/camera";
import { boxesOf } from "./canvas/marks";
import type { Sight } from "./canvas/paint";
import { type Picked, Shown } from "./canvas/shown";
import { Stage } from "./canvas/stage";
import { Cancelled, EngineClient, type StartEngine } from "./engine/client";
import type { DataFile, ModulePlace, ProgramSummary, SearchResult, WireAt } from "./engine/protocol";
import { anchorBetween, showStaying } from "./timeline/anchor";
import { Panes } from "./timeline/panes";
import { Timeline } from "./timeline/timeline";
import { type History, memoryHistory, urlHistory } from "./state/history";
import { Idle } from "./state/idle";
import { type Progress, patiently, type Tell } from "./state/patience";
import { Signal } from "./state/signal";
import { Styling } from "./styling";
import { addOmitted, asItComes, enterGraph, sameView, select, specOf, START, startingAt, toggle, type ViewState } from "./state/view";

export interface SourceEntry {
  readonly name: string;
  readonly at: WireAt;
}

export interface SessionOptions {
  readonly sources: readonly SourceEntry[];
  readonly start: StartEngine;
  readonly initial?: Partial<ViewState>;
  readonly theme?: "light" | "dark" | "auto";
  /** Keep the state in the page's address. */
  readonly url?: boolean;
  /** Style rules to begin with (else those of the last visit), and files of node data. */
  readonly styles?: unknown;
  readonly nodeData?: readonly DataFile[];
  /** Begin with the table open, with these rows. */
  readonly table?: "nodes" | "modules";
}

export interface Tip {
  readonly x: number;
  readonly y: number;
  readonly picked: Picked;
}

type Look = { readonly anchor?: string; readonly look?: "fit" | "first"; readonly reveal?: number; readonly revealLevel?: number; readonly keepCamera?: boolean; /** What stays keeps its place on the screen. */ readonly stay?: boolean };

const MOST_MATCHES_SHOWN = 3000;

export class Session {
  view: ViewState;
  program: ProgramSummary | undefined;
  shown: Shown | undefined;
  problem: string | undefined;
  progress: Progress | undefined;
  found: SearchResult | undefined;
  /** Which of the hits the person is at, or -1. */
  hit = -1;
  tip: Tip | undefined;
  /** Names of attributes that nodes of the shown graph have. */
  attributes: readonly string[] = [];
  notice: string | undefined;
  themeChoice: "light" | "dark" | "auto";
  stage: Stage | undefined;
  readonly idle = new Idle();
  readonly about = new About(this);
  readonly timeline = new Timeline(this);
  readonly panes: Panes;
  readonly styling: Styling;
  /** The state has changed; the camera has moved; the pointer rests on something else. */
  readonly onChange = new Signal();
  readonly onCamera = new Signal();
  readonly onTip = new Signal();

  private readonly client: EngineClient;
  private readonly history: History;
  private readonly darkScheme: MediaQueryList;
  private noticeTimer = 0;
  /** Hits are asked for as one types: whoever wants the next one wants it of what was typed last. */
  private searching: Promise<void> | undefined;
  private turn = 0;
  private attributesOf: string | undefined;
  private scheduled = false;
  private disposed = false;

  constructor(readonly options: SessionOptions) {
    this.client = new EngineClient(options.start);
    this.panes = new Panes(this, (beside) => new Session(beside));
    this.styling = new Styling(this, options.styles, options.nodeData);
    this.client.data = this.styling.files;
    const begin = startingAt(options.initial);
    this.history = options.url ? urlHistory((view) => this.stepTo(view)) : memoryHistory(begin, (view) => this.stepTo(view));
    this.view = options.url && location.hash.length > 1 ? this.history.read() : begin;
    this.themeChoice = options.theme ?? "auto";
    this.darkScheme = window.matchMedia("(prefers-color-scheme: dark)");
    this.darkScheme.addEventListener("change", this.onScheme);
  }

  dispose(): void {
    this.disposed = true;
    this.timeline.dispose();
    this.panes.dispose();
    this.client.dispose();
    this.history.dispose();
    this.stage?.dispose();
    this.darkScheme.removeEventListener("change", this.onScheme);
  }

  /** Tell the panels, once per turn however much has changed. */
  changed(): void {
    if (this.scheduled || this.disposed) return;
    this.scheduled = true;
    queueMicrotask(() => {
      this.scheduled = false;
      this.onChange.emit();
    });
  }

  get theme(): Theme {
    const dark = this.themeChoice === "dark" || (this.themeChoice === "auto" && this.darkScheme.matches);
    return THEMES[dark ? "dark" : "light"];
  }

  get graphName(): string {
    return this.view.trail.at(-1) ?? this.program?.entry ?? "";
  }

  attach(canvas: HTMLCanvasElement): () => void {
    const stage = new Stage(canvas, this.theme, {
      hover: (picked, x, y) => {
        const tip = picked && { picked, x, y };
        if (!tip && !this.tip) return;
        this.tip = tip;
        this.onTip.emit();
      },
      click: (picked, how) => this.click(picked, how),
      moved: () => this.onCamera.emit(),
      picture: (sight) => this.picture(sight),
      busy: (change) => this.idle.change(change),
    });
    stage.still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.stage = stage;
    void this.open(this.view.source);
    return () => stage.dispose();
  }

  /** Load a source and show it. */
  async open(source: number): Promise<void> {
    const entry = this.options.sources[source];
    this.problem = undefined;
    this.program = this.shown = this.found = this.attributesOf = undefined;
    this.about.clear();
    this.changed();
    if (!entry) return this.fail(new Error("there is nothing to show; give `opscope view` a file"));
    try {
      this.program = await this.waiting((tell) => this.client.load(entry.at, tell));
      this.timeline.opened(this.program.passes);
    } catch (error) {
      return this.fail(error);
    }
    this.changed();
    await this.styling.loaded();
    await this.refreshSearch();
    await this.draw({ look: "first" });
  }

  openSource(source: number): void {
    this.view = { ...START, source, grouping: "", direction: this.view.direction };
    this.history.push(this.view);
    void this.open(source);
  }

  /** The one way to another state. */
  change(view: ViewState, look: Look = {}, record: "push" | "replace" = "push"): void {
    const before = this.view;
    if (view === before) return;
    this.view = view;
    this.history[record](view);
    if (!sameView(before, view)) void this.draw(look);
    else void this.refreshSelection(before);
    this.changed();
  }

  /** The same picture in other colours. */
  redraw(): void {
    void this.draw({ keepCamera: true });
  }

  back(): void {
    this.history.back();
  }

  forward(): void {
    this.history.forward();
  }

  link(): string {
    return this.history.link(this.view);
  }

  /** Open or close a container, which keeps its place on the screen. */
  toggle(piece: number, deep = false): void {
    const { shown } = this;
    if (!shown || this.addOmitted(piece)) return;
    const box = shown.scene.box[piece];
    const open = shown.result.open[box] === 1;
    if (!open && !shown.scene.expandable[box]) return;
    const key = shown.keyOf(piece);
    const repeat = shown.scene.repeat[box];
    if (deep && !open && repeat > 1) this.change({ ...this.view, unfolded: [...this.view.unfolded, key] }, { anchor: key });
    else this.change(toggle(this.view, key, open), { anchor: key });
  }

  /** Show the repeats of a stack one by one. */
  unfold(key: string): void {
    this.change({ ...this.view, unfolded: [...this.view.unfolded, key] }, { anchor: key });
  }

  selectPiece(piece: number | undefined, add = false, reveal = false): void {
    const { shown } = this;
    if (!shown) return;
    const key = piece === undefined ? undefined : shown.keyOf(piece);
    if (key !== undefined && piece !== undefined) shown.remember(key, piece);
    this.change(select(this.view, key, add));
    if (reveal && piece !== undefined) this.stage?.reveal([piece], false);
  }

  /** Show a node wherever it is: open what hides it, or go to its graph. */
  async goTo(node: number, graph: string): Promise<void> {
    const { shown } = this;
    if (!shown) return;
    const box = shown.result.boxOfNode[node] ?? -1;
    if (box >= 0 && (shown.result.node[box] === node || !shown.scene.expandable[shown.scene.box[box]])) {
      this.selectPiece(box, false, true);
      await this.about.tellNode(node);
      return;
    }
    if (box < 0) {
      this.view = { ...enterGraph(this.view, graph) };
      this.history.push(this.view);
    }
    await this.draw({ reveal: node, ...(box < 0 ? { look: "first" as const } : { keepCamera: true }) });
    const now = this.shown?.result.boxOfNode[node] ?? -1;
    if (now < 0) return;
    this.selectPiece(now, false, true);
    await this.about.tellNode(node);
  }

  /** Show the group around a node at a depth: open what hides it, and nothing more. */
  async goToGroup({ node, level }: ModulePlace): Promise<void> {
    await this.draw({ reveal: node, revealLevel: level, keepCamera: true });
    const box = this.shown?.result.revealed ?? -1;
    if (box >= 0) this.selectPiece(box, false, true);
  }

  async search(query: string): Promise<void> {
    if (query !== this.view.query) {
      this.view = { ...this.view, query };
      this.history.replace(this.view);
    }
    this.searching = this.refreshSearch();
    await this.searching;
    if (this.view.matchesOnly >= 0) void this.draw({ look: "first" });
  }

  /** To the next hit, or the one before. */
  async step(by: 1 | -1): Promise<void> {
    await this.searching;
    const total = this.found?.nodes.length ?? 0;
    if (!this.found || total === 0) return;
    this.hit = this.hit < 0 ? (by > 0 ? 0 : total - 1) : (this.hit + by + total) % total;
    this.changed();
    const node = this.found.nodes[this.hit];
    const row = this.found.rows[this.hit] ?? (await this.idle.during(this.client.ask("node", { node })));
    await this.goTo(node, row.graph);
  }

  setTheme(choice: "light" | "dark" | "auto"): void {
    this.themeChoice = choice;
    this.onScheme();
  }

  say(notice: string): void {
    this.notice = notice;
    clearTimeout(this.noticeTimer);
    this.noticeTimer = window.setTimeout(() => {
      this.notice = undefined;
      this.changed();
    }, 2600);
    this.changed();
  }

  stop(): void {
    this.client.stop();
  }

  readonly ask: EngineClient["ask"] = (method, params, progress) => this.idle.during(this.client.ask(method, params, progress));

  /** Nodes of the selected boxes (a group has none of its own). */
  get selectedNodes(): number[] {
    return this.selectedPieces.map((piece) => this.shown!.result.node[this.shown!.scene.box[piece]]).filter((node) => node >= 0);
  }

  get selectedPieces(): number[] {
    return this.shown ? this.view.selection.map((key) => this.shown!.find(key)).filter((piece) => piece >= 0) : [];
  }

  private readonly onScheme = (): void => {
    if (this.stage) {
      this.stage.theme = this.theme;
      this.stage.draw();
    }
    this.changed();
  };

  private click(picked: Picked | undefined, how: { readonly add: boolean; readonly double: boolean; readonly deep: boolean }): void {
    if (!picked && how.double) this.stage?.fit();
    else if (!picked) this.selectPiece(undefined);
    else if (picked.kind !== "edge" && this.addOmitted(picked.piece)) return;
    else if (picked.kind === "edge") this.selectPiece(this.shown!.scene.edgeSource[picked.edge], how.add);
    else if (picked.part === "room" && how.double) this.stage?.reveal([picked.piece], true);
    else if (picked.part === "chevron" || how.double) this.toggle(picked.piece, how.deep);
    else this.selectPiece(picked.piece, how.add);
  }

  /** "12 more": a click adds them. Says whether the piece was that. */
  private addOmitted(piece: number): boolean {
    const more = addOmitted(this.view, this.shown!.keyOf(piece));
    if (more) this.change(more, { look: "fit" });
    return more !== undefined;
  }

  private stepTo(view: ViewState): void {
    const before = this.view;
    this.view = view;
    if (view.source !== before.source) void this.open(view.source);
    else if (!sameView(before, view)) void this.draw({ look: "first" });
    else void this.refreshSelection(before);
    this.changed();
  }

  private fail(error: unknown): void {
    if (error instanceof Cancelled) return;
    this.problem = error instanceof Error ? error.message : String(error);
    this.changed();
  }

  /** Wait for the engine, and after a moment say so. Of several tasks the latest is told about. */
  private waiting<T>(task: (tell: Tell) => Promise<T>): Promise<T> {
    const turn = ++this.turn;
    return this.idle.during(patiently(task, (progress) => {
      if (turn !== this.turn || this.progress === progress) return;
      this.progress = progress;
      this.changed();
    }));
  }

  private async draw(look: Look): Promise<void> {
    const { stage } = this;
    if (!stage || !this.program) return;
    const anchorKey = look.anchor;
    let screen: Rect | undefined;
    if (anchorKey !== undefined && this.shown) {
      const piece = this.shown.find(anchorKey);
      if (piece >= 0) screen = stage.onScreen(this.shown.rect(piece));
    }
    const { view } = this;
    try {
      const result = await this.waiting((tell) => this.client.show({
        spec: specOf(view), direction: view.direction, colour: view.colour, styles: this.styling.rules, locate: [anchorKey ?? "", ...view.selection],
        ...(view.matchesOnly >= 0 && this.found ? { near: { nodes: this.found.nodes.slice(0, MOST_MATCHES_SHOWN), hops: view.matchesOnly } } : {}),
        ...(look.reveal === undefined ? {} : { reveal: look.reveal }), ...(look.revealLevel === undefined ? {} : { revealLevel: look.revealLevel }),
        ...(look.reveal === undefined && !look.stay && asItComes(view) ? { room: stage.room } : {}),
        ...this.timeline.request,
      }, tell));
      if (this.disposed) return;
      const shown = new Shown(result);
      for (const [i, key] of view.selection.entries()) shown.remember(key, result.located[i + 1]);
      if (result.opened.length || result.closed.length) {
        const opened = new Set(result.opened);
        this.view = { ...this.view, open: [...this.view.open, ...opened], closed: [...this.view.closed.filter((key) => !opened.has(key)), ...result.closed] };
        this.history.replace(this.view);
      }
      const anchor = result.located[0];
      const before = this.shown;
      const first = before === undefined;
      this.shown = shown;
      if (result.program) this.turned(result.program);
      this.problem = undefined;
      stage.hits = this.hitPieces();
      stage.selected = this.selectedPieces;
      const stays = look.stay && before ? anchorBetween(stage, before, shown, stage.selected) : undefined;
      if (stays && before) showStaying(stage, before, shown, stays);
      else if (screen && anchor >= 0) stage.show(shown, { anchor: { piece: anchor, screen } });
      else if (look.keepCamera) stage.show(shown, {});
      else stage.show(shown, { look: first ? "first" : look.look ?? "fit" });
      await this.refreshSelection(undefined);
      this.changed();
      void this.timeline.refresh();
      void this.learnAttributes();
    } catch (error) {
      this.fail(error);
    }
  }

  /** Show what the state says now, for whoever has set it. */
  async follow(view: ViewState): Promise<void> {
    this.view = view;
    this.history.push(view);
    this.changed();
    await this.draw({ stay: true });
  }

  /** Another program of the recording is shown: what was known by numbers of its nodes is not true any more. */
  private turned(program: ProgramSummary): void {
    this.program = program;
    this.attributesOf = this.found = undefined;
    if (this.view.query) void this.refreshSearch();
  }

  /** What colours and table columns can be made of; asked once per graph, after the picture is there. */
  private async learnAttributes(): Promise<void> {
    const graph = this.graphName;
    if (this.attributesOf === graph) return;
    this.attributesOf = graph;
    this.attributes = await this.idle.during(this.client.ask("attributes", { graph })).catch(() => []);
    this.changed();
  }

  private async refreshSearch(): Promise<void> {
    const { query } = this.view;
    this.hit = -1;
    if (!query.trim()) this.found = undefined;
    else {
      const found = await this.idle.during(this.client.ask("search", { query, limit: 200_000, first: this.graphName })).catch(() => undefined);
      if (query !== this.view.query) return;
      this.found = found;
    }
    if (this.stage) {
      this.stage.hits = this.hitPieces();
      this.stage.draw();
    }
    this.changed();
  }

  private hitPieces(): Int32Array {
    return this.shown && this.found ? boxesOf(this.shown, this.found.nodes) : new Int32Array(0);
  }

  /** Details and highlights of what is selected now. */
  private async refreshSelection(before: ViewState | undefined): Promise<void> {
    const { shown, stage, view } = this;
    if (!shown || !stage) return;
    stage.selected = this.selectedPieces;
    stage.draw();
    if (before?.selection !== view.selection) await this.about.selected(stage.selected.at(-1));
    await this.about.light();
    this.changed();
  }

  private async picture(sight: Sight): Promise<ImageBitmap> {
    const emphasis = this.stage?.emphasis;
    return this.client.ask("picture", { ...sight, theme: this.theme.name, ...(emphasis ? { lit: emphasis.lit, litEdge: emphasis.litEdge } : {}) });
  }
}
