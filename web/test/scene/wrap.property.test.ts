/** Whatever is wrapped: boxes keep apart, stay in their frames and in the picture, and every edge is still there. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { layoutCompound } from "../../src/core/layout";
import { buildScene, measure, Shape, wrap } from "../../src/core/scene";
import { BoxKind } from "../../src/core/program/types";
import { type BoxLiteral, type EdgeLiteral, NO_PROGRAM, visibleOf } from "./fixtures";

/** Height of a frame's title line. */
const TITLE = 22;

/** Groups in groups, operations in them, and edges of every kind: forwards, backwards, to frames, twice, to itself. */
const pictures = fc.record({
  groups: fc.array(fc.nat(), { maxLength: 6 }),
  nodes: fc.array(fc.nat(), { minLength: 1, maxLength: 40 }),
  edges: fc.array(fc.tuple(fc.nat(), fc.nat()), { maxLength: 60 }),
  chain: fc.boolean(),
  direction: fc.constantFrom("TB" as const, "LR" as const),
});

it("loses nothing and overlaps nothing", () => {
  fc.assert(
    fc.property(pictures, ({ groups, nodes, edges, chain, direction }) => {
      const frames = groups.map((above, i): BoxLiteral => {
        const parent = above % (i + 1);
        return { id: `g${i}`, kind: BoxKind.Group, open: true, parent: parent ? `g${parent - 1}` : undefined };
      });
      const leaves = nodes.map((above, i): BoxLiteral => {
        const parent = above % (groups.length + 1);
        return { id: `n${i}`, subtitle: "f32[8]", parent: parent ? `g${parent - 1}` : undefined };
      });
      const boxes = [...frames, ...leaves];
      const pairs: EdgeLiteral[] = edges
        .map(([a, b]): [BoxLiteral, BoxLiteral] => [boxes[a % boxes.length], boxes[b % boxes.length]])
        // No view has an edge between a box and what holds it (test/view/properties.test.ts).
        .filter(([a, b]) => !holds(boxes, a, b) && !holds(boxes, b, a))
        .map(([a, b]) => [a.id, b.id]);
      if (chain) for (let i = 1; i < leaves.length; i++) pairs.push([`n${i - 1}`, `n${i}`]);
      const visible = visibleOf(boxes, pairs);
      const layout = layoutCompound(measure(visible), { direction });
      const scene = buildScene(NO_PROGRAM, visible, wrap(visible, layout, direction), { direction });

      const shownEdges = new Set(scene.edge);
      for (let e = 0; e < visible.edgeCount; e++) {
        if (layout.pointStart[e + 1] - layout.pointStart[e] > 1)
          expect(shownEdges.has(e) || isShared(visible.edgeValue, e, shownEdges)).toBe(true);
      }
      const { x, y, w, h, parent } = scene;
      for (let i = 0; i < scene.boxCount; i++) {
        expect(x[i]).toBeGreaterThanOrEqual(0);
        expect(y[i]).toBeGreaterThanOrEqual(0);
        expect(x[i] + w[i]).toBeLessThanOrEqual(scene.width + 1e-6);
        expect(y[i] + h[i]).toBeLessThanOrEqual(scene.height + 1e-6);
        const frame = parent[i];
        if (frame < 0) continue;
        expect(x[i]).toBeGreaterThanOrEqual(x[frame] - 1e-6);
        expect(y[i]).toBeGreaterThanOrEqual(y[frame] - 1e-6);
        expect(x[i] + w[i]).toBeLessThanOrEqual(x[frame] + w[frame] + 1e-6);
        expect(y[i] + h[i]).toBeLessThanOrEqual(y[frame] + h[frame] + 1e-6);
      }
      for (const label of direction === "TB" ? [...scene.labels].filter(({ kind }) => kind === "cut") : []) {
        for (let i = 0; i < visible.boxCount; i++) {
          const inTitle =
            scene.shape[i] === Shape.Frame && label.x > x[i] && label.x < x[i] + w[i] && label.y > y[i] && label.y < y[i] + TITLE;
          expect(inTitle, `number ${label.text} in the title of ${i}`).toBe(false);
        }
      }
      for (let a = 0; a < scene.boxCount; a++) {
        for (let b = a + 1; b < scene.boxCount; b++) {
          if (parent[a] !== parent[b] || scene.shape[a] === Shape.Frame || scene.shape[b] === Shape.Frame) continue;
          const apart =
            x[a] + w[a] <= x[b] + 1e-6 || x[b] + w[b] <= x[a] + 1e-6 || y[a] + h[a] <= y[b] + 1e-6 || y[b] + h[b] <= y[a] + 1e-6;
          expect(apart, `${a} and ${b}`).toBe(true);
        }
      }
    }),
    { numRuns: 40 },
  );
}, 120_000);

function holds(boxes: readonly BoxLiteral[], frame: BoxLiteral, box: BoxLiteral): boolean {
  for (let parent = box.parent; parent !== undefined; parent = boxes.find(({ id }) => id === parent)?.parent)
    if (parent === frame.id) return true;
  return false;
}

/** Cut edges that leave or reach one box share a stub. */
function isShared(values: Int32Array, edge: number, shown: ReadonlySet<number>): boolean {
  for (const other of shown) if (values[other] === values[edge]) return true;
  return false;
}
