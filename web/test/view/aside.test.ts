/** What is not the question at first sight: nodes that nothing is connected with, and a weight that two modules share. */
import { describe, expect, it } from "vitest";
import { buildView } from "../../src/core/view";
import { reveal } from "../../src/core/view/reveal";
import { boxNamed, edgeLines } from "./asText";
import { makeProgram, type NodeSketch } from "./program";

const counter = (id: string): NodeSketch => ({ id, op: "get_attr", role: "buffer", types: ["s64[]"] });
const model: NodeSketch[] = [
  { id: "x", op: "placeholder", role: "input" },
  { id: "a", op: "tanh", inputs: ["x"], scope: "block" },
  { id: "b", op: "exp", inputs: ["a"], scope: "block" },
  { id: "y", op: "output", role: "output", inputs: ["b"] },
];

describe("operations whose results lead nowhere", () => {
  const dead: NodeSketch[] = [
    { id: "eq", op: "equal", inputs: ["a"], scope: "block" },
    { id: "count", op: "reduce", inputs: ["eq"], scope: "block" },
  ];
  const viewOf = (nodes: NodeSketch[], spec = {}) => buildView(makeProgram([{ name: "main", nodes }]), { depth: 9, ...spec });
  const more: NodeSketch[] = Array.from({ length: 4 }, (_, i) => ({ id: `c${i}`, op: "exp", inputs: [i ? `c${i - 1}` : "b"] }));
  const withDead = (nodes: NodeSketch[]): NodeSketch[] => [...model.slice(0, 3), ...nodes, ...more, { ...model[3], inputs: ["c3"] }];

  it("are one box without the edges into it, and where they are if it is expanded", () => {
    const view = viewOf(withDead(dead));
    const box = boxNamed(view, "r:unconnected");
    expect([view.title[box], view.subtitle[box]]).toEqual(["unused", "2 nodes"]);
    expect(Array.from(view.edgeTarget)).not.toContain(box);
    const open = viewOf(withDead(dead), { open: ["r:unconnected"] });
    expect(edgeLines(open)).toContain("n:a -> n:eq");
  });

  it("are drawn where they are if they write to an operand, call a graph, or are most of the graph", () => {
    const written = dead.map((node) => (node.id === "count" ? { ...node, op: "add_" } : node));
    const unknown = dead.map((node) => (node.id === "count" ? { ...node, category: "other" as const } : node));
    for (const nodes of [
      withDead(written),
      withDead(unknown),
      [...model.slice(0, 2), ...["", "2", "3"].flatMap((copy) => dead.map((node) => ({ ...node, id: node.id + copy }))), ...model.slice(2)],
    ])
      expect(viewOf(nodes).title).not.toContain("unused");
  });
});

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

  it("name the module that they are all of", () => {
    const subtitle = (...ids: string[]): string => {
      const weights: NodeSketch[] = ids.map((id) => ({ id, op: "placeholder", role: "parameter", types: ["f32[4]"] }));
      const view = buildView(
        makeProgram([{ name: "main", nodes: [...weights, ...model, { id: "z", op: "sin", inputs: ["b"] }], outputs: ["z", "y"] }]),
        {},
      );
      return view.subtitle[boxNamed(view, "r:unconnected")];
    };
    expect(subtitle("AuxLogits.conv0.weight", "AuxLogits.conv0.bias", "AuxLogits.fc.weight")).toBe("AuxLogits · 3 nodes");
    expect(subtitle("aux.fc.weight", "aux.fc.bias")).toBe("aux.fc · 2 nodes");
    expect(subtitle("aux.fc.weight", "other.fc.weight")).toBe("2 nodes");
    expect(subtitle("aux.fc.weight", "fc")).toBe("2 nodes");
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
