/** What-if questions of the memory panel: what would the peak be if values were recomputed, offloaded or smaller? A server answers. */
import { Cancelled } from "../engine/client";
import type { WhatIfSummary } from "../engine/memoryProtocol";
import type { WireAt } from "../engine/protocol";
import type { Session } from "../session";

export class WhatIf {
  answer: WhatIfSummary | undefined;
  /** What went wrong, or that nothing can be suggested. */
  problem: string | undefined;
  busy = false;
  /** By the name of a node, what is done to its values; by that of one of its results (`while.3{5}`), to that one only. */
  private readonly actions = new Map<string, string>();
  /** The actions of the last answer: what the server refuses is not kept. */
  private accepted: ReadonlyMap<string, string> = new Map();
  private checkpointed: ReadonlySet<number> = new Set();
  private latest = 0;
  private answered: WireAt | undefined;

  /** `place` is where the memory is, `answerTo` asks the engine, and `changed` is called when the answer is another one. */
  constructor(
    private readonly session: Session,
    private readonly place: () => WireAt | undefined,
    private readonly answerTo: (at: WireAt | undefined) => Promise<WhatIfSummary | undefined>,
    private readonly changed: () => void,
  ) {}

  /** A page without a server cannot ask. */
  get isPossible(): boolean {
    return this.place()?.kind === "url";
  }

  /** What is done to results of nodes; empty: nothing; undefined: not the same to all of them. */
  actionOn(ids: readonly string[]): string | undefined {
    const [first, ...others] = new Set(ids.map((id) => this.actions.get(id) ?? this.actions.get(nodeOf(id)) ?? ""));
    return others.length > 0 ? undefined : first;
  }

  /** Whether buffers are recomputed because a function or module is; undefined: some of them. */
  isCheckpointed(numbers: readonly number[]): boolean | undefined {
    const found = numbers.filter((number) => this.checkpointed.has(number)).length;
    return found === 0 ? false : found === numbers.length || undefined;
  }

  set(ids: readonly string[], action: string): Promise<void> {
    for (const id of ids) {
      if (action) this.actions.set(id, action);
      else for (const each of [id, nodeOf(id)]) this.actions.delete(each);
    }
    return this.ask(false);
  }

  /** Adds the values that the greedy search recomputes. */
  suggest(): Promise<void> {
    return this.ask(true);
  }

  clear(): Promise<void> {
    this.actions.clear();
    return this.ask(false);
  }

  /** Another program is shown. */
  forget(): void {
    this.latest++;
    this.actions.clear();
    this.answer = this.problem = this.answered = undefined;
    this.accepted = new Map();
    this.checkpointed = new Set();
    this.busy = false;
  }

  /** Asks again what was answered last: an engine that was started again does not know it. */
  async restore(): Promise<void> {
    if (this.answered) await this.session.ask("memoryWhatIf", { at: this.answered });
  }

  private async ask(suggest: boolean): Promise<void> {
    const { session } = this;
    const number = ++this.latest;
    const changes = [...this.actions].map(([id, action]) => `${action}=${id}`);
    const place = this.place();
    const question = encodeURIComponent(JSON.stringify({ changes, suggest }));
    const at = place?.kind === "url" && (changes.length > 0 || suggest) ? { ...place, url: `${place.url}?what-if=${question}` } : undefined;
    this.busy = true;
    this.problem = undefined;
    this.changed();
    try {
      const answer = await session.idle.during(this.answerTo(at));
      if (number !== this.latest) return;
      this.answer = answer;
      this.answered = at;
      if (suggest && answer?.changes.length === changes.length)
        this.problem = "Nothing to suggest: no value that is saved for backward lowers the peak";
      for (const change of answer?.changes ?? []) {
        const sign = change.indexOf("=");
        this.actions.set(change.slice(sign + 1), change.slice(0, sign));
      }
      if (answer?.changes.length === 0) this.answer = undefined;
      this.accepted = new Map(this.actions);
      this.checkpointed = new Set(this.answer?.checkpointed);
    } catch (error) {
      if (number === this.latest && !(error instanceof Cancelled)) {
        this.problem = (error as Error).message;
        this.actions.clear();
        for (const [id, action] of this.accepted) this.actions.set(id, action);
      }
    }
    if (number !== this.latest) return;
    this.busy = false;
    this.changed();
  }
}

/** The node that makes a result: `while.3` for `while.3{5}`. */
function nodeOf(id: string): string {
  return id.replace(/\{[^{]*$/, "");
}
