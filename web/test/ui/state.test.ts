import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fromHash, toHash } from "../../src/ui/state/url";
import {
  ALL,
  collapseAll,
  enterGraph,
  expandAll,
  groupBy,
  sameView,
  select,
  specOf,
  START,
  startingAt,
  toggle,
  toggleNames,
  type ViewState,
} from "../../src/ui/state/view";

const names = fc.array(fc.string({ unit: "grapheme" }), { maxLength: 4 });
const states: fc.Arbitrary<ViewState> = fc.record({
  source: fc.nat(9),
  trail: names,
  grouping: fc.string(),
  depth: fc.option(fc.nat(9), { nil: undefined }),
  flatten: fc.boolean(),
  open: names,
  closed: names,
  fold: fc.boolean(),
  unfolded: names,
  direction: fc.constantFrom("TB", "LR"),
  colour: fc.string(),
  query: fc.string(),
  matchesOnly: fc.integer({ min: -1, max: 3 }),
  paths: fc.option(fc.tuple(fc.string(), fc.string()), { nil: undefined }),
  around: fc.option(fc.record({ nodes: fc.array(fc.string(), { minLength: 1, maxLength: 3 }), hops: fc.nat(5) }), { nil: undefined }),
  selection: names,
  upstream: fc.nat(ALL),
  pass: fc.nat(500),
  passMode: fc.constantFrom("before" as const, "after" as const, "overlay" as const),
  passColours: fc.boolean(),
  panes: fc.array(
    fc.record({
      source: fc.nat(9),
      pass: fc.nat(500),
      passMode: fc.constantFrom("before" as const, "after" as const),
      linked: fc.boolean(),
    }),
    { maxLength: 3 },
  ),
  downstream: fc.nat(ALL),
});

describe("the state in the URL", () => {
  it("comes back as it went in, whatever the names are", () => {
    fc.assert(
      fc.property(states, (state) => {
        expect(fromHash(`#${toHash(state)}`)).toEqual(state);
      }),
    );
  });

  it("is empty for the first look, so that a shared file has a short address", () => {
    expect(toHash(START)).toBe("");
    expect(fromHash('#panes=[[0,3,"after"],[1,0,"sideways"],7,[0,0,"before","linked"]]').panes).toEqual([
      { source: 0, pass: 3, passMode: "after", linked: false },
      { source: 0, pass: 0, passMode: "before", linked: true },
    ]);
  });

  it("takes any text without an error", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(Object.keys(fromHash(text)).sort()).toEqual(Object.keys(START).sort());
      }),
    );
    expect(fromHash("#o={broken&sel=7&dir=XX&d=1e9")).toEqual(START);
  });
});

describe("what the controls do to the state", () => {
  it("begins with the nodes selected whose surroundings were asked for", () => {
    expect(startingAt({ around: { nodes: ["a/b", "g:layer"], hops: 1 } }).selection).toEqual(["n:a%2Fb", "g:layer"]);
    expect(startingAt({ around: { nodes: ["a"], hops: 1 }, selection: ["n:b"] }).selection).toEqual(["n:b"]);
    expect(startingAt()).toEqual(START);
  });

  it("Names asks for another picture, and is in the address", () => {
    const named = toggleNames(START);
    expect([specOf(named).names, specOf(toggleNames(named)).names, sameView(START, named)]).toEqual([true, undefined, false]);
    expect(fromHash(`#${toHash(named)}`).names).toBe(true);
  });

  it("opening and closing a group undo each other", () => {
    const opened = toggle(START, "g:a", false);
    expect(opened.open).toEqual(["g:a"]);
    const closed = toggle(opened, "g:a", true);
    expect([closed.open, closed.closed]).toEqual([[], ["g:a"]]);
    expect(toggle(closed, "g:a", false).closed).toEqual([]);
  });

  it("Expand all and Collapse all forget single choices, and another grouping forgets the old one's", () => {
    const opened = toggle(START, "g:a", false);
    expect(expandAll(opened).open).toEqual([]);
    expect(collapseAll(opened)).toMatchObject({ open: [], depth: 0 });
    expect(groupBy(opened, "source").open).toEqual([]);
  });

  it("walks into graphs and back without losing the way", () => {
    const deep = enterGraph(enterGraph(START, "body"), "fusion");
    expect(deep.trail).toEqual(["body", "fusion"]);
    expect(enterGraph(deep, "body").trail).toEqual(["body"]);
  });

  it("selects one, adds a second, takes it away again", () => {
    const one = select(START, "n:a", false);
    const two = select(one, "n:b", true);
    expect(two.selection).toEqual(["n:a", "n:b"]);
    expect(select(two, "n:a", true).selection).toEqual(["n:b"]);
    expect(select(two, undefined, false).selection).toEqual([]);
    expect(sameView(one, two)).toBe(true);
  });

  it("asks the engine for the last graph of the trail, and for nothing that was not chosen", () => {
    expect(specOf(START)).toEqual({ flatten: false, open: [], closed: [], unfolded: [], rules: { foldRepeats: true } });
    expect(specOf({ ...START, trail: ["a", "b"], depth: 2, paths: ["x", "y"] })).toMatchObject({
      graph: "b",
      depth: 2,
      paths: { from: "x", to: "y" },
    });
  });
});
