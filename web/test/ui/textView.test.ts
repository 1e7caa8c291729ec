/** A search in the text goes on part by part, and the next one ends it. */
import { describe, expect, it } from "vitest";
import { TextView } from "../../src/ui/dock/textView";
import { ShownText } from "../../src/ui/engine/text";
import type { FoundRows } from "../../src/ui/engine/textProtocol";
import type { Session } from "../../src/ui/session";
import { makeProgram } from "../view/program";

interface Question {
  readonly method: string;
  readonly params: { readonly text?: string; readonly from?: number; readonly row?: number };
  readonly answer: (answer: unknown) => void;
}

/** A view whose questions are answered by the test. */
function asked(): { text: TextView; questions: Question[]; settled: () => Promise<void> } {
  const questions: Question[] = [];
  const ask = (method: string, params: Question["params"]) =>
    new Promise((answer) => {
      questions.push({ method, params, answer });
    });
  return {
    text: new TextView({ ask } as unknown as Session),
    questions,
    settled: () => new Promise((resolve) => setTimeout(resolve)),
  };
}

const part = (rows: number[], next: number): FoundRows => ({ rows: Int32Array.from(rows), next });

describe("a search in the text", () => {
  it("looks at some rows at a time", async () => {
    const nodes = Array.from({ length: 20_010 }, (_, i) => ({ id: `n${i}`, op: "negate" }));
    const shown = new ShownText({ program: makeProgram([{ name: "main", nodes }], "main"), remote: undefined });
    const { rows, next } = await shown.find("N20009:", 0);
    expect([[...rows], next]).toEqual([[], 20_000]);
    expect(await shown.find("N20009:", next)).toEqual(part([20_009], -1));
  });

  it("counts what it has found so far", async () => {
    const { text, questions, settled } = asked();
    const end = text.find("add");
    expect([text.isSearching, text.hits?.length]).toEqual([true, 0]);
    questions[0].answer(part([3, 4], 100));
    await settled();
    expect([text.isSearching, text.hits]).toEqual([true, [3, 4]]);
    expect(questions[1].params).toEqual({ text: "add", from: 100 });
    questions[1].answer(part([150], -1));
    await end;
    expect([text.isSearching, text.hits]).toEqual([false, [3, 4, 150]]);
  });

  it("ends with the next letter that is typed", async () => {
    const { text, questions, settled } = asked();
    void text.find("a");
    void text.find("ad");
    questions[0].answer(part([1, 2, 3], 100));
    await settled();
    expect(questions.map(({ params }) => params)).toEqual([
      { text: "a", from: 0 },
      { text: "ad", from: 0 },
    ]);
    expect(text.hits).toEqual([]);
    void text.find("");
    questions[1].answer(part([2], 100));
    await settled();
    expect([questions.length, text.hits, text.isSearching]).toEqual([2, undefined, false]);
  });

  it("is waited for where the next hit may be in rows that were not looked at", async () => {
    const { text, questions, settled } = asked();
    void text.find("add");
    void text.step(1);
    questions[0].answer(part([], 100));
    await settled();
    expect([questions.length, text.hit]).toEqual([2, -1]);
    questions[1].answer(part([120], 200));
    await settled();
    expect(text.hit).toBe(0);
    expect(questions.at(-1)).toMatchObject({ method: "textRow", params: { row: 120 } });
    void text.step(1);
    await settled();
    expect(text.hit, "there may be another").toBe(0);
    questions[2].answer(part([210], -1));
    await settled();
    expect(text.hit).toBe(1);
    void text.step(1);
    expect(text.hit, "all are known: the first again").toBe(0);
  });
});
