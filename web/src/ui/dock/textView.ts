/** The text panel's state: what is written, which row the selection is in, and what was found. */
import type { SideText, TextPlace, TextRowShown, TextSummary } from "../engine/textProtocol";
import type { Session } from "../session";
import { Signal } from "../state/signal";

export class TextView {
  readonly onChange = new Signal();
  /** Another object whenever lines have other numbers. */
  summary: TextSummary | undefined;
  /** Before and after of a pass next to each other. */
  sides = true;
  /** The row of the selection or of the current hit; -1: none. */
  row = -1;
  /** The line that it has. */
  line = -1;
  /** Rows with the text that was looked for, and which of them is shown. */
  hits: readonly number[] | undefined;
  hit = -1;
  wanted = "";
  /** Are there rows that were not looked at? */
  isSearching = false;

  /** The program that the summary is about. */
  private of: unknown;
  /** The part of the search that is under way. */
  private part: Promise<void> = Promise.resolve();
  private searches = 0;

  constructor(private readonly session: Session) {}

  /** Writes the program that is shown, and goes to the selected node. */
  async load(): Promise<void> {
    const { session } = this;
    const { program } = session;
    if (!program || !session.shown) return;
    try {
      this.summary = await session.ask("text", { sides: this.sides });
    } catch (error) {
      session.say(error instanceof Error ? error.message : String(error));
      return;
    }
    this.of = program;
    this.row = this.line = -1;
    this.onChange.emit();
    await this.follow();
    if (this.wanted) await this.find(this.wanted);
  }

  /** Goes to the selected node. */
  async follow(): Promise<void> {
    const { session } = this;
    const node = session.view.selection.length ? session.about.node : undefined;
    if (this.of !== session.program || !node) return;
    await this.show(session.ask("textLine", { node: node.node }));
  }

  readonly rows = (from: number, to: number): Promise<readonly TextRowShown[]> => this.session.ask("textRows", { from, to });

  async toggle(line: number): Promise<void> {
    this.summary = await this.session.ask("textToggle", { line });
    this.line = -1;
    this.onChange.emit();
  }

  async setSides(sides: boolean): Promise<void> {
    this.sides = sides;
    await this.load();
  }

  /** Looks for a text, part by part. The next search ends this one. */
  async find(text: string): Promise<void> {
    const search = ++this.searches;
    const hits: number[] = [];
    this.wanted = text;
    this.hits = text ? hits : undefined;
    this.hit = -1;
    this.isSearching = text !== "";
    this.onChange.emit();
    for (let from = 0; this.isSearching && search === this.searches; ) {
      this.part = this.session.ask("textFind", { text, from }).then(
        ({ rows, next }) => {
          if (search !== this.searches) return;
          for (const row of rows) hits.push(row);
          from = next;
          this.isSearching = next >= 0;
        },
        (error: unknown) => {
          if (search !== this.searches) return;
          this.isSearching = false;
          this.session.say(error instanceof Error ? error.message : String(error));
        },
      );
      await this.part;
      if (search === this.searches) this.onChange.emit();
    }
  }

  /** Goes to the next or the previous hit, and waits for it while there may be one in rows that were not looked at. */
  async step(by: 1 | -1): Promise<void> {
    const { searches } = this;
    const isKnown = () => (by > 0 ? this.hit + 1 < (this.hits?.length ?? 0) : this.hit > 0);
    while (this.isSearching && !isKnown()) {
      await this.part;
      if (searches !== this.searches) return;
    }
    const { hits } = this;
    if (!hits?.length) return;
    this.hit = this.hit < 0 ? (by > 0 ? 0 : hits.length - 1) : (this.hit + by + hits.length) % hits.length;
    await this.show(this.session.ask("textRow", { row: hits[this.hit] }));
  }

  /** Shows the node of a line in the graph. */
  async goTo({ node }: SideText, after: boolean): Promise<void> {
    const { session } = this;
    const { timeline } = session;
    const isShown = !this.summary?.sides || timeline.mode === (after ? "after" : "before");
    if (isShown) await session.goTo(node.node, node.graph);
    else await timeline.jump(timeline.pass, node, after);
  }

  private async show(asked: Promise<TextPlace>): Promise<void> {
    const place = await asked.catch(() => undefined);
    if (!place || !this.summary) return;
    if (place.lines !== this.summary.lines) this.summary = { sides: place.sides, lines: place.lines };
    this.row = place.row;
    this.line = place.line;
    this.onChange.emit();
  }
}
