/**
 * One running viewer: handles input, changes the state, asks the engine, passes the answer to the canvas and notifies the panels. The
 * panels only read it and call its methods.
 */
import type { ViewOptions } from "../core/program/viewOptions";
import type { Theme } from "../core/scene/theme";
import { splitNodeKey } from "../core/view/choose/keys";
import { About } from "./about";
import { CameraAddress } from "./cameraAddress";
import { anchoredTitle, type CameraMove, isFree, showAfter } from "./cameraMove";
import type { Sight } from "./canvas/scenePainter";
import { Shown } from "./canvas/shown";
import { Stage } from "./canvas/stage";
import { Cancelled, EngineClient } from "./engine/client";
import type { ModulePlace, ProgramSummary } from "./engine/protocol";
import { Finder } from "./finder";
import { Display } from "./display";
import { Dropping } from "./files/dropping";
import { OpenPanels } from "./openPanels";
import type { SessionOptions } from "./options";
import { Pointing } from "./pointing";
import { Panes } from "./timeline/panes";
import { Timeline } from "./timeline/timeline";
import { type History, memoryHistory, type Reached, urlHistory } from "./state/history";
import { Idle } from "./state/idle";
import { type Progress, patiently, type Report } from "./state/patience";
import { Scheme, type ThemeChoice } from "./state/scheme";
import { Signal } from "./state/signal";
import { Styling } from "./styling";
import {
  colourOf,
  inHalves,
  isFresh,
  roomFor,
  enterGraph,
  openAllInside,
  sameView,
  select,
  specOf,
  START,
  startingAt,
  toggle,
  unfold,
  type ViewState,
} from "./state/view";

const MOST_MATCHES_SHOWN = 3000;

export class Session {
  view: ViewState;
  /** How often somebody has changed it. */
  changes = 0;
  program: ProgramSummary | undefined;
  shown: Shown | undefined;
  problem: string | undefined;
  progress: Progress | undefined;
  /** Names of attributes that nodes of the shown graph have. */
  attributes: readonly string[] = [];
  notice: string | undefined;
  /** The background of saved pictures. */
  background: ViewOptions["background"] = "theme";
  stage: Stage | undefined;
  readonly idle = new Idle();
  readonly about = new About(this);
  readonly finder = new Finder(this);
  readonly pointing = new Pointing(this);
  readonly display = new Display(this);
  readonly timeline = new Timeline(this);
  readonly dropping = new Dropping(this);
  readonly openPanels = new OpenPanels(this);
  readonly panes: Panes;
  readonly styling: Styling;
  readonly history: History;
  /** The state has changed; the camera has moved. */
  readonly onChange = new Signal();
  readonly onCamera = new Signal();

  private readonly client: EngineClient;
  private readonly cameraAddress = new CameraAddress(this);
  private readonly scheme: Scheme;
  private noticeTimer = 0;
  private turn = 0;
  private attributesOf: string | undefined;
  private scheduled = false;
  private disposed = false;

  constructor(readonly options: SessionOptions) {
    this.client = new EngineClient(options.start);
    this.panes = new Panes(this, (paneOptions) => new Session(paneOptions));
    this.styling = new Styling(this, options.styles, options.nodeData);
    this.client.data = this.styling.files;
    const begin = startingAt(options.initial);
    this.history = options.url
      ? urlHistory((view, how) => this.stepTo(view, how))
      : memoryHistory(begin, (view, how) => this.stepTo(view, how));
    this.view = options.url && location.hash.length > 1 ? this.history.read() : begin;
    this.scheme = new Scheme(options.theme ?? "auto", () => this.recolour());
    if (options.sources[this.view.source]) this.client.prefetch(options.sources[this.view.source].at);
  }

  dispose(): void {
    this.disposed = true;
    this.cameraAddress.dispose();
    this.timeline.dispose();
    this.panes.dispose();
    this.client.dispose();
    this.history.dispose();
    this.stage?.dispose();
    this.scheme.dispose();
  }

  /** Notifies the panels, once per turn however much has changed. */
  changed(): void {
    if (this.scheduled || this.disposed) return;
    this.scheduled = true;
    queueMicrotask(() => {
      this.scheduled = false;
      this.onChange.emit();
    });
  }

  get theme(): Theme {
    return this.scheme.theme;
  }

  get themeChoice(): ThemeChoice {
    return this.scheme.choice;
  }

