import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BoxKind, EdgeKind, type ProgramData, type ViewSpec, type Visible } from "../../src/core/program/types";
import { buildView } from "../../src/core/view";
import { makeProgram, type NodeSketch } from "./program";

/** Any graph: groups, multi-edges, cycles, self-loops, isolated nodes, constants, parameters, plumbing and calls. */
const sketches = fc.array(
  fc.record({
    op: fc.constantFrom("add", "dot", "tuple", "get-tuple-element", "bitcast", "reduce", "broadcast"),
    role: fc.constantFrom("op" as const, "op" as const, "op" as const, "parameter" as const, "constant" as const),
    inputs: fc.array(fc.nat(30), { maxLength: 3 }),
    scope: fc.constantFrom("", "a", "a/b", "a/c", "d_0", "d_1", "d_0/e", "d_1/e"),
    scalar: fc.boolean(),
    calls: fc.constantFrom(0, 0, 0, 1),
    control: fc.option(fc.nat(30), { nil: undefined }),
  }),
  { minLength: 1, maxLength: 30 },
);
type Sketches = typeof sketches extends fc.Arbitrary<infer T> ? T : never;

function build(list: Sketches, acyclic = false): ProgramData {
  const nodes = list.map((one, i): NodeSketch => {
    const source = (k: number): number => (acyclic ? (i === 0 ? -1 : k % i) : k % list.length);
    return {
      id: `n${i}`,
      op: one.op,
      role: one.role,
      inputs:
        one.role === "op"
          ? one.inputs
              .map(source)
              .filter((k) => k >= 0)
              .map((k) => `n${k}`)
          : [],
      scope: one.scope,
      types: [one.scalar ? "f32[]" : "f32[4, 4]"],
      text: one.role === "constant" && one.scalar ? "1.5" : undefined,
      calls: one.calls && one.role === "op" ? ["f"] : [],
      control: one.control === undefined || (acyclic && i === 0) ? [] : [`n${source(one.control)}`],
    };
  });
  const f: NodeSketch[] = [
    { id: "p", op: "parameter", role: "parameter", types: ["f32[4, 4]"] },
    { id: "q", op: "exp", inputs: ["p"] },
    { id: "r", op: "mul", inputs: ["q", "p"] },
    { id: "s", op: "dot", inputs: ["r", "q"], types: ["f32[4, 4]"] },
  ];
  return makeProgram([
    { name: "main", nodes },
    { name: "f", nodes: f },
  ]);
}

const specs: fc.Arbitrary<ViewSpec> = fc.record({
  depth: fc.constantFrom(0, 1, 2, 9),
  flatten: fc.boolean(),
  calls: fc.boolean(),
  values: fc.constantFrom("edges" as const, "boxes" as const),
  rules: fc.record({
    inlineSmall: fc.boolean(),
    inlineReducers: fc.boolean(),
    stubs: fc.boolean(),
    plumbing: fc.boolean(),
  }),
  fold: fc.boolean(),
});

function checkWellFormed(view: Visible): void {
  expect(new Set(view.key).size, "keys are unique").toBe(view.boxCount);
  for (let box = 0; box < view.boxCount; box++) {
    const parent = view.parent[box];
    expect(parent, "a box is never its own parent").not.toBe(box);
    if (parent >= 0) expect(view.open[parent], "only open boxes hold others").toBe(1);
    expect(view.open[box] & view.expandable[box], "what is open cannot be opened").toBe(0);
  }
  for (let e = 0; e < view.edgeCount; e++) {
    expect(view.edgeCountMerged[e]).toBeGreaterThan(0);
    for (const [inner, outer] of [
      [view.edgeSource[e], view.edgeTarget[e]],
      [view.edgeTarget[e], view.edgeSource[e]],
    ]) {
      for (let box = view.parent[inner]; box >= 0; box = view.parent[box])
        expect(box, "no edge between a box and what holds it").not.toBe(outer);
    }
    for (const port of [view.sourcePort[e], view.targetPort[e]]) if (!Number.isNaN(port)) expect(port > 0 && port < 1).toBe(true);
  }
}

