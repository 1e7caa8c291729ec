import { describe, expect, it } from "vitest";
import { START, type ViewState } from "../../src/ui/state/view";
import { alike } from "../../src/ui/timeline/alike";

const view = (some: Partial<ViewState>): ViewState => ({ ...START, ...some });

describe("before and after next to each other", () => {
  it("open and close the same groups, and keep what only one of them has", () => {
    const other = view({ open: ["g:gone", "g:a"], closed: ["g:b"] });
    const next = alike(other, view({ open: ["g:a"], closed: ["g:b"] }), view({ open: ["g:b"], closed: ["g:a"] }));
    expect([next.open, next.closed]).toEqual([["g:gone", "g:b"], ["g:a"]]);
  });

  it("take display options from each other, but not what each says for itself", () => {
    const next = alike(view({ diff: "before" }), START, view({ fold: false, depth: 3, diff: "after", query: "dot", selection: ["n:dot"] }));
    expect(next).toEqual(view({ fold: false, depth: 3, diff: "before" }));
  });

  it("stay as they are if nothing changes, or another graph is shown", () => {
    const other = view({ open: ["g:a"] });
    expect(alike(other, START, view({ open: ["g:a"], selection: ["g:a"] }))).toBe(other);
    expect(alike(other, view({ open: ["g:a"] }), view({ graph: "body", open: [] }))).toBe(other);
  });
});