  get graphName(): string {
    return this.view.graph ?? this.program?.entry ?? "";
  }

  attach(canvas: HTMLCanvasElement): () => void {
    const stage = new Stage(canvas, this.theme, {
      hover: (picked, x, y) => this.pointing.hover(picked, x, y),
      click: (picked, how) => this.pointing.click(picked, how),
      menu: (picked, x, y) => this.pointing.openMenu(picked, x, y),
      moved: () => {
        if (this.pointing.menu) this.pointing.closeMenu();
        this.cameraAddress.moved();
        this.onCamera.emit();
      },
      leavesWheel: (event) => this.pointing.leavesWheel(event),
      picture: (sight) => this.picture(sight),
      busy: (change) => this.idle.change(change),
    });
    stage.still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.stage = stage;
    void this.open(this.view.source, true);
    this.panes.restore(this.view.panes);
    return () => stage.dispose();
  }

  /** Loads a source and shows it: at the place that the state has (`restore`), or from the start. */
  async open(source: number, restore = false): Promise<void> {
    const entry = this.options.sources[source];
    this.problem = undefined;
    this.program = this.shown = this.attributesOf = undefined;
    this.finder.clear();
    this.about.clear();
    this.changed();
    if (!entry) return this.fail(new Error("there is nothing to show; pass a file to `opscope view`"));
    try {
      this.program = await this.waiting((report) => this.client.load(entry.at, (part) => report(part, `Loading ${entry.name}…`)));
      this.timeline.opened(this.program.passes);
      const first = this.atFirst(this.view);
      if (first !== this.view) this.note(first);
      const start = this.timeline.numberOf(this.timeline.start);
      if (this.view.pass === 0 && start > 0) this.note({ ...this.view, pass: start });
    } catch (error) {
      return this.fail(error);
    }
    this.changed();
    await this.styling.loaded();
    await this.finder.refresh();
    await this.draw({ look: "first", restore });
  }

  /** A training program is first seen with forward beside backward, unless somebody has said what to show. */
  private atFirst(view: ViewState): ViewState {
    return this.program?.opensInHalves && isFresh(view) ? inHalves(view, this.program) : view;
  }

  /** Shows something else of the program from the start, as opening it does. */
  begin(view: ViewState): void {
    this.change(this.atFirst(view), { look: "first" });
  }

  openSource(source: number): void {
    this.record({ ...START, source, rankdir: this.view.rankdir, panes: this.view.panes, panels: this.view.panels });
    void this.open(source);
  }

  /** The one way to change the state. */
  change(view: ViewState, look: CameraMove = {}, record: "push" | "replace" = "push"): void {
    const before = this.view;
    if (view === before) return;
    this.record(view, record);
    if (!sameView(before, view)) void this.draw(look);
    else {
      void this.refreshSelection(before);
      this.cameraAddress.moved();
    }
    this.changed();
  }

  /** Makes a state a step of the history. The previous one keeps its camera; another picture starts without one. */
  private record(view: ViewState, how: "push" | "replace" = "push"): void {
    this.changes++;
    this.cameraAddress.write();
    this.view = { ...view, camera: sameView(this.view, view) ? this.view.camera : undefined };
    this.history[how](this.view);
  }

  /** Changes the state without another picture and without a step of the history. */
  note(view: ViewState): void {
    this.view = view;
    this.history.replace(view);
  }

  /** Draws again and moves the camera to the start. */
  lookAgain(): void {
    void this.draw({ look: "first" });
  }

  /** Draws the same picture in other colours. */
  redraw(): void {
    void this.draw({ keepCamera: true });
  }

  back(): void {
    this.history.back();
  }

  forward(): void {
    this.history.forward();
  }

  /** The state with the camera in it. */
  seen(): ViewState {
    this.cameraAddress.write();
    return this.view;
  }

  link(): string {
    return this.history.link(this.seen());
  }

  /** Expands or collapses a container, or expands everything inside; it keeps its place on the screen. */
  toggle(item: number, deep = false): void {
    const { shown } = this;
    if (!shown || this.pointing.addOmitted(item)) return;
    const box = shown.scene.box[item];
    const open = shown.result.open[box] === 1;
    if (!open && !shown.scene.expandable[box]) return;
    const key = shown.keyOf(item);
    this.change(deep ? openAllInside(this.view, key) : toggle(this.view, key, open), { anchor: key });
  }

