/** The outermost modules: the graph itself as one box, a module that contains everything, and modules of one operation. */
import { describe, expect, it } from "vitest";
import type { ViewSpec } from "../../src/core/program/types";
import { buildView } from "../../src/core/view";
import { ROOT_KEY } from "../../src/core/view/choose/keys";
import { reveal } from "../../src/core/view/reveal";
import { collapseAll, expandAll, specOf, START, toggle } from "../../src/ui/state/view";
import { boxLines, boxNamed, edgeLines } from "./asText";
import { makeProgram, type NodeSketch } from "./program";

const nodes = (around: string): NodeSketch[] => [
  { id: "x", role: "input", op: "parameter", types: ["f32[8, 512]"] },
  { id: "w", role: "parameter", op: "parameter", types: ["f32[512, 512]"], scope: `${around}stem: Linear` },
  { id: "a", op: "dot", inputs: ["x", "w"], types: ["f32[8, 512]"], scope: `${around}stem: Linear` },
  { id: "b", op: "tanh", inputs: ["a"], types: ["f32[8, 512]"], scope: `${around}head: Head` },
  { id: "c", op: "exp", inputs: ["b"], types: ["f32[8, 512]"], scope: `${around}head: Head` },
  { id: "out", role: "output", op: "output", inputs: ["c"] },
];
const net = makeProgram([{ name: "main", nodes: nodes("") }]);
const wrapped = makeProgram([{ name: "main", nodes: nodes("model: Net/") }]);

describe("the graph as one box", () => {
  const closed: ViewSpec = { depth: 0, closed: [ROOT_KEY] };

  it("contains all operations, and is named like the program", () => {
    const view = buildView(net, closed);
    expect(boxLines(view)).toEqual(["group r:graph", "node n:x", "node n:out"]);
    expect([view.title[0], view.subtitle[0], view.nodesInside[0], view.expandable[0]]).toEqual([
      "test",
      "3 ops · 262 k parameters",
      net.nodeCount - 2,
      1,
    ]);
    expect(edgeLines(view)).toEqual(["n:x -> r:graph", "r:graph -> n:out"]);
  });

  it("is between every parameter and the result where the program does not tell inputs from weights", () => {
    const one = (count: number) =>
      makeProgram([
        {
          name: "main",
          nodes: [
            ...Array.from(
              { length: count },
              (_, i): NodeSketch => ({ id: `p${i}`, role: "parameter", op: "parameter", types: ["f32[8]"] }),
            ),
            { id: "sum", op: "add", inputs: Array.from({ length: count }, (_, i) => `p${i}`), types: ["f32[8]"] },
          ],
          outputs: ["sum"],
        },
      ]);
    expect(edgeLines(buildView(one(2), closed))).toEqual(["n:p0 -> r:graph", "n:p1 -> r:graph", "r:graph -> r:output"]);
    expect(edgeLines(buildView(one(2), { ...closed, allNodes: true }))).toContain("r:graph -> r:output");
    expect(boxLines(buildView(one(9), closed))).toEqual(["group r:graph", "node r:output"]);
  });

  it("opens with the only module in it, unless that was closed", () => {
    const opened = (spec: ViewSpec) => boxLines(buildView(wrapped, { depth: 0, ...spec })).map((line) => line.trim());
    const modules = ["group g:model: Net/stem: Linear", "group g:model: Net/head: Head"];
    expect(opened({ open: [ROOT_KEY] })).toEqual(expect.arrayContaining(modules));
    expect(opened({ open: [ROOT_KEY], closed: ["g:model: Net"] })).not.toEqual(expect.arrayContaining(modules));
    expect(opened({})).not.toEqual(expect.arrayContaining(modules));
  });

  it("opens to show a node in it", () => {
    const { opened, visible, revealed } = reveal(net, closed, 3);
    expect(opened).toEqual([ROOT_KEY, "g:head: Head"]);
    expect(visible.key[revealed]).toBe("n:b");
  });

  it("is where Collapse all ends, and Expand all leaves", () => {
    const once = collapseAll(START);
    expect(boxLines(buildView(net, specOf(once)))).toEqual(["group g:stem: Linear", "group g:head: Head", "node n:x", "node n:out"]);
    const twice = collapseAll(once);
    expect(boxLines(buildView(net, specOf(twice)))).toEqual(["group r:graph", "node n:x", "node n:out"]);
    expect(specOf(toggle(twice, ROOT_KEY, false))).toMatchObject({ depth: 0, closed: [] });
    expect(buildView(net, specOf(expandAll(twice))).boxCount).toBe(buildView(net, specOf(expandAll(START))).boxCount);
  });

  it("is not what a part of the graph or a flat graph shows", () => {
    expect(boxLines(buildView(net, { closed: [ROOT_KEY], around: ["b"], hops: 0 }))).toContain("  node n:b");
    expect(boxLines(buildView(net, { ...closed, flatten: true }))).toContain("node n:b");
  });
});

describe("a module that contains everything", () => {
  it("is drawn, and open at first", () => {
    const view = buildView(wrapped, {});
    expect(boxLines(view)).toContain("group g:model: Net open");
    expect(view.parent[boxNamed(view, "g:model: Net/head: Head")]).toBe(boxNamed(view, "g:model: Net"));
    expect(view.parent[boxNamed(view, "n:x")]).toBe(-1);
    expect(edgeLines(buildView(wrapped, { depth: 0 }))).toEqual(["n:x -> g:model: Net", "g:model: Net -> n:out"]);
  });

  it("is open at first even if there is too much in it for a page", () => {
    const many = Array.from({ length: 90 }, (_, i): NodeSketch => {
      const before = i ? [`n${i - 1}`] : [];
      return { id: `n${i}`, op: i % 2 ? "sin" : "cos", inputs: before, scope: `model: Net/part_${i}_${"ab"[i % 2]}: Part` };
    });
    const view = buildView(makeProgram([{ name: "main", nodes: many }]), { fold: false });
    expect(view.open[boxNamed(view, "g:model: Net")]).toBe(1);
    expect(view.boxCount).toBeGreaterThan(50);
  });

  it("is left out if its name says nothing of a module", () => {
    const plain = makeProgram([{ name: "main", nodes: nodes("jit_step/") }]);
    expect(boxLines(buildView(plain, {})).filter((line) => line.includes("jit_step"))).toEqual([]);
  });
});

describe("frames", () => {
  it("are around every module, and around the graph", () => {
    expect(boxLines(buildView(net, { depth: 9 }))).not.toContain("group g:stem: Linear open");
    const lines = boxLines(buildView(net, { depth: 9, frames: true }));
    expect(lines).toEqual(
      expect.arrayContaining(["group r:graph open", "  group g:stem: Linear open", "    node n:a", "node n:x", "node n:out"]),
    );
  });
});
