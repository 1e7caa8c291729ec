/** Search: the query, its result, the list of matches, and the current match. */
import { boxesOf } from "./canvas/marks";
import type { MatchRow, SearchResult } from "./engine/protocol";
import type { Session } from "./session";

/** More hits than anybody steps through. */
const MOST_HITS = 200_000;

export class Finder {
  result: SearchResult | undefined;
  /** The number of the current hit, or -1. */
  hit = -1;
  /** Somebody has closed the list of matches of this query. */
  private isClosed = false;
  /** Searches run while a person types: the next hit is one of what was typed last. */
  private searching: Promise<void> | undefined;

  constructor(private readonly session: Session) {}

  clear(): void {
    this.result = undefined;
  }

  get isListed(): boolean {
    return this.session.view.query !== "" && !this.isClosed;
  }

  showList(open: boolean): void {
    this.isClosed = !open;
    this.session.changed();
  }

  async search(query: string): Promise<void> {
    const { session } = this;
    this.isClosed = false;
    if (query !== session.view.query) session.note({ ...session.view, query });
    this.searching = this.refresh();
    await this.searching;
    if (session.view.matchesOnly >= 0) session.lookAgain();
  }

  /** Goes to the next or the previous hit. */
  async step(by: 1 | -1): Promise<void> {
    await this.searching;
    const total = this.result?.nodes.length ?? 0;
    if (total > 0) await this.choose(this.hit < 0 ? (by > 0 ? 0 : total - 1) : (this.hit + by + total) % total);
  }

  /** Goes to a hit by its number. */
  async choose(hit: number): Promise<void> {
    const node = this.result?.nodes[hit];
    if (node === undefined) return;
    this.hit = hit;
    this.session.changed();
    const [row] = await this.rows(hit, hit + 1);
    await this.session.goTo(node, row.graph);
  }

  /** Hits as the list shows them. */
  rows(from: number, to: number): Promise<readonly MatchRow[]> {
    return this.session.ask("matchRows", { nodes: [...(this.result?.nodes.subarray(from, to) ?? [])] });
  }

  /** Searches again, because the query or the program has changed. */
  async refresh(): Promise<void> {
    const { session } = this;
    const { query } = session.view;
    this.hit = -1;
    if (!query.trim()) this.result = undefined;
    else {
      const result = await session.ask("search", { query, limit: MOST_HITS, first: session.graphName }).catch(() => undefined);
      if (query !== session.view.query) return;
      this.result = result;
    }
    if (session.stage) {
      session.stage.hits = this.boxes();
      session.stage.draw();
    }
    session.changed();
  }

  /** The boxes in which hits are visible. */
  boxes(): Int32Array {
    const { shown } = this.session;
    return shown && this.result ? boxesOf(shown, this.result.nodes) : new Int32Array(0);
  }
}
