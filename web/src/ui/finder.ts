/** Search: what was asked, what was found, and which of the hits the person is at. */
import { boxesOf } from "./canvas/marks";
import type { SearchResult } from "./engine/protocol";
import type { Session } from "./session";

/** More than any program has nodes that somebody looks for one by one. */
const MOST_HITS = 200_000;

export class Finder {
  found: SearchResult | undefined;
  /** Which of the hits the person is at, or -1. */
  hit = -1;
  /** Hits are asked for as one types: whoever wants the next one wants it of what was typed last. */
  private searching: Promise<void> | undefined;

  constructor(private readonly session: Session) {}

  clear(): void {
    this.found = undefined;
  }

  async search(query: string): Promise<void> {
    const { session } = this;
    if (query !== session.view.query) session.note({ ...session.view, query });
    this.searching = this.refresh();
    await this.searching;
    if (session.view.matchesOnly >= 0) session.lookAgain();
  }

  /** To the next hit, or the one before. */
  async step(by: 1 | -1): Promise<void> {
    await this.searching;
    const total = this.found?.nodes.length ?? 0;
    if (!this.found || total === 0) return;
    this.hit = this.hit < 0 ? (by > 0 ? 0 : total - 1) : (this.hit + by + total) % total;
    this.session.changed();
    const node = this.found.nodes[this.hit];
    const row = this.found.rows[this.hit] ?? (await this.session.ask("node", { node }));
    await this.session.goTo(node, row.graph);
  }

  /** Ask anew: the query or the program is another. */
  async refresh(): Promise<void> {
    const { session } = this;
    const { query } = session.view;
    this.hit = -1;
    if (!query.trim()) this.found = undefined;
    else {
      const found = await session.ask("search", { query, limit: MOST_HITS, first: session.graphName }).catch(() => undefined);
      if (query !== session.view.query) return;
      this.found = found;
    }
    if (session.stage) {
      session.stage.hits = this.items();
      session.stage.draw();
    }
    session.changed();
  }

  /** The boxes in which hits are seen. */
  items(): Int32Array {
    const { shown } = this.session;
    return shown && this.found ? boxesOf(shown, this.found.nodes) : new Int32Array(0);
  }
}
