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

  it("looks into a group in columns everywhere or nowhere", () => {
    // The group model twice more, as narrow columns with a group in them.
    const [model, layer] = [item("model"), item("layer")];
    const at = (column: Int32Array | Float64Array, item: number) => [...column, column[item], column[layer], column[item], column[layer]];
    const n = scene.boxCount;
    const columns = {
      ...scene,
      boxCount: n + 4,
      frameCount: scene.frameCount + 4,
      order: Int32Array.from([...scene.order.slice(0, scene.frameCount), n, n + 1, n + 2, n + 3, ...scene.order.slice(scene.frameCount)]),
      parent: Int32Array.from([...scene.parent, -1, n, -1, n + 2]),
      shape: Uint8Array.from([...scene.shape, ...Array(4).fill(scene.shape[model])]),
      box: Int32Array.from(at(scene.box, model)),
      w: Float64Array.from([...scene.w, 1, 1, 1, 1]),
      h: Float64Array.from(at(scene.h, model)),
    };
    const frames = [model, layer, n, n + 1, n + 2, n + 3];
    expect(blocksOf(new Contents(columns), columns, 10, frames, []).open).toEqual([]);
    columns.w.fill(scene.w[model], n);
    expect(blocksOf(new Contents(columns), columns, 10, frames, []).open).toEqual([model, n, n + 2]);
  });

  it("knows which groups contain a box", () => {
    const marked = new Uint8Array(scene.boxCount);
    marked[item("add")] = 1;
    expect(contents.withAny(marked)).toEqual(new Set(frames));
  });
});
