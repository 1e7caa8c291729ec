/** Forward and backward of a real train step. */
import { beforeAll, describe, expect, it } from "vitest";
import { Engine } from "../../src/ui/engine/engine";
import type { Answer, Method, Params } from "../../src/ui/engine/protocol";
import { wireOf } from "../support/python";

const engine = new Engine();
const ask = <M extends Method>(method: M, params: Params<M>): Promise<Answer<M>> => engine.answer(method, params, () => undefined, []);

beforeAll(() => ask("load", { at: { kind: "bytes", bytes: wireOf("src/opscope/examples/train_step.hlo").buffer } }));

describe("what is saved for backward", () => {
  it("is sorted by size within each layer, is listed whole and adds up", async () => {
    const { layers, count, bytes } = await ask("saved", {});
    expect(count).toBeGreaterThan(50);
    expect(layers.flatMap(({ values }) => values)).toHaveLength(count);
    expect(layers.reduce((sum, layer) => sum + layer.bytes, 0)).toBe(bytes);
    for (const { values, bytes: inLayer } of layers) {
      const sizes = values.map((value) => value.bytes);
      expect(sizes).toEqual([...sizes].sort((a, b) => b - a));
      expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(inLayer);
    }
  });

  it("is forward values with backward users", async () => {
    const facts = (node: number) => ask("node", { node });
    const { layers } = await ask("saved", {});
    for (const { node } of layers.flatMap(({ values }) => values.slice(0, 10))) {
      const { scope, role, users } = await facts(node);
      expect([scope.includes("forward"), scope.includes("backward"), role]).toEqual([true, false, "op"]);
      const readers = await Promise.all(users.map((user) => facts(user.node)));
      const forwarded = readers.filter(({ op }) => op === "get-tuple-element" || op === "tuple").flatMap((reader) => reader.users);
      const every = [...readers, ...(await Promise.all(forwarded.map((user) => facts(user.node))))];
      expect(every.some((reader) => reader.scope.includes("backward"))).toBe(true);
    }
  });
});
