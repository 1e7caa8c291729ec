/** Which passes touched what a query matches: some passes at a time, so that the engine answers what else is asked in between. */
import { findIn, type Found, touches } from "../../core/search/passes";
import { compileQuery, type Query } from "../../core/search/query";
import type { TouchingPasses } from "./passProtocol";
import type { Passes } from "./passes";

/** A server may take this long for a single program, so there is no saying in advance how many passes are a part. */
const PART_MS = 100;

export class PassSearch {
  private readonly query: Query;
  /** By content: passes that change nothing are not searched again. */
  private readonly found = new Map<number, Found>();

  constructor(
    private readonly passes: Passes,
    readonly text: string,
  ) {
    this.query = compileQuery(text);
  }

  isOf(passes: Passes, text: string): boolean {
    return this.passes === passes && this.text === text;
  }

  /** Looks at the passes from one on. */
  async part(from: number): Promise<TouchingPasses> {
    const { passes, query } = this;
    if (query.problem !== undefined) return { passes: [], next: -1, problem: query.problem };
    const end = performance.now() + PART_MS;
    const touched: number[] = [];
    let first: number | undefined;
    let pass = from;
    do {
      const row = passes.rows[pass];
      const after = await this.after(pass);
      if (after.nodes.size) first ??= pass;
      if (row.before >= 0 && passes.rows[row.before].content !== row.content) {
        const diff = await passes.diff(pass);
        if (diff && touches(diff, await this.after(row.before), after)) touched.push(pass);
      }
      pass++;
    } while (pass < passes.rows.length && performance.now() < end);
    const next = pass < passes.rows.length ? pass : -1;
    return { passes: touched, ...(first === undefined ? {} : { first }), next, ...(next < 0 ? this.doubt() : {}) };
  }

  /** A word such as "opp:dot" may be part of a name. If nothing has it, the field was mistyped. */
  private doubt(): { readonly problem?: string } {
    const { doubt } = this.query;
    const isNowhere = doubt !== undefined && Array.from(this.found.values()).every(({ nodes }) => nodes.size === 0);
    return isNowhere ? { problem: doubt } : {};
  }

  /** What the query finds in the program after a pass. */
  private async after(pass: number): Promise<Found> {
    const { content } = this.passes.rows[pass];
    const before = this.found.get(content);
    if (before) return before;
    const { program, remote } = await this.passes.program(pass);
    if (this.query.terms.some(({ field }) => field === "attr" || field === "source")) await remote?.need(0, program.nodeCount);
    const found = findIn(program, this.query);
    this.found.set(content, found);
    return found;
  }
}
