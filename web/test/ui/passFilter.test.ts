/** A search in all passes goes on part by part, the next one ends it, and it survives a new picture. */
import { describe, expect, it } from "vitest";
import { Cancelled } from "../../src/ui/engine/client";
import type { TouchingPasses } from "../../src/ui/engine/passProtocol";
import type { PassRow } from "../../src/core/program/recording/types";
import { PassFilter } from "../../src/ui/timeline/passFilter";

interface Question {
  readonly params: { readonly query: string; readonly from: number };
  readonly answer: (answer: TouchingPasses) => void;
  readonly fail: (problem: Error) => void;
}

/** A filter whose questions are answered by the test. */
function asked(): { filter: PassFilter; questions: Question[]; said: string[]; settled: () => Promise<void>; listed: () => number[] } {
  const questions: Question[] = [];
  const said: string[] = [];
  const ask = (_: string, params: Question["params"]) =>
    new Promise<TouchingPasses>((answer, fail) => {
      questions.push({ params, answer, fail });
    });
  const session = { ask, changed: () => undefined, say: (text: string) => said.push(text) };
  const filter = new PassFilter(session as unknown as ConstructorParameters<typeof PassFilter>[0]);
  const row = { name: "pass", pipeline: [] } as unknown as PassRow;
  return {
    filter,
    questions,
    said,
    settled: () => new Promise((resolve) => setTimeout(resolve)),
    listed: () => [0, 1, 2, 3, 4].filter((pass) => filter.takes(pass, row, undefined)),
  };
}

describe("a search in all passes", () => {
  it("lists what it has found so far, and says how far it is", async () => {
    const { filter, questions, settled, listed } = asked();
    const end = filter.setText("op:dot");
    expect([filter.lookedAt, listed()]).toEqual([0, []]);
    questions[0].answer({ passes: [1], first: 0, next: 3 });
    await settled();
    expect([filter.lookedAt, filter.first, listed()]).toEqual([3, 0, [1]]);
    expect(questions[1].params).toEqual({ query: "op:dot", from: 3 });
    questions[1].answer({ passes: [4], first: 3, next: -1 });
    await end;
    expect([filter.lookedAt, filter.first, listed()]).toEqual([undefined, 0, [1, 4]]);
  });

  it("ends with the next letter that is typed", async () => {
    const { filter, questions, settled, listed } = asked();
    void filter.setText("op:d");
    void filter.setText("op:do");
    questions[0].answer({ passes: [1, 2], next: 3 });
    await settled();
    expect(questions.map(({ params }) => params)).toEqual([
      { query: "op:d", from: 0 },
      { query: "op:do", from: 0 },
    ]);
    expect(listed()).toEqual([]);
  });

  it("asks again for the part in which a new picture stopped the engine", async () => {
    const { filter, questions, said, settled, listed } = asked();
    void filter.setText("op:dot");
    questions[0].answer({ passes: [1], next: 2 });
    await settled();
    questions[1].fail(new Cancelled());
    await settled();
    expect(questions[2].params).toEqual({ query: "op:dot", from: 2 });
    questions[2].answer({ passes: [2], next: -1 });
    await settled();
    expect([filter.lookedAt, said, listed()]).toEqual([undefined, [], [1, 2]]);
  });

  it("ends with what went wrong", async () => {
    const { filter, questions, said, settled } = asked();
    const end = filter.setText("op:dot");
    questions[0].fail(new Error("the server no longer answers"));
    await end;
    await settled();
    expect([filter.lookedAt, said, questions.length]).toEqual([undefined, ["the server no longer answers"], 1]);
  });
});
