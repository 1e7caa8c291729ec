/** Which passes are listed: by name, by the nodes that they changed ("op:dot scope:layer_1"), by a range, by the selected node. */
import type { PassRow } from "../../core/program/recording/types";
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

  constructor(private readonly session: Pick<Session, "ask" | "changed">) {}

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

  async setText(text: string): Promise<void> {
    this.text = text;
    const { query } = this;
    if (query === "") {
      this.touching = this.first = this.problem = undefined;
      return this.session.changed();
    }
    this.session.changed();
    const answer = await this.session.ask("passesTouching", { query }).catch(() => undefined);
    if (text !== this.text || !answer) return;
    this.touching = new Set(answer.passes);
    this.first = answer.first;
    this.problem = answer.problem;
    this.session.changed();
  }

  clear(): void {
    this.text = "";
    this.range = this.touching = this.first = this.problem = undefined;
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
