/** Forward beside backward that would be a thread on the screen is set in columns, each with a part of both halves. */
import { describe, expect, it } from "vitest";
import { draw } from "../../src/core/picture";
import { makeProgram, type NodeSketch } from "../view/program";

const LONG = 450;
const nodes: NodeSketch[] = [{ id: "x", op: "parameter", role: "parameter" }];
for (const half of ["forward", "backward"])
  for (let i = 0; i < LONG; i++)
    nodes.push({
      id: `${half}${i}`,
      op: ["tanh", "exp", "log"][i % 3],
      inputs: [nodes.at(-1)!.id, ...(half === "backward" && i % 50 === 0 ? [`forward${LONG - 1 - i}`] : [])],
      groups: { direction: half },
    });
const program = makeProgram([{ name: "main", nodes, outputs: [nodes.at(-1)!.id] }]);
const shown = (wrap: "screen" | "page") =>
  draw(program, { spec: { forwardBackward: true, depth: 1, open: ["g:forward", "g:backward"], fold: false }, wrap });

describe("deep halves", () => {
  const { scene, visible, halves, layout } = shown("screen");

  it("are in columns that have a part of each", () => {
    expect(layout.height).toBeGreaterThan(32_000);
    expect(scene.height).toBeLessThan(layout.height / 3);
    const partsOf = (half: number) => scene.box.filter((box, item) => box === half && scene.w[item] > 0).length;
    expect(partsOf(halves!.forward)).toBeGreaterThan(2);
    expect(partsOf(halves!.backward)).toBe(partsOf(halves!.forward));
  });

  it("have no number over a box, also where lines lead upwards", () => {
    const labels = [...scene.labels].filter(({ kind }) => kind === "cut");
    expect(labels.length).toBeGreaterThan(4);
    for (const { x, y } of labels)
      for (let item = 0; item < scene.box.length; item++) {
        if (visible.open[scene.box[item]]) continue;
        const isOver = x > scene.x[item] && x < scene.x[item] + scene.w[item] && y > scene.y[item] && y < scene.y[item] + scene.h[item];
        expect(isOver, `${x}, ${y} in ${visible.title[scene.box[item]]}`).toBe(false);
      }
  });

  it("are in one piece in a file", () => {
    const file = shown("page");
    expect(file.scene.box.length).toBe(file.visible.boxCount);
  });
});
