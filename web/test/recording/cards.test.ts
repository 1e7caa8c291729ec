import { describe, expect, it } from "vitest";
import type { PassRow } from "../../src/core/program/recording/types";
import { cardsOf, nextChange } from "../../src/ui/timeline/cards";

const row = (name: string, changed: number, more: Partial<PassRow> = {}): PassRow => ({
  name,
  pipeline: [],
  module: "",
  seconds: null,
  nodes: 5,
  content: 0,
  before: 0,
  added: 0,
  removed: 0,
  changed,
  ...more,
});
const rows = [
  row("start", 0, { before: -1 }),
  row("a", 1, { pipeline: ["outer"] }),
  row("b", 0, { pipeline: ["outer"] }),
  row("c", 0, { pipeline: ["outer", "inner"] }),
  row("d", 2, { pipeline: ["outer", "inner"] }),
  row("e", 0),
];
const all = { filter: "", unfolded: new Set<number>(), chosen: 0 };
const shape = (options = {}) =>
  cardsOf(rows, { ...all, ...options }).cards.map((card) => (card.kind === "pass" ? rows[card.pass].name : card.count));

describe("the cards of a timeline", () => {
  it("are one for each change, and one for every run of passes without any", () => {
    expect(shape()).toEqual(["start", "a", 2, "d", 1]);
  });

  it("count a pass that only reorders as a change", () => {
    const reordered = [rows[0], row("schedule", 0, { aside: "reordered" }), row("after", 0, { aside: "" })];
    expect(cardsOf(reordered, all).cards.map((card) => (card.kind === "pass" ? reordered[card.pass].name : card.count))).toEqual([
      "start",
      "schedule",
      1,
    ]);
    expect(nextChange(reordered, 0, 1)).toBe(1);
  });

  it("show a fold that was opened, and the chosen pass wherever it is", () => {
    expect(shape({ unfolded: new Set([2]) })).toEqual(["start", "a", "b", "c", "d", 1]);
    expect(shape({ chosen: 3 })).toEqual(["start", "a", 1, "c", "d", 1]);
  });

  it("go by the names of passes and pipelines, and by what changed a node", () => {
    expect(shape({ filter: "INNER" })).toEqual([1, "d"]);
    expect(shape({ only: new Set([4]) })).toEqual(["d"]);
  });

  it("are those of the chosen pass's module, which is also where the next change is looked for", () => {
    const two = [...rows, row("other", 0, { before: -1, module: "second" }), row("a", 1, { before: 6, module: "second" })];
    const passes = (chosen: number) =>
      cardsOf(two, { ...all, chosen, filter: "a" }).cards.map((card) => (card.kind === "pass" ? card.pass : -1));
    expect(passes(0)).toEqual([0, 1]);
    expect(passes(6)).toEqual([7]);
    expect(nextChange(two, 4, 1)).toBeUndefined();
    expect(nextChange(two, 6, 1)).toBe(7);
  });

  it("are side by side under their pipelines", () => {
    const { cards, bands, width } = cardsOf(rows, all);
    for (let i = 1; i < cards.length; i++) expect(cards[i].x).toBeGreaterThan(cards[i - 1].x + cards[i - 1].width);
    expect(width).toBe(cards[cards.length - 1].x + cards[cards.length - 1].width);
    expect(bands.map(({ name, level }) => [name, level])).toEqual([
      ["outer", 0],
      ["inner", 1],
    ]);
    expect(bands[0].x).toBe(cards[1].x);
    expect(bands[1]).toMatchObject({ x: cards[3].x, width: cards[3].width });
  });

  it("lead to the next change, over what is not compared yet by the programs alone", () => {
    expect(nextChange(rows, 1, 1)).toBe(4);
    expect(nextChange(rows, 4, 1)).toBeUndefined();
    expect(nextChange(rows, 1, -1)).toBe(0);
    const unknown = [
      rows[0],
      { ...row("x", 0), added: undefined },
      { ...row("y", 0, { content: 7, before: 1 }), added: undefined },
    ] as PassRow[];
    expect(nextChange(unknown, 0, 1)).toBe(2);
  });
});
