/** A training step in a small window: both halves are in sight, and their layers with them. */
import { describe, expect, it } from "vitest";
import { draw } from "../../src/core/picture";
import { READABLE } from "../../src/core/view/initial/camera";
import { makeProgram, type NodeSketch } from "../view/program";

/** Twelve layers in a row in each half, and a head of operations side by side that is broader than they are. */
const nodes: NodeSketch[] = [{ id: "x", op: "parameter", role: "parameter" }];
for (const half of ["forward", "backward"]) {
  const at = (path: string) => ({ direction: `${half}/${path}` });
  for (let layer = 0; layer < 12; layer++)
    nodes.push({ id: `${half}${layer}`, op: "tanh", inputs: [nodes.at(-1)!.id], groups: at(`model/layer_${layer}`) });
  const last = nodes.at(-1)!.id;
  const heads = Array.from({ length: 5 }, (_, i) => ({
    id: `${half}.h${i}`,
    op: ["exp", "log", "sqrt", "sine", "abs"][i],
    inputs: [last],
  }));
  for (const head of heads) nodes.push({ ...head, groups: at("head") });
  nodes.push({ id: `${half}.sum`, op: "concatenate", inputs: heads.map(({ id }) => id), groups: at("head") });
}
const program = makeProgram([{ name: "main", nodes, outputs: ["backward.sum"] }]);
const shown = (width: number) => draw(program, { spec: { forwardBackward: true }, fill: { width, height: 600 } });
const openAt = (width: number) => {
  const { visible } = shown(width);
  return visible.key.filter((_, box) => visible.open[box] && visible.group[box] >= 0);
};

describe("forward beside backward", () => {
  it("has its heads collapsed where else one half would be out of sight", () => {
    const { closed, layout, halves, visible } = shown(500);
    expect(closed).toEqual(["g:forward/head", "g:backward/head"]);
    expect(layout.x[halves!.backward]).toBeLessThan(500 / READABLE);
    expect(layout.width).toBeLessThan(shown(1600).layout.width);
    expect(visible.repeat.filter((repeat) => repeat === 12)).toHaveLength(2);
    expect(openAt(500)).toEqual(openAt(1600).filter((key) => !key.endsWith("/head")));
  });

  it("is as it comes where both are in sight", () => {
    expect(shown(1600).closed).toEqual([]);
    expect(openAt(1600)).toContain("g:backward/head");
  });
});
