/** What collapsed groups say of the tensors that cross their border. */
import { describe, expect, it } from "vitest";
import { buildView } from "../../src/core/view";
import { planBox } from "../../src/core/scene/boxText";
import { Shape, type TextRun } from "../../src/core/scene/types";
import { boxNamed } from "./asText";
import { makeProgram, type NodeSketch } from "./program";

const flowOf = (nodes: NodeSketch[], key: string, spec = {}, outputs?: string[]) => {
  const view = buildView(makeProgram([{ name: "main", nodes, ...(outputs ? { outputs } : {}) }]), { depth: 0, ...spec });
  return view.subtitle[boxNamed(view, key)].split("\n")[1];
};

/** A layer that reads a mask too, and whose sum and scores leave it. */
const layer = (i: number, from: string): NodeSketch[] => [
  { id: `w${i}`, role: "parameter", op: "parameter", types: ["f32[8, 8]"], scope: `layer_${i}` },
  { id: `scores${i}`, op: "dot", inputs: [from, `w${i}`], types: ["f32[2, 2]"], scope: `layer_${i}` },
  { id: `masked${i}`, op: "select", inputs: ["mask", `scores${i}`], types: ["f32[2, 2]"], scope: `layer_${i}` },
  { id: `sum${i}`, op: "add", inputs: [`masked${i}`, from], types: ["f32[2, 8]"], scope: `layer_${i}` },
];
const model = (count: number): NodeSketch[] => [
  { id: "ids", role: "input", op: "parameter", types: ["s32[2]"] },
  { id: "mask", role: "input", op: "parameter", types: ["pred[2, 2]"] },
  { id: "table", op: "iota", types: ["f32[9, 8]"], scope: "embed" },
  { id: "x", op: "gather", inputs: ["table", "ids"], types: ["f32[2, 8]"], scope: "embed" },
  ...Array.from({ length: count }, (_, i) => layer(i, i === 0 ? "x" : `sum${i - 1}`)).flat(),
  { id: "all", op: "concatenate", inputs: Array.from({ length: count }, (_, i) => `scores${i}`), types: ["f32[4]"] },
  { id: "head", op: "dot", inputs: [`sum${count - 1}`, "all"], types: ["f32[2, 9]"] },
];

