/** Lone frames in lone frames become one with all their names; nothing else changes. */
import { describe, expect, it } from "vitest";
import { mergeLoneFrames } from "../../src/core/scene";
import { BoxKind } from "../../src/core/program/types";
import { visibleOf } from "./fixtures";

const frame = (id: string, parent?: string) => ({ id, parent, kind: BoxKind.Group, open: true, subtitle: `${id} ops` });

describe("lone frames", () => {
  it("say their names together, from the outside in, with the innermost's counts", () => {
    const visible = mergeLoneFrames(
      visibleOf(
        [{ id: "b", parent: "inner" }, frame("inner", "middle"), frame("outer"), frame("middle", "outer"), { id: "a", parent: "inner" }],
        [["a", "b"]],
      ),
    );
    expect(visible.title).toEqual(["b", "outer › middle › inner", "a"]);
    expect(visible.subtitle[1]).toBe("inner ops");
    expect(visible.key[1]).toBe("outer");
    expect([...visible.parent]).toEqual([1, -1, 1]);
    expect([visible.edgeSource[0], visible.edgeTarget[0]]).toEqual([2, 0]);
  });

  it("stay apart if a frame contains more, is collapsed, or represents repeats", () => {
    const visible = visibleOf(
      [
        frame("two"),
        frame("first", "two"),
        { id: "n", parent: "two" },
        { id: "m", parent: "first" },
        frame("stacked"),
        { ...frame("stack", "stacked"), repeat: 12 },
        { id: "k", parent: "stack" },
        frame("shut"),
        { id: "closed", parent: "shut", kind: BoxKind.Group, expandable: true },
      ],
      [],
    );
    expect(mergeLoneFrames(visible)).toBe(visible);
  });

  it("are merged in time that grows with their number only", () => {
    const depth = 20_000;
    const frames = Array.from({ length: depth }, (_, i) => frame(`${i}`, i ? `${i - 1}` : undefined));
    expect(mergeLoneFrames(visibleOf(frames, [])).boxCount).toBe(1);
  });
});
