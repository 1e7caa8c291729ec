import { describe, expect, it } from "vitest";
import { buildView } from "../../src/core/view";
import { search } from "../../src/core/search/search";
import { makeProgram, type NodeSketch } from "./program";

const range = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));

/** Sizes that break recursion, spreading into arguments, and anything quadratic (which would time out). */
describe("extreme programs", () => {
  it("one node with 50,000 inputs", () => {
    const sources = range(50_000, (i): NodeSketch => ({ id: `s${i}`, op: "sin" }));
    const program = makeProgram([{ name: "main", nodes: [...sources, { id: "all", op: "concat", inputs: sources.map((one) => one.id) }] }]);
    const view = buildView(program, {});
    expect(view.edgeCount).toBe(50_000);
    expect(buildView(program, { around: ["all"], hops: 1 }).boxCount).toBe(50_001);
    expect(buildView(program, { only: sources.map((one) => one.id) }).boxCount).toBe(50_000);
  });

  it("100,000 pipes in a row", () => {
    const nodes = range(
      100_000,
      (i): NodeSketch => ({ id: `n${i}`, op: i === 0 ? "sin" : "bitcast", inputs: i === 0 ? [] : [`n${i - 1}`] }),
    );
    const view = buildView(makeProgram([{ name: "main", nodes: [...nodes, { id: "end", op: "cos", inputs: ["n99999"] }] }]), {});
    expect([view.boxCount, view.edgeCount]).toEqual([2, 1]);
  });

  it("groups in groups, 1,500 deep, and repeats of them", () => {
    const path = range(1500, (i) => `g${i}`).join("/");
    const nodes = range(
      6,
      (i): NodeSketch => ({ id: `n${i}`, op: "sin", inputs: i ? [`n${i - 1}`] : [], scope: `layer_${i >> 1}/${path}` }),
    );
    const program = makeProgram([{ name: "main", nodes: [...nodes, { id: "out", op: "cos", inputs: ["n5"] }] }]);
    expect(buildView(program, { depth: 0 }).boxCount).toBeLessThan(5);
    expect(buildView(program, { depth: 9999, fold: false }).boxCount).toBe(3 * 1501 + 7);
  });

  it("calls in calls, 800 deep", () => {
    const graphs = range(800, (i) => ({
      name: `f${i}`,
      nodes: [
        { id: "p", op: "parameter", role: "parameter" },
        { id: "c", op: i === 799 ? "sin" : "call", inputs: ["p"], calls: i === 799 ? [] : [`f${i + 1}`] },
        { id: "t", op: "tanh", inputs: ["c"] },
      ] as NodeSketch[],
    }));
    const view = buildView(
      makeProgram([
        {
          name: "main",
          nodes: [
            { id: "x", op: "cos" },
            { id: "c", op: "call", inputs: ["x"], calls: ["f0"] },
          ],
        },
        ...graphs,
      ]),
      { depth: 9999 },
    );
    expect(view.boxCount).toBe(2 + 800 * 2);
    expect(view.edgeCount).toBe(801);
  });

  it("a graph that is called from a thousand places stays within bounds", () => {
    const leaf = {
      name: "leaf",
      nodes: [
        { id: "p", op: "parameter", role: "parameter" },
        ...range(1000, (i) => ({ id: `n${i}`, op: "sin", inputs: [i ? `n${i - 1}` : "p"] })),
      ] as NodeSketch[],
    };
    const calls = range(1000, (i): NodeSketch => ({ id: `c${i}`, op: "call", inputs: i ? [`c${i - 1}`] : [], calls: ["leaf"] }));
    const view = buildView(makeProgram([{ name: "main", nodes: calls }, leaf]), { depth: 9, fold: false });
    expect(view.boxCount).toBeLessThan(410_000);
    expect(view.remarks[0]).toMatch(/stay closed/);
  });

  it("long, right-to-left and hostile names", () => {
    const names = ["x".repeat(10_000), "مرحبا", "🙂🙃", "</script><img onerror=alert(1)>", "a>b/c@d%e", ""];
    const nodes = names.map((id, i): NodeSketch => ({ id, op: "sin", inputs: i ? [names[i - 1]] : [], scope: "g" }));
    const program = makeProgram([{ name: "main", nodes: [...nodes, { id: "o", op: "cos", inputs: ["a>b/c@d%e"] }] }]);
    const view = buildView(program, { depth: 9 });
    expect(view.key).toContain("n:a%3Eb%2Fc%40d%25e");
    expect(Array.from(buildView(program, { around: ["n:a%3Eb%2Fc%40d%25e"], hops: 0 }).boxOfNode).filter((box) => box >= 0).length).toBe(1);
    expect(Array.from(search(program, "onerror").nodes)).toEqual([3]);
  });
});
