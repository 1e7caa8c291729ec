/**
 * Panes next to the graph: other passes, recordings or programs. A node that is selected in one is selected in all that have it, and before
 * and after are drawn alike.
 */
import type { NodeFacts, NodeName } from "../engine/protocol";
import type { SessionOptions } from "../options";
import type { Session } from "../session";
import type { PanePlace, ViewState } from "../state/view";
import { alike, asOpen, sharedBy } from "./alike";
import { Lockstep } from "./lockstep";

export const MOST_PANES = 3;

const BEFORE: PanePlace = { source: 0, pass: 0, passMode: "before", linked: true };

export interface Pane {
  readonly id: number;
  readonly session: Session;
  /** Shows the program before the pass that the graph shows. */
  readonly linked: boolean;
  /** Stops listening to the pane. */
  readonly release: () => void;
}

export class Panes {
  list: readonly Pane[] = [];
  private next = 1;
  /** The node that each session had selected last; a different one was selected by a person. */
  private readonly lastNode = new WeakMap<Session, NodeFacts | undefined>();
  private stepping = false;
  private restoring = false;
  /** Moves before and after together, while they are side by side. */
  private lockstep: Lockstep | undefined;
  /** The pass that each session showed last. */
  private readonly lastPass = new WeakMap<Session, number>();
  /** What each session with a picture showed last. */
  private readonly lastView = new WeakMap<Session, ViewState>();

  constructor(
    private readonly main: Session,
    private readonly begin: (options: SessionOptions) => Session,
  ) {
    main.onChange.subscribe(() => this.follow(main));
  }

  get sideBySide(): boolean {
    return this.list.some((pane) => pane.linked);
  }

  /** Adds a pane: of the next source if there are several, else of the last pass (or of the first). */
  add(): void {
    const { view, options, timeline } = this.main;
    const last = timeline.rows.length - 1;
    if (options.sources.length > 1 && this.list.length === 0) this.open({ source: (view.source + 1) % options.sources.length }, false);
    else this.open({ source: view.source, pass: timeline.numberOf(timeline.pass === last ? 0 : last) }, false);
  }

  /** Shows before and after side by side, in step. */
  setSideBySide(on: boolean): void {
    if (on === this.sideBySide) return;
    const { main } = this;
    if (!on) for (const pane of this.list.filter((each) => each.linked)) this.close(pane);
    else {
      const { view, shown, stage } = main;
      const after = { ...view, diff: "after", panes: [BEFORE, ...view.panes] } as const;
      main.change(shown ? asOpen(after, shown) : after, stage?.isInitial ? { look: "first" } : { stay: true });
      this.openBefore();
    }
  }

  close(pane: Pane): void {
    this.list = this.list.filter((each) => each !== pane);
    pane.release();
    if (pane.linked) {
      this.lockstep?.dispose();
      this.lockstep = undefined;
    }
    pane.session.dispose();
    this.record("push");
    this.main.changed();
  }

  /** Opens the panes of an address. */
  restore(places: readonly PanePlace[]): void {
    if (JSON.stringify(places) === JSON.stringify(this.places())) return;
    const valid = places.filter(({ source }) => source >= 0 && source < this.main.options.sources.length);
    this.restoring = true;
    for (const pane of this.list) this.close(pane);
    for (const { linked, source, pass, passMode } of valid) linked ? this.openBefore() : this.open({ source, pass, diff: passMode }, false);
    this.restoring = false;
  }

  private openBefore(): void {
    const { view } = this.main;
    this.open({ ...sharedBy(view), source: view.source, pass: view.pass, diff: "before" }, true);
  }

  /** A linked pane follows the graph, whatever its pass. */
  private places(): PanePlace[] {
    return this.list.map(
      ({
        session: {
          view: { source, pass },
          timeline: { mode },
        },
        linked,
      }) => (linked ? BEFORE : { source, pass, passMode: mode, linked }),
    );
  }

  /** Writes into the address what the panes show. */
  private record(how: "push" | "replace"): void {
    const panes = this.places();
    if (!this.restoring && JSON.stringify(panes) !== JSON.stringify(this.main.view.panes))
      this.main.change({ ...this.main.view, panes }, {}, how);
  }

  dispose(): void {
    this.restoring = true;
    for (const pane of this.list) this.close(pane);
  }

  async whenIdle(): Promise<void> {
    const all = () => Promise.all([this.main, ...this.list.map((pane) => pane.session)].map((session) => session.idle.whenIdle()));
    await all();
    // A pane that became idle may have started work in another.
    await all();
  }

