/**
 * The page's end of the engine: questions as promises over a worker. An outdated view is not waited for: if the engine is still
 * laying it out when the next is asked for, it is stopped and a new one takes over.
 */
import type { Answer, DataFile, Method, Params, Reply, Request, WireAt } from "./protocol";

/** What an engine needs of its carrier: a Worker has it, and so does the substitute for places that forbid workers. */
export interface Carrier {
  postMessage(message: unknown): void;
  terminate(): void;
  onmessage: ((event: MessageEvent<Reply>) => void) | null;
  onerror: ((event: ErrorEvent) => void) | null;
}

export type StartEngine = () => Carrier;

export class Cancelled extends Error {
  constructor() {
    super("cancelled");
    this.name = "Cancelled";
  }
}

interface Waiting {
  readonly method: Method;
  readonly resolve: (answer: never) => void;
  readonly reject: (problem: Error) => void;
  readonly progress: ((part: number, stage: string) => void) | undefined;
}

/** How long a view may continue after a newer one was asked for, before its engine is stopped; starting over costs about as much. */
const PATIENCE_MS = 250;

export class EngineClient {
  /** Files that a new engine must be given again. */
  data: readonly DataFile[] = [];
  private carrier: Carrier;
  private loaded: WireAt | undefined;
  private prefetched: { readonly at: WireAt; readonly id: number; readonly answer: Promise<Answer<"load">> } | undefined;
  private waiting = new Map<number, Waiting>();
  private next = 1;
  private view: { id: number; since: number } | undefined;

  constructor(private readonly start: StartEngine) {
    this.carrier = this.begin();
  }

  get busy(): boolean {
    return this.waiting.size > 0;
  }

  /** Begins to load what the page will ask for first, while the page is still being built. */
  prefetch(at: WireAt): void {
    this.loaded = at;
    const id = this.next;
    const answer = this.ask("load", { at });
    answer.catch(() => undefined);
    this.prefetched = { at, id, answer };
  }

  load(at: WireAt, progress?: (part: number, stage: string) => void): Promise<Answer<"load">> {
    const { prefetched } = this;
    this.prefetched = undefined;
    if (prefetched?.at === at) {
      const request = this.waiting.get(prefetched.id);
      if (request) this.waiting.set(prefetched.id, { ...request, progress });
      return prefetched.answer;
    }
    this.loaded = at;
    return this.ask("load", { at }, progress);
  }

  /** Latest wins: an unfinished view before this one ends with Cancelled. */
  async show(params: Params<"view">, progress?: (part: number, stage: string) => void): Promise<Answer<"view">> {
    const before = this.view;
    const id = this.next;
    const answer = this.ask("view", params, progress);
    this.view = { id, since: performance.now() };
    if (before && this.waiting.has(before.id)) {
      this.drop(before.id);
      setTimeout(() => this.restartFor(id, params, progress), PATIENCE_MS);
    }
    try {
      return await answer;
    } finally {
      if (this.view?.id === id) this.view = undefined;
    }
  }

  ask<M extends Method>(method: M, params: Params<M>, progress?: (part: number, stage: string) => void): Promise<Answer<M>> {
    const id = this.next++;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { method, resolve, reject, progress });
      this.carrier.postMessage({ id, method, params } satisfies Request);
    });
  }

  /** Stop whatever is running; everything that waits ends with Cancelled. */
  stop(): void {
    this.carrier.terminate();
    for (const id of [...this.waiting.keys()]) this.drop(id);
    this.carrier = this.begin();
    if (this.loaded) this.ask("load", { at: this.loaded }).catch(() => undefined);
    for (const file of this.data) this.ask("nodeData", file).catch(() => undefined);
  }

  dispose(): void {
    this.carrier.terminate();
    for (const id of [...this.waiting.keys()]) this.drop(id);
  }

  private drop(id: number): void {
    const waiting = this.waiting.get(id);
    this.waiting.delete(id);
    waiting?.reject(new Cancelled());
  }

  /** The engine is still busy with an old view: stop it and ask this one again. */
  private restartFor(id: number, params: Params<"view">, progress: ((part: number, stage: string) => void) | undefined): void {
    const request = this.waiting.get(id);
    if (!request || this.started.has(id)) return;
    this.waiting.delete(id);
    this.stop();
    const again = this.next++;
    this.waiting.set(again, { ...request, progress });
    this.view = { id: again, since: performance.now() };
    this.carrier.postMessage({ id: again, method: "view", params } satisfies Request);
  }

  /** Questions that the engine has begun to answer (it reports progress 0 when it does). */
  private readonly started = new Set<number>();

  private begin(): Carrier {
    const carrier = this.start();
    carrier.onmessage = (event) => this.receive(event.data);
    carrier.onerror = (event) => {
      for (const [id, waiting] of [...this.waiting]) {
        this.waiting.delete(id);
        waiting.reject(new Error(event.message || "the engine could not be started"));
      }
    };
    return carrier;
  }

  private receive(reply: Reply): void {
    const waiting = this.waiting.get(reply.id);
    if ("progress" in reply) {
      this.started.add(reply.id);
      waiting?.progress?.(reply.progress, reply.stage);
      return;
    }
    this.started.delete(reply.id);
    if (!waiting) return;
    this.waiting.delete(reply.id);
    if ("problem" in reply) waiting.reject(new Error(reply.problem));
    else waiting.resolve(reply.answer as never);
  }
}
