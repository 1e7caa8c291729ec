/** Forward and backward of a real train step. */
import { beforeAll, describe, expect, it } from "vitest";
import { Engine } from "../../src/ui/engine/engine";
import type { Answer, Method, Params } from "../../src/ui/engine/protocol";
import { wireOf } from "../support/python";

const engine = new Engine();
const ask = <M extends Method>(method: M, params: Params<M>): Promise<Answer<M>> => engine.answer(method, params, () => undefined, []);

beforeAll(() => ask("load", { at: { kind: "bytes", bytes: wireOf("src/opscope/examples/train_step.hlo").buffer } }));

describe("what is saved for backward", () => {
  it("is sorted by size and adds up", async () => {
    const { values, count, bytes } = await ask("saved", {});
    const sizes = values.map((value) => value.bytes);
    expect(count).toBeGreaterThan(50);
    expect(sizes).toEqual([...sizes].sort((a, b) => b - a));
    expect(bytes).toBeGreaterThanOrEqual(sizes.reduce((sum, size) => sum + size, 0));
  });

  it("is forward values with backward users", async () => {
    const isBackward = async (node: number) => (await ask("node", { node })).links.some(({ kind }) => kind === "backward_of");
    for (const { node } of (await ask("saved", {})).values) {
      const { users } = await ask("node", { node });
      const backward = await Promise.all(users.map((user) => isBackward(user.node)));
      expect(await isBackward(node)).toBe(false);
      expect(backward).toContain(true);
    }
  });
});
