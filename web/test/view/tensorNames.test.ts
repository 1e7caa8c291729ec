/** Programs whose tensors have names: values as boxes, the result and search go by them. */
import { describe, expect, it } from "vitest";
import { BoxKind, CATEGORIES } from "../../src/core/program/types";
import { search } from "../../src/core/search/search";
import { build } from "../../src/core/view/build";
import { outputOf } from "../../src/core/view/choose/keys";
import { countedNames } from "../../src/core/view/boxes/texts";
import { makeProgram } from "./program";

const program = makeProgram([
  {
    name: "main",
    nodes: [
      { id: "X", op: "input", role: "input", category: "parameter" },
      { id: "split_0", op: "split", inputs: ["X"], types: ["f32[2]", "f32[2]"], names: ["left", "right"] },
      { id: "add_1", op: "add", inputs: ["split_0", "split_0#1"], names: ["Y"] },
    ],
    outputs: ["add_1"],
  },
]);

describe("tensors with names", () => {
  it("are boxes with these names, and an output is the last of them", () => {
    const { title, kind, category, key } = build(program, { values: "boxes" });
    const values = title.map((_, box) => box).filter((box) => kind[box] === BoxKind.Value);
    expect(values.map((box) => title[box]).sort()).toEqual(["Y", "left", "right"]);
    expect(values.filter((box) => CATEGORIES[category[box]] === "output").map((box) => title[box])).toEqual(["Y"]);
    expect(title).not.toContain("output");
    expect(values.map((box) => [title[box], outputOf(key[box])]).sort()).toEqual([
      ["Y", 0],
      ["left", 0],
      ["right", 1],
    ]);
  });

  it("name the box of the result where values are edges", () => {
    const { title, key } = build(program, {});
    expect(title[key.indexOf("r:output")]).toBe("Y");
  });

  it("are found", () => {
    expect([...search(program, "right").nodes]).toEqual([1]);
    expect([...search(program, "id:=Y").nodes]).toEqual([2]);
    expect([...search(program, "op:right").nodes]).toEqual([]);
  });
});

describe("an output with names", () => {
  const view = (names: string[]) =>
    build(
      makeProgram([
        {
          name: "main",
          nodes: [
            { id: "x", op: "input", role: "input" },
            { id: "y", op: "output", role: "output", inputs: names.map(() => "x"), types: [], names },
          ],
        },
      ]),
      {},
    );
  const text = (names: string[]) => view(names).subtitle[view(names).title.indexOf("output")];

  it("says what comes out, and counts the parts of one result", () => {
    expect(text(["logits", "cache.0.key", "cache.0.value"])).toBe("logits, cache ×2");
  });

  it("says how many there are where the box has no room for them", () => {
    expect(text(["a", "b", "c", "d", "e"])).toBe("5 results");
  });
});

describe("names of results", () => {
  it("are counted by their first part, and by the second where the first are only numbers", () => {
    expect(countedNames(["logits", "cache.0.key", "cache.0.value"])).toBe("logits, cache ×2");
    expect(countedNames(["[0].params.w", "[0].params.b", "[0].step", "[1]"])).toBe("[0].params ×2, [0].step, [1]");
    expect(countedNames(["[0].a", "[0].b", "[0].c", "[0].d", "[1]"])).toBe("[0] ×4, [1]");
    expect(countedNames(["a", "b", "c", "d", "e"])).toBe("5 results");
    expect(countedNames([])).toBe("");
  });
});