  selectItem(item: number | undefined, add = false, reveal = false): void {
    const { shown } = this;
    if (!shown) return;
    const key = item === undefined ? undefined : shown.keyOf(item);
    if (key !== undefined && item !== undefined) shown.remember(key, item);
    this.change(select(this.view, key, add));
    if (reveal && item !== undefined) this.stage?.reveal([item], false);
  }

  async selectEdge(edge: number): Promise<void> {
    this.selectItem(undefined);
    if (this.stage) this.stage.chosenEdge = edge;
    this.stage?.draw();
    await this.about.loadEdge(edge);
  }

  /** Shows a node wherever it is: expands what hides it, or opens its graph. */
  async goTo(node: number, graph: string): Promise<void> {
    const { shown } = this;
    if (!shown) return;
    this.pointing.outline(-1);
    const box = shown.result.boxOfNode[node] ?? -1;
    if (shown.hasBoxFor(node)) {
      this.selectItem(box, false, true);
      await this.about.loadNode(node);
      return;
    }
    if (box < 0) {
      this.record(enterGraph(this.view, graph));
    }
    await this.draw({ reveal: node, ...(box < 0 ? { look: "first" as const } : { keepCamera: true }) });
    await this.idle.breath();
    const now = this.shown?.result.boxOfNode[node] ?? -1;
    if (now < 0) return;
    this.selectItem(now, false, true);
    await this.about.loadNode(node);
  }

  /** Shows nodes of one graph together: all are selected, and the details are about the first. */
  async goToAll(nodes: readonly number[], graph: string): Promise<void> {
    for (const node of nodes.slice(1)) if (!this.shown?.hasBoxFor(node)) await this.goTo(node, graph);
    await this.goTo(nodes[0], graph);
    const { shown } = this;
    const items = [...new Set(nodes.map((node) => shown?.result.boxOfNode[node] ?? -1))].filter((item) => item >= 0).reverse();
    if (items.length < 2) return;
    for (const [i, item] of items.entries()) this.selectItem(item, i > 0);
    this.stage?.reveal(items, false);
    await this.about.loadNode(nodes[0]);
  }

  /** Shows the group around a node at a depth: expands what hides it, and nothing more. */
  async goToGroup({ node, level }: ModulePlace): Promise<void> {
    await this.draw({ reveal: node, revealLevel: level, keepCamera: true });
    const box = this.shown?.result.revealed ?? -1;
    if (box >= 0) this.selectItem(box, false, true);
  }