describe("what goes in and out of a collapsed group", () => {
  it("is the first tensor that it reads and the last that it computes, and how many others there are", () => {
    expect(flowOf(model(1), "g:embed")).toBe("s32[2] → f32[2, 8]");
    expect(flowOf(model(1), "g:layer_0")).toBe("f32[2, 8] +1 → f32[2, 8] +1");
  });

  it("is that of one repeat of a stack, not of all of them", () => {
    expect(flowOf(model(12), "x:layer_0")).toBe("f32[2, 8] +1 → f32[2, 8] +1");
  });

  it("is the same inside an open stack, where one group shows those of all repeats", () => {
    const nodes = model(3).map((node) => (node.scope?.startsWith("layer") ? { ...node, scope: `${node.scope}/inner` } : node));
    const more = nodes.flatMap((node) =>
      node.id.startsWith("sum") ? [node, { ...node, id: `${node.id}b`, scope: node.scope!.slice(0, 7) }] : [node],
    );
    expect(flowOf(more, "g:layer_0/inner", { open: ["x:layer_0"] })).toBe("f32[2, 8] +1 → f32[2, 8] +2");
  });

  it("leaves out weights, small constants, and arguments that pass through", () => {
    const nodes: NodeSketch[] = [
      { id: "w", role: "parameter", op: "parameter", types: ["f32[8]"] },
      { id: "x", role: "input", op: "parameter", types: ["f32[2]"] },
      { id: "a", op: "add", inputs: ["w", "x"], types: ["f32[2]"], scope: "m" },
      { id: "b", op: "tanh", inputs: ["a"], types: ["f32[3]"], scope: "m" },
      { id: "c", op: "dot", inputs: ["b", "w"], types: ["f32[4]"] },
    ];
    expect(flowOf(nodes, "g:m")).toBe("f32[2] → f32[3]");
  });

  it("names the gradient that goes on, not that of a weight, and not what is saved", () => {
    const groups = (direction: string) => ({ groups: { direction } });
    const nodes: NodeSketch[] = [
      { id: "x", role: "input", op: "parameter", types: ["f32[2]"] },
      { id: "a", op: "dot", inputs: ["x"], types: ["f32[3]"], ...groups("forward/layer") },
      { id: "b", op: "tanh", inputs: ["a"], types: ["f32[4]"], ...groups("forward/layer") },
      { id: "l", op: "reduce", inputs: ["b"], types: ["f32[5]"], ...groups("forward") },
      { id: "dl", op: "broadcast", inputs: ["l"], types: ["f32[6]"], ...groups("backward") },
      { id: "db", op: "mul", inputs: ["dl", "a"], types: ["f32[7]"], ...groups("backward/layer") },
      { id: "dw", op: "dot", inputs: ["db", "a"], types: ["f32[8]"], ...groups("backward/layer") },
      { id: "dx", op: "mul", inputs: ["db"], types: ["f32[9]"], ...groups("backward") },
      { id: "u", op: "sub", inputs: ["dw"], types: ["f32[8]"], ...groups("update") },
    ];
    const closed = { groupBy: "direction", depth: 1 };
    expect(flowOf(nodes, "g:forward/layer", closed, ["u", "dx"])).toBe("f32[2] → f32[4]");
    expect(flowOf(nodes, "g:backward/layer", closed, ["u", "dx"])).toBe("f32[6] → f32[7] +1");
  });

  it("is said of a single operation too, with its class and its parameters", () => {
    const nodes: NodeSketch[] = [
      { id: "x", role: "input", op: "parameter", types: ["f32[2, 4]"] },
      { id: "w", role: "parameter", op: "parameter", types: ["f32[4, 8]"], scope: "fc: Linear" },
      { id: "y", op: "dot", inputs: ["x", "w"], types: ["f32[2, 8]"], scope: "fc: Linear" },
      { id: "z", op: "tanh", inputs: ["y"], types: ["f32[2, 8]"] },
    ];
    const view = buildView(makeProgram([{ name: "main", nodes }]), { depth: 0 });
    expect(view.subtitle[boxNamed(view, "g:fc: Linear")]).toBe("Linear · 32 parameters\nf32[2, 4] → f32[2, 8]");
  });

  it("is the gradient of a weight where nothing else goes out", () => {
    const nodes: NodeSketch[] = [
      { id: "dy", op: "add", types: ["f32[2, 8]"] },
      { id: "dw", op: "dot", inputs: ["dy"], types: ["f32[4, 8]"], scope: "fc" },
      { id: "grad", role: "gradient", op: "gradient", inputs: ["dw"], types: ["f32[4, 8]"], scope: "fc" },
    ];
    expect(flowOf(nodes, "g:fc", {}, ["grad"])).toBe("f32[2, 8] → f32[4, 8]");
    const dx: NodeSketch = { id: "dx", op: "dot", inputs: ["dy"], types: ["f32[2, 4]"], scope: "fc" };
    expect(flowOf([...nodes, dx], "g:fc", {}, ["grad", "dx"])).toBe("f32[2, 8] → f32[2, 4]");
  });

  it("is a line below the others, elided on each side of the arrow", () => {
    const text = (flow: string): string => {
      const runs: TextRun[] = [];
      const content = {
        shape: Shape.Card,
        title: "m",
        subtitle: `2 ops\n${flow}`,
        notes: undefined,
        expandable: true,
        group: true,
        repeat: 1,
      };
      planBox(content, { width: 0, height: 0 }, runs);
      return runs.at(-1)!.text;
    };
    expect(text("f32[8, 128] → f32[8, 512]")).toBe("f32[8, 128] → f32[8, 512]");
    expect(text("bfloat16[1024, 512, 8] +3 → bfloat16[1024, 512, 2048]")).toBe("bfloat16[1024, 512, 8] +3 → [1024, 512, 2048]");
    expect(text("bfloat16[1024, 1024, 2048, 1024, 2048] → float32[8]")).toMatch(/^bfloat16\[1024, .*….*, 2048\] → float32\[8\]$/);
  });
});
