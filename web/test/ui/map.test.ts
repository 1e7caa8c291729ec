import { describe, expect, it } from "vitest";
import { layoutCompound } from "../../src/core/layout";
import { CATEGORIES } from "../../src/core/program/types";
import { buildScene, measure, unwrapped } from "../../src/core/scene";
import { blocksOf, Contents, MAP } from "../../src/ui/canvas/map";
import { NO_PROGRAM, visibleOf } from "../scene/fixtures";

const visible = visibleOf(
  [
    { id: "model", open: true },
    { id: "layer", open: true, parent: "model" },
    { id: "dot", parent: "layer", category: "matmul" },
    { id: "other dot", parent: "layer", category: "matmul" },
    { id: "add", parent: "layer", category: "elementwise" },
    { id: "sum", parent: "model", category: "reduce" },
    { id: "outside" },
  ],
  [
    ["dot", "other dot"],
    ["other dot", "add"],
    ["add", "sum"],
    ["sum", "outside"],
  ],
);
const scene = buildScene(NO_PROGRAM, visible, unwrapped(visible, layoutCompound(measure(visible), { direction: "TB" })), {
  direction: "TB",
});
const contents = new Contents(scene);
const item = (id: string) => visible.title.indexOf(id);
const shares = (id: string) => contents.shares(item(id)).map(({ colour, share }) => [CATEGORIES[colour], share]);
const [frames, leaves] = [["model", "layer"].map(item), ["dot", "other dot", "add", "sum", "outside"].map(item)];

describe("a map", () => {
  it("gives a group the colours of the boxes inside it, the largest share first", () => {
    expect(shares("layer")).toEqual([
      ["matmul", 2 / 3],
      ["elementwise", 1 / 3],
    ]);
    expect(shares("model")[0]).toEqual(["matmul", 1 / 2]);
    expect(shares("model").map(([category]) => category)).toContain("reduce");
  });

  it("does not look into a group that is small on the screen", () => {
    const { blocks, open, rest } = blocksOf(contents, scene, MAP, frames, leaves);
    expect([blocks, open, rest]).toEqual([[item("model")], [], [item("outside")]]);
  });

  it("looks into a large group, as far as there are groups inside", () => {
    const { blocks, open, rest } = blocksOf(contents, scene, 10, frames, leaves);
    expect([blocks, open, rest]).toEqual([[item("layer")], [item("model")], [item("sum"), item("outside")]]);
  });

  it("knows which groups contain a box", () => {
    const marked = new Uint8Array(scene.boxCount);
    marked[item("add")] = 1;
    expect(contents.withAny(marked)).toEqual(new Set(frames));
  });
});
