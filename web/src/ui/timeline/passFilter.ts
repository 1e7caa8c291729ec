/** Which passes are listed: by name, by the nodes that they changed ("op:dot scope:layer_1"), by a range, by the selected node. */
import type { PassRow } from "../../core/program/recording/types";
import { Cancelled } from "../engine/client";
import type { Session } from "../session";

export interface PassRange {
  readonly first: number;
  readonly last: number;
}

/** A word such as op:dot is about nodes; others are about the names of passes. */
const ABOUT_NODES = /^-?[A-Za-z][\w.-]*:/;

export class PassFilter {
  text = "";
  /** Only passes of this range, which a person brushed in the overview. */
  range: PassRange | undefined;
  /** Only passes that changed the selected node. */
  onlyHistory = false;
  /** What is wrong with the query. */
  problem: string | undefined;
  /** The first pass after which the query matches any node. */
  first: number | undefined;
  /** Passes that changed nodes that the query matches; undefined: the filter says nothing about nodes. */
  private touching: ReadonlySet<number> | undefined;
  private searches = 0;

  constructor(private readonly session: Pick<Session, "ask" | "changed" | "say">) {}

  /** The part of the text that is about names of passes. */
  get name(): string {
    return this.words.filter((word) => !ABOUT_NODES.test(word)).join(" ");
  }

  /** The part of the text that is about nodes. */
  get query(): string {
    return this.words.filter((word) => ABOUT_NODES.test(word)).join(" ");
  }

  private get words(): readonly string[] {
    return this.text.match(/-?[A-Za-z][\w.-]*:(?:"[^"]*"?|\/(?:[^/\\]|\\.)*\/?\w*)|\S+/g) ?? [];
  }

  /** How many passes were looked at so far; undefined: no search is on its way. */
  lookedAt: number | undefined;

  /** Looks for the passes, some at a time: those that were found are listed while it goes on. The next text ends it. */
  async setText(text: string): Promise<void> {
    const search = ++this.searches;
    this.text = text;
    const { query } = this;
    const touching = query === "" ? undefined : new Set<number>();
    this.touching = touching;
    this.first = this.problem = this.lookedAt = undefined;
    if (touching) this.lookedAt = 0;
    this.session.changed();
    while (this.lookedAt !== undefined && search === this.searches) await this.lookOn(query, touching!, search);
  }

  private async lookOn(query: string, touching: Set<number>, search: number): Promise<void> {
    try {
      const answer = await this.session.ask("passesTouching", { query, from: this.lookedAt! });
      if (search !== this.searches) return;
      for (const pass of answer.passes) touching.add(pass);
      this.first ??= answer.first;
      this.problem = answer.problem;
      this.lookedAt = answer.next < 0 ? undefined : answer.next;
    } catch (error) {
      // A new picture stopped the engine: the next one is asked the same.
      if (search !== this.searches || error instanceof Cancelled) return;
      this.lookedAt = undefined;
      this.session.say(error instanceof Error ? error.message : String(error));
    }
    this.session.changed();
  }

  clear(): void {
    this.searches++;
    this.text = "";
    this.range = this.touching = this.first = this.problem = this.lookedAt = undefined;
  }

  /** Is a pass listed? */
  takes(pass: number, row: PassRow, touched: ReadonlySet<number> | undefined): boolean {
    const { range, touching } = this;
    if (range && (pass < range.first || pass > range.last)) return false;
    if (touching && !touching.has(pass)) return false;
    if (this.onlyHistory && touched && !touched.has(pass)) return false;
    const name = this.name.toLowerCase();
    return name === "" || [row.name, ...row.pipeline].some((text) => text.toLowerCase().includes(name));
  }

  /** Equal keys mean the same list. */
  get key(): string {
    return [this.name, this.range?.first, this.range?.last, this.onlyHistory, this.touching && [...this.touching].join(" ")].join("\n");
  }
}
