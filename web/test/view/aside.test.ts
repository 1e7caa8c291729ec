/** What is not the question at first sight: nodes that nothing is connected with, and a weight that two modules share. */
import { describe, expect, it } from "vitest";
import { buildView } from "../../src/core/view";
import { reveal } from "../../src/core/view/reveal";
import { boxNamed } from "./asText";
import { makeProgram, type NodeSketch } from "./program";

const counter = (id: string): NodeSketch => ({ id, op: "get_attr", role: "buffer", types: ["s64[]"] });
const model: NodeSketch[] = [
  { id: "x", op: "placeholder", role: "input" },
  { id: "a", op: "tanh", inputs: ["x"], scope: "block" },
  { id: "b", op: "exp", inputs: ["a"], scope: "block" },
  { id: "y", op: "output", role: "output", inputs: ["b"] },
];

describe("unconnected nodes", () => {
  const unused: NodeSketch[] = [
    counter("seen"),
    { id: "ones", op: "custom", types: ["f32[4,4]"] },
    { id: "mask", op: "exp", inputs: ["ones"], types: ["f32[4,4]"] },
  ];
  const program = makeProgram([{ name: "main", nodes: [...unused, ...model] }]);

  it("are one box, which can be expanded", () => {
    const closed = buildView(program, {});
    const box = boxNamed(closed, "r:unconnected");
    expect([closed.subtitle[box], closed.parent[box], closed.expandable[box]]).toEqual(["3 nodes", -1, 1]);
    expect([closed.boxOfNode[1], closed.boxOfNode[2]]).toEqual([box, box]);
    expect(closed.title).not.toContain("exp: mask");
    const open = buildView(program, { open: [closed.key[box]] });
    expect(open.boxCount).toBe(closed.boxCount + 3);
    expect(open.parent[open.boxOfNode[2]]).toBe(boxNamed(open, "r:unconnected"));
    expect(buildView(program, { depth: 1000 }).open[boxNamed(open, "r:unconnected")]).toBe(1);
  });

  it("are seen where they are if somebody asks for them, for all nodes, or for none of the groups", () => {
    expect(reveal(program, {}, 2).opened).toEqual(["r:unconnected"]);
    for (const spec of [{ allNodes: true }, { flatten: true }]) expect(buildView(program, spec).title).not.toContain("unconnected");
  });

  it("stay as they are where there is only one that is not a buffer, or nothing else", () => {
    for (const nodes of [[unused[1], ...model], unused])
      expect(buildView(makeProgram([{ name: "main", nodes }]), {}).title).not.toContain("unconnected");
    const lone = buildView(makeProgram([{ name: "main", nodes: [counter("seen"), ...model] }]), {});
    expect(lone.subtitle[boxNamed(lone, "r:unconnected")]).toBe("seen");
  });

  it("are not seen beside the only operation of their module, which has no frame", () => {
    const norm: NodeSketch[] = [
      { id: "x", op: "placeholder", role: "input" },
      { ...counter("seen"), scope: "bn: BatchNorm" },
      { id: "a", op: "tanh", inputs: ["x"], scope: "bn: BatchNorm" },
      { id: "y", op: "output", role: "output", inputs: ["a"] },
    ];
    const view = buildView(makeProgram([{ name: "main", nodes: norm }]), { depth: 9 });
    expect([view.title[view.boxOfNode[1]], view.title[view.boxOfNode[2]]]).toEqual(["unconnected", "bn"]);
  });

  it("are in that box from open modules too, and a module with nothing else has no frame", () => {
    const nested: NodeSketch[] = [
      { ...counter("seen"), scope: "block" },
      { id: "w", op: "placeholder", role: "parameter", types: ["f32[4]"], scope: "aux" },
      ...model,
    ];
    const program = makeProgram([{ name: "main", nodes: nested }]);
    const open = buildView(program, { depth: 9 });
    expect([0, 1, 3].map((node) => open.title[open.boxOfNode[node]])).toEqual(["unconnected", "unconnected", "tanh"]);
    expect(open.title).not.toContain("aux");
    const closed = buildView(program, { depth: 0 });
    expect([0, 1].map((node) => closed.title[closed.boxOfNode[node]])).toEqual(["block", "unconnected"]);
  });

  it("are not parts of their own with a result, nor what others wait for", () => {
    const waited: NodeSketch[] = [...model.slice(0, -1), { ...model[3], control: ["ones"] }];
    const view = buildView(makeProgram([{ name: "main", nodes: [...unused.slice(1), ...waited], outputs: ["y", "mask"] }]), {});
    expect(view.title).not.toContain("unconnected");
  });
});

describe("a tied weight", () => {
  const nodes: NodeSketch[] = [
    { id: "ids", op: "placeholder", role: "input", types: ["s64[4]"] },
    { id: "wte", op: "placeholder", role: "parameter", types: ["f32[50,8]"], scope: "transformer" },
    { id: "w", op: "placeholder", role: "parameter", types: ["f32[8,8]"], scope: "transformer" },
    { id: "e", op: "embedding", inputs: ["wte", "ids"], types: ["f32[4,8]"], scope: "transformer" },
    { id: "h", op: "dot", inputs: ["e", "w"], types: ["f32[4,8]"], scope: "transformer" },
    { id: "n", op: "dot", inputs: ["h", "w"], types: ["f32[4,8]"], scope: "transformer/inner" },
    { id: "logits", op: "dot", inputs: ["n", "wte"], types: ["f32[4,50]"], scope: "head" },
    { id: "y", op: "output", role: "output", inputs: ["logits"] },
  ];

  it("says so: on the edge out of its group, and next to its name", () => {
    const program = makeProgram([{ name: "main", nodes }]);
    const closed = buildView(program, { depth: 0 });
    const texts = closed.edgeText?.map(
      (text, e) => text && `${closed.title[closed.edgeSource[e]]} → ${closed.title[closed.edgeTarget[e]]}: ${text}`,
    );
    expect(texts?.filter(Boolean)).toEqual(["transformer → head: ×2, a tied weight"]);
    const open = buildView(program, { depth: 9 });
    expect(open.edgeText).toBeUndefined();
    expect(open.subtitle.filter((text) => text.endsWith("· tied"))).toEqual(["f32[50,8] · tied"]);
  });

  it("is none where inputs are not told apart from weights", () => {
    const plain = nodes.map((node) => (node.role === "input" ? { ...node, role: "parameter" as const } : node));
    expect(buildView(makeProgram([{ name: "main", nodes: plain }]), { depth: 0 }).edgeText).toBeUndefined();
  });
});
