import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Cancelled, type Carrier, EngineClient } from "../../src/ui/engine/client";
import type { Params, Reply, Request } from "../../src/ui/engine/protocol";
import { Idle } from "../../src/ui/state/idle";
import { patiently } from "../../src/ui/state/patience";

const VIEW = { spec: {}, direction: "TB", colour: "category", locate: [] } as unknown as Params<"view">;

/** An engine that answers when the test says so. */
class Fake implements Carrier {
  onmessage: Carrier["onmessage"] = null;
  onerror: Carrier["onerror"] = null;
  readonly asked: Request[] = [];
  ended = false;
  postMessage(message: unknown): void {
    this.asked.push(message as Request);
  }
  terminate(): void {
    this.ended = true;
  }
  say(reply: Reply): void {
    this.onmessage?.({ data: reply } as MessageEvent<Reply>);
  }
}

describe("the engine's client", () => {
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  function start() {
    const engines: Fake[] = [];
    const client = new EngineClient(() => {
      engines.push(new Fake());
      return engines[engines.length - 1];
    });
    return { client, engines };
  }

  it("brings each answer to its question, and problems as errors", async () => {
    const { client, engines } = start();
    const one = client.ask("find", { graph: "", id: "a" }),
      two = client.ask("find", { graph: "", id: "b" });
    engines[0].say({ id: engines[0].asked[1].id, problem: "no such node" });
    engines[0].say({ id: engines[0].asked[0].id, answer: 7 });
    expect(await one).toBe(7);
    await expect(two).rejects.toThrow("no such node");
  });

  it("drops a view that a newer one replaces, without a new engine if the old view ends soon", async () => {
    const { client, engines } = start();
    const old = client.show(VIEW);
    const dropped = expect(old).rejects.toBeInstanceOf(Cancelled);
    const now = client.show(VIEW);
    await dropped;
    engines[0].say({ id: 2, progress: 0, stage: "view" });
    await vi.advanceTimersByTimeAsync(1000);
    expect(engines).toHaveLength(1);
    engines[0].say({ id: 2, answer: "picture" });
    expect(await now).toBe("picture");
  });

  it("stops an engine that stays with the old view, and asks a fresh one", async () => {
    const { client, engines } = start();
    void client.load({ kind: "bytes", bytes: new ArrayBuffer(0) }).catch(() => undefined);
    client.show(VIEW).catch(() => undefined);
    const now = client.show(VIEW);
    await vi.advanceTimersByTimeAsync(1000);
    expect(engines[0].ended).toBe(true);
    expect(engines[1].asked.map((request) => request.method)).toEqual(["load", "view"]);
    engines[1].say({ id: engines[1].asked[1].id, answer: "picture" });
    expect(await now).toBe("picture");
  });

  it("ends everything that waits when it is stopped or the engine cannot start", async () => {
    const { client, engines } = start();
    const one = client.ask("find", { graph: "", id: "a" });
    client.stop();
    await expect(one).rejects.toBeInstanceOf(Cancelled);
    const two = client.ask("find", { graph: "", id: "a" });
    engines[1].onerror?.({ message: "blocked" } as ErrorEvent);
    await expect(two).rejects.toThrow("blocked");
  });
});

describe("waiting", () => {
  it("says nothing about a short wait, and how far a long one is", async () => {
    vi.useFakeTimers();
    const shown: unknown[] = [];
    await patiently(
      () => Promise.resolve(1),
      (progress) => shown.push(progress),
    );
    expect(shown).toEqual([undefined]);
    const long = patiently(
      (tell) =>
        new Promise((done) => {
          setTimeout(() => tell(0.5, "Laying out"), 400);
          setTimeout(done, 500);
        }),
      (progress) => shown.push(progress),
    );
    await vi.advanceTimersByTimeAsync(600);
    await long;
    expect(shown.slice(1)).toEqual([{ part: 0, stage: "" }, { part: 0.5, stage: "Laying out" }, undefined]);
    vi.useRealTimers();
  });

  it("is idle only when what was started by the last task is over too", async () => {
    const idle = new Idle();
    const log: string[] = [];
    void idle.during(new Promise((done) => setTimeout(done, 5))).then(() =>
      idle.during(
        new Promise((done) =>
          setTimeout(() => {
            log.push("second");
            done(undefined);
          }, 30),
        ),
      ),
    );
    await idle.whenIdle();
    expect(log).toEqual(["second"]);
  });
});
