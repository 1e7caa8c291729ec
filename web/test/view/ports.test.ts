/** The main path enters a box in the middle, so that chains do not drift sideways with every operand. */
import { describe, expect, it } from "vitest";
import { buildView } from "../../src/core/view";
import { boxNamed } from "./asText";
import { makeProgram, type NodeSketch } from "./program";

const weight = (id: string): NodeSketch => ({ id, op: "parameter", role: "parameter", types: ["f32[8, 8]"] });

function slots(nodes: readonly NodeSketch[], of: string): number[] {
  const view = buildView(makeProgram([{ name: "main", nodes: [...nodes] }]), {
    flatten: true,
    fold: false,
    rules: { inlineSmall: false },
  });
  const box = boxNamed(view, `n:${of}`);
  return Array.from(view.edgeTarget.keys())
    .filter((e) => view.edgeTarget[e] === box)
    .map((e) => view.targetPort[e]);
}

describe("operands along the top", () => {
  it("put the only computed operand in the middle and weights next to it, in order", () => {
    const nodes = [{ id: "x", op: "sin" }, weight("w"), weight("b"), { id: "y", op: "linear", inputs: ["w", "x", "b"] }];
    expect(slots(nodes, "y")).toEqual([0.25, 0.5, 0.75]);
  });

  it("put the end of a branch in the middle and the residual next to it", () => {
    const nodes = [
      { id: "x", op: "sin" },
      { id: "branch", op: "exp", inputs: ["x"] },
      { id: "sum", op: "add", inputs: ["branch", "x"] },
    ];
    expect(slots(nodes, "sum")).toEqual([0.5, 0.75]);
    const turned = [...nodes.slice(0, 2), { id: "sum", op: "add", inputs: ["x", "branch"] }];
    expect(slots(turned, "sum")).toEqual([0.25, 0.5]);
  });

  it("share the top where none stands out", () => {
    const nodes = [
      { id: "q", op: "sin" },
      { id: "k", op: "cos" },
      { id: "scores", op: "dot", inputs: ["q", "k"] },
    ];
    expect(slots(nodes, "scores")).toEqual([Math.fround(1 / 3), Math.fround(2 / 3)]);
  });
});
