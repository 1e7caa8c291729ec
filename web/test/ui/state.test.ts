import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { roundedPlace } from "../../src/core/base/camera";
import { ADDRESS_OPTIONS, type AddressOption } from "../../src/core/program/options";
import { VIEW_OPTIONS } from "../../src/core/program/viewOptions";
import { PANELS } from "../../src/ui/state/panels";
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
  walkedGraphs,
} from "../../src/ui/state/view";

const names = fc.array(fc.string({ unit: "grapheme" }), { maxLength: 4 });
/** Any value of a view option, by what the table says about it. */
function anyValue(name: AddressOption): fc.Arbitrary<unknown> {
  const row = VIEW_OPTIONS[name];
  const kinds: Record<Exclude<typeof row.kind, "choice">, fc.Arbitrary<unknown>> = {
    flag: fc.boolean(),
    switch: fc.boolean(),
    integer: fc.nat(5000),
    text: fc.string({ unit: "grapheme", minLength: 1 }),
    texts: names,
    pair: fc.tuple(fc.string(), fc.string()),
  };
  const values: fc.Arbitrary<unknown> = row.kind === "choice" ? fc.constantFrom<string>(...row.choices) : kinds[row.kind];
  return row.default === undefined ? fc.option(values, { nil: undefined }) : values;
}

const options = fc.record(Object.fromEntries(ADDRESS_OPTIONS.map((name) => [name, anyValue(name)])));
const coordinate = fc.double({ min: -1e6, max: 1e6, noNaN: true });
const page = fc.record({
  source: fc.nat(9),
  trail: names,
  open: names,
  closed: names,
  unfolded: names,
  columns: fc.nat(9),
  query: fc.string(),
  matchesOnly: fc.integer({ min: -1, max: 3 }),
  also: names,
  related: fc.boolean(),
  selection: names,
  upstream: fc.nat(ALL),
  pass: fc.nat(500),
  passColours: fc.boolean(),
  camera: fc.option(
    fc.record({ x: coordinate, y: coordinate, scale: fc.double({ min: 0.00002, max: 6, noNaN: true }) }).map(roundedPlace),
    { nil: undefined },
  ),
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
  panels: fc.option(fc.subarray([...PANELS]), { nil: undefined }),
  step: fc.integer({ min: -1, max: 999_999 }),
});
const states: fc.Arbitrary<ViewState> = fc
  .tuple(page, options)
  .map(([chosen, option]) => ({ ...chosen, ...(option as unknown as Pick<ViewState, AddressOption>) }));

/** Values that the fields of a page may have instead of their defaults. */
const OTHER: Record<Exclude<keyof ViewState, AddressOption>, unknown> = {
  source: 1,
  trail: ["body"],
  open: ["g:a"],
  closed: ["g:b"],
  unfolded: ["s:c"],
  columns: 3,
  query: "op:dot",
  matchesOnly: 1,
  also: ["d"],
  selection: ["n:e"],
  upstream: 1,
  downstream: 2,
  related: true,
  pass: 3,
  passColours: false,
  camera: { x: -12.5, y: 3000, scale: 0.6213 },
  panes: [{ source: 1, pass: 2, passMode: "before", linked: false }],
  panels: ["table"],
  step: 12,
};

/** A value that a view option does not have by default, and that means something else. */
function otherThan(name: AddressOption): unknown {
  const row = VIEW_OPTIONS[name];
  const kinds = { flag: true, switch: !row.default, integer: 7, text: "x", texts: ["a", "b"], pair: ["a", "b"], choice: "" };
  return row.kind === "choice" ? row.choices.find((choice) => choice !== (row.default ?? "after")) : kinds[row.kind];
}

describe("the state in the URL", () => {
  it("comes back as it went in, whatever the names are", () => {
    fc.assert(
      fc.property(states, (state) => {
        expect(fromHash(`#${toHash(state)}`)).toEqual(state);
      }),
    );
  });

  it("has a key for everything that is shown, without clashes", () => {
    const options = Object.fromEntries(ADDRESS_OPTIONS.map((name) => [name, otherThan(name)]));
    const everything = { ...options, ...OTHER } as unknown as ViewState;
    const parameters = [...new URLSearchParams(toHash(everything)).keys()];
    expect(parameters).toHaveLength(Object.keys(START).length);
    expect(new Set(parameters).size).toBe(parameters.length);
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

describe("equality of views", () => {
  it("sees every view option, whatever is added to the table", () => {
    for (const name of ADDRESS_OPTIONS) expect([name, sameView(START, { ...START, [name]: otherThan(name) })]).toEqual([name, false]);
  });

  it("compares what is asked for, not the lists that hold it", () => {
    expect(sameView({ ...START, open: ["g:a"] }, { ...START, open: ["g:a"] })).toBe(true);
    expect(sameView(START, { ...START, diff: "after" })).toBe(true);
  });
});

describe("what the controls do to the state", () => {
  it("begins with the nodes selected whose surroundings were asked for", () => {
    expect(startingAt({ around: ["a/b", "g:layer"], hops: 1 }).selection).toEqual(["n:a%2Fb", "g:layer"]);
    expect(startingAt({ around: ["a"], hops: 1, selection: ["n:b"] }).selection).toEqual(["n:b"]);
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
    expect(walkedGraphs(deep)).toEqual(["body", "fusion"]);
    expect(walkedGraphs(enterGraph(deep, "body"))).toEqual(["body"]);
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
    expect(specOf(START)).toEqual({ open: [], closed: [], unfolded: [] });
    const asked = specOf({ ...START, trail: ["a"], graph: "b", depth: 2, paths: ["x", "y"] });
    expect(asked).toEqual({ ...specOf(START), graph: "b", depth: 2, paths: ["x", "y"] });
  });
});