  setTheme(choice: ThemeChoice): void {
    this.scheme.choose(choice);
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

  /** Nodes of the selected boxes (a group has none). */
  get selectedNodes(): number[] {
    return this.selectedItems.map((item) => this.shown!.result.node[this.shown!.scene.box[item]]).filter((node) => node >= 0);
  }

  get selectedItems(): number[] {
    return this.shown ? this.view.selection.map((key) => this.shown!.find(key)).filter((item) => item >= 0) : [];
  }

  private recolour(): void {
    if (this.stage) {
      this.stage.theme = this.theme;
      this.stage.draw();
    }
    this.changed();
  }

  private stepTo(step: ViewState, how: Reached): void {
    const before = this.view;
    // Panels that were opened since are there to be read while one goes back.
    const view = how === "step" ? { ...step, panels: before.panels } : step;
    this.view = view;
    if (view.panels !== step.panels) this.history.replace(view);
    if (view.source !== before.source) void this.open(view.source, true);
    else if (!sameView(before, view)) void this.draw({ look: "first", restore: true });
    else {
      void this.refreshSelection(before);
      if (JSON.stringify(before.camera) !== JSON.stringify(view.camera)) this.stage?.returnTo(view.camera);
    }
    this.panes.restore(view.panes);
    this.changed();
  }

  private fail(error: unknown): void {
    if (error instanceof Cancelled) return;
    this.problem = error instanceof Error ? error.message : String(error);
    this.changed();
  }

  /** Waits for the engine, showing progress after a moment; of several tasks, that of the latest. */
  private waiting<T>(task: (report: Report) => Promise<T>): Promise<T> {
    const turn = ++this.turn;
    return this.idle.during(
      patiently(task, (progress) => {
        if (turn !== this.turn || this.progress === progress) return;
        this.progress = progress;
        this.changed();
      }),
    );
  }

  private async draw(look: CameraMove): Promise<void> {
    const { stage } = this;
    if (!stage || !this.program) return;
    const title = anchoredTitle(stage, this.shown, look.anchor);
    const { view } = this;
    try {
      const result = await this.waiting((report) =>
        this.client.show(
          {
            spec: specOf(view),
            rankdir: view.rankdir,
            columns: view.columns,
            colour: colourOf(view),
            colourScale: view.colourScale,
            styles: this.styling.rules,
            locate: [look.anchor ?? "", ...view.selection],
            ...(view.matchesOnly >= 0 && this.finder.result
              ? { near: { nodes: this.finder.result.nodes.slice(0, MOST_MATCHES_SHOWN), hops: view.matchesOnly } }
              : {}),
            ...(look.reveal === undefined ? {} : { reveal: look.reveal }),
            ...(look.revealLevel === undefined ? {} : { revealLevel: look.revealLevel }),
            ...(isFree(look, view.camera) ? roomFor(view, look.look, stage.room) : {}),
            ...this.timeline.request(look.revealChange),
          },
          report,
        ),
      );
      if (this.disposed) return;
      const shown = new Shown(result);
      for (const [i, key] of view.selection.entries()) shown.remember(key, result.located[i + 1]);
      if (result.opened.length || result.closed.length || result.unfolded.length) {
        const opened = new Set(result.opened);
        this.note({
          ...unfold(this.view, result.unfolded),
          open: [...this.view.open, ...opened],
          closed: [...this.view.closed.filter((key) => !opened.has(key)), ...result.closed],
        });
      }
      if (result.columns !== this.view.columns) this.note({ ...this.view, columns: result.columns });
      const before = this.shown;
      this.shown = shown;
      if (result.program) this.showProgram(result.program);
      this.problem = undefined;
      stage.hits = this.finder.boxes();
      stage.selected = this.selectedItems;
      showAfter(stage, before, shown, look, { camera: view.camera, title, anchor: result.located[0] });
      this.changed();
      await this.refreshSelection(undefined);
      if (look.restore) await this.unfoldSelected();
      void this.timeline.refresh();
      void this.loadAttributes();
    } catch (error) {
      this.fail(error);
    }
  }

  /** An address may name nodes of the shown graph that are folded: they get boxes. */
  private async unfoldSelected(): Promise<void> {
    for (const key of this.view.selection) {
      const named = this.shown?.find(key) === -1 ? splitNodeKey(key) : undefined;
      const node = named?.prefix === "" ? await this.ask("find", { graph: this.graphName, id: named.id }) : -1;
      if (this.shown?.result.folded[node]) await this.draw({ reveal: node, keepCamera: true });
    }
  }

  /** Shows a state and waits until it is drawn. */
  async follow(view: ViewState, look: CameraMove = { stay: true }): Promise<void> {
    this.record(view);
    this.changed();
    await this.draw(look);
  }

  /** Another program of the recording is shown: node numbers of the previous one are no longer valid. */
  private showProgram(program: ProgramSummary): void {
    this.program = program;
    this.attributesOf = undefined;
    this.finder.clear();
    if (this.view.query) void this.finder.refresh();
  }

  /** Attributes to colour by and to add as columns; asked once per graph, after the picture is drawn. */
  private async loadAttributes(): Promise<void> {
    const graph = this.graphName;
    if (this.attributesOf === graph) return;
    this.attributesOf = graph;
    this.attributes = await this.idle.during(this.client.ask("attributes", { graph })).catch(() => []);
    this.changed();
  }

  /** Loads details and highlights of the current selection. */
  private async refreshSelection(before: ViewState | undefined): Promise<void> {
    const { shown, stage, view } = this;
    if (!shown || !stage) return;
    stage.selected = this.selectedItems;
    stage.chosenEdge = -1;
    stage.draw();
    if (before?.selection !== view.selection) await this.about.loadSelected(stage.selected.at(-1));
    await this.about.highlight();
    this.changed();
  }

  private async picture(sight: Sight): Promise<ImageBitmap> {
    const emphasis = this.stage?.emphasis;
    return this.client.ask("picture", {
      ...sight,
      theme: this.theme.name,
      ...(emphasis ? { lit: emphasis.lit, litEdge: emphasis.litEdge } : {}),
    });
  }
}
