import { describe, expect, it } from "vitest";
import type { PassRow } from "../../src/core/program/recording/types";
import { cardsOf, nextChange } from "../../src/ui/timeline/cards";
import { PassFilter } from "../../src/ui/timeline/passFilter";

const row = (name: string, changed: number, more: Partial<PassRow> = {}): PassRow => ({
  number: 0,
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
const all = { takes: () => true, unfolded: new Set<number>(), chosen: 0 };
/** The passes that a person asks for; 1 and 4 changed a dot. */
const filter = async (text: string): Promise<PassFilter> => {
  const chosen = new PassFilter({
    changed: () => undefined,
    say: () => undefined,
    ask: (() => Promise.resolve({ passes: [1, 4], next: -1 })) as unknown as ConstructorParameters<typeof PassFilter>[0]["ask"],
  });
  await chosen.setText(text);
  return chosen;
};
const taking = (chosen: PassFilter, of = rows, history?: ReadonlySet<number>) => ({
  takes: (pass: number) => chosen.takes(pass, of[pass], history),
});
const shape = (options = {}) =>
  cardsOf(rows, { ...all, ...options }).cards.map((card) => (card.kind === "pass" ? rows[card.pass].name : card.count));

describe("the cards of a timeline", () => {
  it("are one for each change, and one for every run of passes without any", () => {
    expect(shape()).toEqual(["start", "a", 2, "d", 1]);
  });

  it("are wider where passes have seconds, in this module only", () => {
    const width = (seconds: number | null, module: string) =>
      cardsOf([rows[0], row("a", 1), row("b", 1, { seconds, module })], all).cards[0].width;
    expect(width(0.1, "")).toBeGreaterThan(width(null, ""));
    expect(width(0.1, "other")).toBe(width(null, ""));
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

  it("go by the names of passes and pipelines, by what changed a node, by changed nodes, and by a range", async () => {
    expect(shape(taking(await filter("INNER")))).toEqual([1, "d"]);
    const selected = await filter("");
    expect(shape(taking(selected, rows, new Set([4])))).toEqual(["start", "a", 2, "d", 1]);
    selected.onlyHistory = true;
    expect(shape(taking(selected, rows, new Set([4])))).toEqual(["d"]);
    expect(shape(taking(await filter("op:dot")))).toEqual(["a", "d"]);
    expect(shape(taking(await filter("op:dot inner")))).toEqual(["d"]);
    const brushed = await filter("");
    brushed.range = { first: 1, last: 2 };
    expect(shape(taking(brushed))).toEqual(["a", 1]);
    expect(nextChange(rows, 0, 1, taking(brushed).takes)).toBe(1);
    expect(nextChange(rows, 1, 1, taking(brushed).takes)).toBeUndefined();
  });

  it("are those of the chosen pass's module, which is also where the next change is looked for", async () => {
    const two = [...rows, row("other", 0, { before: -1, module: "second" }), row("a", 1, { before: 6, module: "second" })];
    const named = taking(await filter("a"), two);
    const passes = (chosen: number) =>
      cardsOf(two, { ...all, chosen, ...named }).cards.map((card) => (card.kind === "pass" ? card.pass : -1));
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
