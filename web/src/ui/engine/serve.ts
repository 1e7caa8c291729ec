/** The engine's end: questions in, answers out. Runs in a worker, or on the page where workers are forbidden. */
import { Engine } from "./engine";
import type { Carrier } from "./client";
import type { Method, Reply, Request } from "./protocol";

interface Port {
  postMessage(message: unknown, transfer: Transferable[]): void;
}

/** Answers to one request. Progress is reported a few times a second, and once at the start to say that work has begun. */
async function answer<M extends Method>(engine: Engine, request: Request<M>, port: Port): Promise<void> {
  const { id } = request;
  let last = performance.now();
  const progress = (part: number, stage: string) => {
    const now = performance.now();
    if (part > 0 && now - last < 60) return;
    last = now;
    port.postMessage({ id, progress: part, stage } satisfies Reply, []);
  };
  try {
    progress(0, "");
    const transfer: Transferable[] = [];
    const result = await engine.answer(request.method, request.params, progress, transfer);
    port.postMessage({ id, answer: result } satisfies Reply, transfer);
  } catch (error) {
    port.postMessage({ id, problem: error instanceof Error ? error.message : String(error) } satisfies Reply, []);
  }
}

/** Answers one question at a time; those that arrive in the meantime wait. */
export function serveWorker(scope: DedicatedWorkerGlobalScope): void {
  const engine = new Engine();
  let chain = Promise.resolve();
  scope.onmessage = (event: MessageEvent<Request>) => {
    chain = chain.then(() => answer(engine, event.data, scope));
  };
}

/** An engine on the page's own thread: less responsive, but it works where a sandbox forbids workers. */
export function localCarrier(): Carrier {
  const engine = new Engine();
  let chain = Promise.resolve();
  const carrier: Carrier = {
    onmessage: null,
    onerror: null,
    terminate: () => undefined,
    postMessage: (message) => {
      const port: Port = {
        postMessage: (data) => carrier.onmessage?.(new MessageEvent("message", { data: data as Reply })),
      };
      chain = chain.then(() => new Promise((resolve) => setTimeout(resolve))).then(() => answer(engine, message as Request, port));
    },
  };
  return carrier;
}
