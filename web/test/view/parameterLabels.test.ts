/** Parameters in a picture without frames: no two have one name. */
import { describe, expect, it } from "vitest";
import { buildView } from "../../src/core/view";
import { boxNamed } from "./asText";
import { makeProgram, type NodeSketch } from "./program";

const TYPES = ["f32[8, 512]"];

/** A program that takes parameters with these labels, each in the group that its label names. */
function taking(labels: readonly string[]) {
  const parameters = labels.map(
    (text, i): NodeSketch => ({ id: `p${i}`, role: "parameter", op: "parameter", text, types: TYPES, scope: text }),
  );
  const sum: NodeSketch = { id: "sum", op: "concatenate", inputs: parameters.map(({ id }) => id), types: TYPES };
  return makeProgram([{ name: "main", nodes: [...parameters, sum] }]);
}

function flatTitles(labels: readonly string[]): string[] {
  const view = buildView(taking(labels), { flatten: true });
  return labels.map((_, i) => view.title[boxNamed(view, `n:p${i}`)]);
}

describe("labels of parameters in a flat picture", () => {
  it("are as long as it takes to tell them apart", () => {
    const labels = ["model.s1.norm.weight", "model.s2.norm.weight", "model.s1.conv.weight", "model.head.weight"];
    expect(flatTitles(labels)).toEqual(["s1.norm.weight", "s2.norm.weight", "conv.weight", "head.weight"]);
    const framed = buildView(taking(labels), { depth: 9, fold: false });
    expect(labels.map((_, i) => framed.title[boxNamed(framed, `n:p${i}`)])).toEqual([
      "norm.weight",
      "norm.weight",
      "conv.weight",
      "head.weight",
    ]);
  });

  it("are as long in a program that has no groups", () => {
    const parameters = ["model.s1.norm.weight", "model.s2.norm.weight"].map(
      (text, i): NodeSketch => ({ id: `p${i}`, role: "parameter", op: "parameter", text, types: TYPES }),
    );
    const nodes = [...parameters, { id: "y", op: "dot", inputs: ["p0", "p1"], types: TYPES }];
    const view = buildView(makeProgram([{ name: "main", nodes }]), { depth: 9 });
    expect(["n:p0", "n:p1"].map((key) => view.title[boxNamed(view, key)])).toEqual(["s1.norm.weight", "s2.norm.weight"]);
  });

  it("do not begin with a number", () => {
    expect(flatTitles(["p['layers'][0]['w']", "p['layers'][1]['w']", "p['b']"])).toEqual(["layers.0.w", "layers.1.w", "p['b']"]);
  });

  it("are whole if nothing less differs", () => {
    expect(flatTitles(["a.x.norm.weight", "b.x.norm.weight", "c.x.norm.weight"])).toEqual([
      "a.x.norm.weight",
      "b.x.norm.weight",
      "c.x.norm.weight",
    ]);
    expect(flatTitles(["tied.norm.weight", "tied.norm.weight"])).toEqual(["tied.norm.weight", "tied.norm.weight"]);
  });

  it("are the same in a box that a parameter is text in", () => {
    const small = (scope: string): NodeSketch[] => [
      { id: `${scope}.w`, role: "parameter", op: "parameter", text: `${scope}.norm.weight`, types: ["f32[512]"], scope },
      { id: `${scope}.mul`, op: "multiply", inputs: [scope === "s1" ? "x" : "s1.mul", `${scope}.w`], types: TYPES, scope },
    ];
    const net = makeProgram([
      { name: "main", nodes: [{ id: "x", role: "input", op: "parameter", types: TYPES }, ...small("s1"), ...small("s2")] },
    ]);
    const view = buildView(net, { flatten: true });
    expect(["s1", "s2"].map((scope) => view.notes[boxNamed(view, `n:${scope}.mul`)])).toEqual([
      ["× s1.norm.weight f32[512]"],
      ["× s2.norm.weight f32[512]"],
    ]);
  });
});