  private open(view: Partial<ViewState>, linked: boolean): void {
    if (this.list.length >= MOST_PANES) return;
    const { main } = this;
    const { groupBy, rankdir, fold, flatten, depth } = main.view;
    const session = this.begin({
      sources: main.options.sources,
      start: main.options.start,
      predefinedStyles: main.options.predefinedStyles,
      ...(main.options.files ? { files: main.options.files } : {}),
      theme: main.themeChoice,
      url: false,
      initial: { groupBy, rankdir, fold, flatten, depth, ...view },
    });
    const release = session.onChange.subscribe(() => {
      this.follow(session);
      this.syncSelection(session);
      this.record("replace");
      main.changed();
    });
    this.list = linked
      ? [{ id: this.next++, session, linked, release }, ...this.list]
      : [...this.list, { id: this.next++, session, linked, release }];
    if (linked) this.lockstep = new Lockstep([main, session]);
    this.lastNode.set(session, undefined);
    this.record("push");
    main.changed();
  }

  /** A pane that shows another pass selects what is selected. */
  private syncSelection(session: Session): void {
    if (!session.shown || this.stepping || this.lastPass.get(session) === session.view.pass) return;
    this.lastPass.set(session, session.view.pass);
    const { node } = this.main.about;
    if (node) void this.inStep(this.main, node);
  }

  /** Something has changed in a pane: the others follow its selection, and a linked pane follows the pass. */
  private follow(session: Session): void {
    this.drawAlike(session);
    for (const pane of this.list) {
      const { timeline } = pane.session;
      if (pane.session.themeChoice !== this.main.themeChoice) pane.session.setTheme(this.main.themeChoice);
      if (pane.linked && session === this.main && timeline.exists && timeline.pass !== this.main.timeline.pass) {
        this.lockstep?.lead(session);
        timeline.choose(this.main.timeline.pass, "before");
      }
    }
    const { node } = session.about;
    if (this.lastNode.get(session) === node) return;
    this.lastNode.set(session, node);
    if (node && !this.stepping) void this.inStep(session, node);
  }

  private drawAlike(session: Session): void {
    if (!session.shown || this.restoring) return;
    const before = this.lastView.get(session);
    const { view } = session;
    this.lastView.set(session, view);
    if (!before || before === view) return;
    const linked = this.list.filter((pane) => pane.linked).map((pane) => pane.session);
    for (const other of session === this.main ? linked : linked.includes(session) ? [this.main] : []) {
      const next = alike(other.view, before, view);
      if (next === other.view || !other.shown) continue;
      this.lastView.set(other, next);
      this.lockstep?.lead(session);
      other.change(next, { stay: true });
    }
  }

  private async inStep(from: Session, node: NodeFacts): Promise<void> {
    this.stepping = true;
    this.lockstep?.hold(from);
    try {
      for (const session of [this.main, ...this.list.map((pane) => pane.session)]) {
        if (session === from || !session.shown) continue;
        // Somebody may choose another pass meanwhile; then the pane is brought in step again.
        const { pass } = session.view;
        const counterpart = await this.find(from, node, session);
        if (counterpart) await session.goToAll(counterpart.nodes, counterpart.graph);
        else session.selectItem(undefined);
        this.lastNode.set(session, session.about.node);
        this.lastPass.set(session, pass);
      }
    } catch (error) {
      this.main.say(error instanceof Error ? error.message : String(error));
    } finally {
      this.stepping = false;
      this.lockstep?.release();
      for (const pane of this.list) this.syncSelection(pane.session);
    }
  }

  /** The counterparts of a node in another pane: followed through the passes, else matched by the server, else by name. */
  private async find(from: Session, node: NodeFacts, to: Session): Promise<{ nodes: number[]; graph: string } | undefined> {
    const followed = from.view.source === to.view.source && to.timeline.exists;
    const names: readonly NodeName[] = followed
      ? await from.ask("follow", { node: node.node, to: snapshotOf(to) })
      : [
          ...(await from.ask("match", {
            node: node.node,
            with: to.options.sources[to.view.source].at,
            pass: to.timeline.exists ? snapshotOf(to) : 0,
          })),
          node,
        ];
    const counterparts: { number: number; graph: string }[] = [];
    for (const { graph, id } of names) {
      const number = await to.ask("find", { graph, id });
      if (number >= 0) counterparts.push({ number, graph });
    }
    if (counterparts.length === 0) return undefined;
    const [{ graph }] = counterparts;
    return {
      nodes: (followed ? counterparts.filter((each) => each.graph === graph) : counterparts.slice(0, 1)).map(({ number }) => number),
      graph,
    };
  }
}

/** The pass whose resulting program a pane shows. */
function snapshotOf(session: Session): number {
  const { row, pass, mode } = session.timeline;
  return mode === "before" && row && row.before >= 0 ? row.before : pass;
}