describe("any view of any graph", () => {
  it("is well formed, and shows every node somewhere", () => {
    fc.assert(
      fc.property(sketches, specs, (list, spec) => {
        const program = build(list);
        const view = buildView(program, spec);
        checkWellFormed(view);
        const rules = spec.rules ?? {};
        for (let n = 0; n < list.length; n++) {
          const box = view.boxOfNode[n];
          const mayVanish = rules.plumbing || rules.inlineSmall;
          if (!mayVanish) expect(box).toBeGreaterThanOrEqual(0);
          if (box >= 0 && view.kind[box] === BoxKind.Node && !mayVanish && !spec.fold) expect(view.node[box]).toBe(n);
        }
      }),
      { numRuns: 300, seed: 7 },
    );
  });

  it("gives each node of the shown graph exactly one place when no rule hides any", () => {
    const rules = { inlineSmall: false, inlineReducers: false, stubs: false, plumbing: false };
    fc.assert(
      fc.property(sketches, fc.constantFrom(0, 1, 2, 9), (list, depth) => {
        const view = buildView(build(list), { depth, calls: false, fold: false, rules });
        let inside = 0;
        for (let box = 0; box < view.boxCount; box++) if (view.open[box] === 0) inside += view.nodesInside[box];
        expect(inside).toBe(list.length);
      }),
      { numRuns: 200, seed: 8 },
    );
  });

  it("merges edges without losing any: what is drawn and what stays inside a closed box add up to all", () => {
    const rules = { inlineSmall: false, inlineReducers: false, stubs: false, plumbing: false };
    fc.assert(
      fc.property(sketches, fc.constantFrom(0, 1, 2, 9), (list, depth) => {
        const program = build(list);
        const view = buildView(program, { depth, calls: false, fold: false, rules, hideRoles: ["output"] });
        let drawn = 0;
        for (let e = 0; e < view.edgeCount; e++) if (view.edgeKind[e] === EdgeKind.Data) drawn += view.edgeCountMerged[e];
        let hidden = 0;
        let all = 0;
        for (let n = 0; n < list.length; n++) {
          for (let i = program.inputs.start[n]; i < program.inputs.start[n + 1]; i++) {
            const source = program.inputs.value[i];
            all++;
            const unused = view.key[view.boxOfNode[n]] === "r:unconnected" && !view.open[view.boxOfNode[n]];
            if (unused && view.boxOfNode[n] !== view.boxOfNode[source]) hidden++;
            else if (view.boxOfNode[n] === view.boxOfNode[source] && (source !== n || view.kind[view.boxOfNode[n]] !== BoxKind.Node)) {
              hidden += source === n && view.kind[view.boxOfNode[n]] === BoxKind.Call ? 0 : 1;
            }
          }
        }
        expect(drawn + hidden).toBe(all);
      }),
      { numRuns: 200, seed: 9 },
    );
  });

  it("is the same after opening a box and closing it again", () => {
    fc.assert(
      fc.property(sketches, specs, fc.nat(), (list, spec, pick) => {
        const program = build(list);
        const before = buildView(program, { ...spec, depth: 0 });
        const closed = Array.from(before.key.keys()).filter((box) => before.expandable[box] === 1);
        if (closed.length === 0) return;
        const key = before.key[closed[pick % closed.length]];
        const opened = buildView(program, { ...spec, depth: 0, open: [key] });
        expect(opened.open[opened.key.indexOf(key)]).toBe(1);
        expect(buildView(program, { ...spec, depth: 0, open: [key], closed: [key] })).toEqual(before);
      }),
      { numRuns: 150, seed: 10 },
    );
  });

  it("is built once at first sight, whatever is open then", () => {
    fc.assert(
      fc.property(sketches, specs, (list, { calls, fold, rules }) => {
        const program = build(list);
        const first: ViewSpec = { calls, fold, rules };
        const view = buildView(program, first);
        expect(buildView(program, { ...first, open: [], closed: [] })).toBe(view);
        // An option that is named, even with its default, is not in that view.
        const again = buildView(program, { ...first, names: false });
        expect(again).not.toBe(view);
        expect(again).toEqual(view);
      }),
      { numRuns: 100, seed: 12 },
    );
  });

  it("draws the flow forward between groups that fold: no new cycle", () => {
    fc.assert(
      fc.property(sketches, (list) => {
        const program = build(list, true);
        const circles = (view: Visible): boolean => {
          const degree = new Int32Array(view.boxCount);
          for (const target of view.edgeTarget) degree[target]++;
          const ready = Array.from(degree.keys()).filter((box) => degree[box] === 0);
          let count = 0;
          for (let q = 0; q < ready.length; q++, count++) {
            for (let e = 0; e < view.edgeCount; e++)
              if (view.edgeSource[e] === ready[q] && --degree[view.edgeTarget[e]] === 0) ready.push(view.edgeTarget[e]);
          }
          return count < view.boxCount;
        };
        const rules = { inlineSmall: false, inlineReducers: false, stubs: false, plumbing: false };
        const control = { depth: 0, calls: false };
        const flat = buildView(program, { ...control, fold: false, rules });
        const folded = buildView(program, { ...control, fold: true, rules });
        if (list.every((one) => one.control === undefined) && !circles(flat)) expect(circles(folded)).toBe(false);
      }),
      { numRuns: 300, seed: 11 },
    );
  });
});
