/** From a view to a picture: nothing is lost, no curve overshoots, and names never become markup. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { layoutCompound } from "../../src/core/layout";
import {
  boxTooltip,
  buildScene,
  edgeTooltip,
  unwrapped,
  measure,
  PAINT_ADDED,
  PAINT_CHANGED,
  PAINT_REMOVED,
  PAINT_SAME,
  paintScene,
  type Painter,
  type Scene,
  Shape,
  THEMES,
  wrap,
} from "../../src/core/scene";
import { boxTexts, titlePlate } from "../../src/core/scene/boxText";
import { smooth } from "../../src/core/scene/curves";
import { textWidth } from "../../src/core/text/measure";
import { escapeXml, sceneToSvg } from "../../src/core/writers/svg";
import { BoxKind, type Visible } from "../../src/core/program/types";
import { NO_PROGRAM, transformerLayer, visibleOf } from "./fixtures";

function sceneOf(visible: Visible, direction: "TB" | "LR" = "TB", wrapped = false, operands?: boolean): Scene {
  const layout = layoutCompound(measure(visible), { direction });
  const placed = wrapped ? wrap(visible, layout, direction) : unwrapped(visible, layout);
  return buildScene(NO_PROGRAM, visible, placed, { direction, legend: true, operands });
}

/** A chain of groups, each with a small chain inside, and edges that skip far ahead. */
function longChain(groups: number): Visible {
  const boxes = Array.from({ length: groups }, (_, g) => [
    { id: `g${g}`, kind: BoxKind.Group, open: true },
    ...[0, 1, 2].map((i) => ({ id: `n${g}.${i}`, parent: `g${g}`, subtitle: "f32[8, 8]" })),
  ]).flat();
  const edges: [string, string][] = [];
  for (let g = 0; g < groups; g++) {
    edges.push([`n${g}.0`, `n${g}.1`], [`n${g}.1`, `n${g}.2`]);
    if (g > 0) edges.push([`n${g - 1}.2`, `n${g}.0`]);
  }
  edges.push(["n0.0", `n${groups - 1}.2`]);
  return visibleOf(
    [{ id: "all", kind: BoxKind.Group, open: true }, ...boxes.map((box) => ("parent" in box ? box : { ...box, parent: "all" }))],
    edges,
  );
}

describe("scene", () => {
  it("paints frames from the outside in before everything else, each item once", () => {
    const scene = sceneOf(transformerLayer());
    expect([...scene.order].sort((a, b) => a - b)).toEqual(Array.from({ length: scene.boxCount }, (_, i) => i));
    scene.order.forEach((item, at) => {
      expect(scene.shape[item] === Shape.Frame).toBe(at < scene.frameCount);
      if (at < scene.frameCount && scene.parent[item] >= 0) expect(scene.order.indexOf(scene.parent[item])).toBeLessThan(at);
    });
  });

  it.each(["TB", "LR"] as const)("keeps every box and curve inside the picture (%s)", (direction) => {
    const scene = sceneOf(transformerLayer(), direction);
    for (let i = 0; i < scene.boxCount; i++) {
      expect(scene.x[i]).toBeGreaterThanOrEqual(0);
      expect(scene.y[i]).toBeGreaterThanOrEqual(0);
      expect(scene.x[i] + scene.w[i]).toBeLessThanOrEqual(scene.width);
      expect(scene.y[i] + scene.h[i]).toBeLessThanOrEqual(scene.height);
    }
    for (let p = 0; p < scene.curve.length; p += 2) {
      expect(scene.curve[p]).toBeGreaterThanOrEqual(0);
      expect(scene.curve[p]).toBeLessThanOrEqual(scene.width);
      expect(scene.curve[p + 1]).toBeLessThanOrEqual(scene.height);
    }
  });

  it("names in the legend exactly the categories that are there", () => {
    expect(sceneOf(transformerLayer()).legend.map((entry) => entry.text)).toEqual([
      "elementwise",
      "matmul, conv",
      "reduce",
      "parameter",
      "input, output",
    ]);
  });

  it("writes a count on edges that represent several", () => {
    expect([...sceneOf(transformerLayer()).labels].map((label) => label.text)).toEqual(["×3"]);
  });

  it("writes no count over the title of a group that its edge enters", () => {
    const boxes = [
      { id: "above" },
      { id: "group", kind: BoxKind.Group, open: true, subtitle: "a title that is wider than what is inside the group" },
      { id: "inside", parent: "group" },
    ];
    for (let merged = 2; merged < 6; merged++) {
      const scene = sceneOf(visibleOf(boxes, [["above", "inside", { merged }]]));
      const plate = titlePlate(scene, 1, boxTexts(scene, 1))!;
      for (const { x, y, text } of scene.labels) {
        const half = textWidth(text, 9.5) / 2;
        const isApart = x + half <= plate.x || plate.x + plate.w <= x - half || y + 6 <= plate.y || plate.y + plate.h <= y - 6;
        expect(isApart, text).toBe(true);
      }
    }
  });

  it("numbers operands side by side, never one over another", () => {
    const edges = Array.from({ length: 14 }, () => ["from", "to"] as const);
    const visible = { ...visibleOf([{ id: "from" }, { id: "to" }], edges), edgeOperand: Int32Array.from(edges.keys()) };
    const crowded = { ...visible, targetPort: new Float32Array(14).fill(0.5) };
    const numbers = [...sceneOf(crowded, "TB", false, true).labels].filter(({ kind }) => kind === "operand");
    expect(numbers.length).toBeGreaterThan(0);
    for (const [i, a] of numbers.entries())
      for (const b of numbers.slice(0, i))
        expect(Math.abs(a.x - b.x) >= (textWidth(a.text, 9.5) + textWidth(b.text, 9.5)) / 2 - 0.01 || Math.abs(a.y - b.y) >= 8).toBe(true);
  });

  it("numbers an operand on the side that its line does not come from", () => {
    const boxes = [{ id: "left" }, { id: "right" }, { id: "to" }];
    const visible = visibleOf(boxes, [
      ["left", "to"],
      ["right", "to"],
    ]);
    const scene = sceneOf({ ...visible, edgeOperand: Int32Array.of(0, 1), targetPort: Float32Array.of(1 / 3, 2 / 3) });
    const beside = [...scene.labels].filter(({ kind }) => kind === "operand").map(({ edge, x }) => Math.sign(x - scene.tip[2 * edge]));
    expect(beside).toEqual([1, -1]);
  });

  it("shows the colours of categories only where these colour the picture", () => {
    const visible = transformerLayer();
    const layout = layoutCompound(measure(visible), { direction: "TB" });
    const paints = new Uint8Array(visible.boxCount).fill(PAINT_SAME);
    expect(buildScene(NO_PROGRAM, visible, unwrapped(visible, layout)).mixRow.some((row) => row >= 0)).toBe(true);
    expect(buildScene(NO_PROGRAM, visible, unwrapped(visible, layout), { paints }).mixRow.some((row) => row >= 0)).toBe(false);
  });
});

describe("curves", () => {
  const lane = fc.array(fc.tuple(fc.integer({ min: -500, max: 500 }), fc.integer({ min: 20, max: 300 })), { minLength: 2, maxLength: 8 });

  it("pass through every point of the layout and stay between neighbouring points", () => {
    fc.assert(
      fc.property(lane, (steps) => {
        let y = 0;
        const points = Float64Array.from(
          steps.flatMap(([x, dy]) => {
            y += dy;
            return [x, y];
          }),
        );
        const { curve, curveStart } = smooth(points, Int32Array.of(0, steps.length), false, () => false);
        expect(curveStart[1]).toBe(3 * (steps.length - 1) + 1);
        for (let segment = 0; segment + 1 < steps.length; segment++) {
          const [x0, x1] = [points[2 * segment], points[2 * segment + 2]];
          const at = (i: number) => curve[2 * (3 * segment + i)];
          expect(at(0)).toBeCloseTo(x0, 9);
          expect(at(3)).toBeCloseTo(x1, 9);
          for (const i of [1, 2]) {
            expect(at(i)).toBeGreaterThanOrEqual(Math.min(x0, x1) - 1e-6);
            expect(at(i)).toBeLessThanOrEqual(Math.max(x0, x1) + 1e-6);
          }
        }
      }),
    );
  });

  it("end in a head that points into the box", () => {
    const { curve, curveStart, tip } = smooth(Float64Array.of(0, 0, 30, 100), Int32Array.of(0, 2), false, () => true);
    expect([tip[0], tip[1]]).toEqual([30, 100]);
    const end = 2 * (curveStart[1] - 1);
    expect(curve[end]).toBe(30);
    expect(curve[end + 1]).toBeLessThan(100);
  });
});

describe("wrapping", () => {
  it.each(["TB", "LR"] as const)("breaks a thread into columns without losing or overlapping anything (%s)", (direction) => {
    const visible = longChain(40);
    const whole = sceneOf(visible, direction);
    const scene = sceneOf(visible, direction, true);
    const aspect = (s: Scene) => (direction === "TB" ? s.height / s.width : s.width / s.height);
    expect(aspect(whole)).toBeGreaterThan(8);
    expect(aspect(scene)).toBeLessThan(2.5);
    const leaves = Array.from({ length: scene.boxCount }, (_, i) => i).filter((i) => scene.shape[i] !== Shape.Frame);
    expect(leaves.length).toBe(120);
    for (const a of leaves) {
      for (const b of leaves) {
        if (a >= b) continue;
        const apart =
          scene.x[a] + scene.w[a] <= scene.x[b] ||
          scene.x[b] + scene.w[b] <= scene.x[a] ||
          scene.y[a] + scene.h[a] <= scene.y[b] ||
          scene.y[b] + scene.h[b] <= scene.y[a];
        expect(apart, `${a} and ${b}`).toBe(true);
      }
    }
  });

  it("joins the halves of a cut edge by the same number, and keeps every other edge whole", () => {
    const visible = longChain(40);
    const scene = sceneOf(visible, "TB", true);
    const shown = new Map<number, number[]>();
    for (let e = 0; e < scene.edgeCount; e++) shown.set(scene.edge[e], [...(shown.get(scene.edge[e]) ?? []), e]);
    expect(shown.size).toBe(visible.edgeCount);
    const cuts = [...shown.values()].filter((items) => items.length === 2);
    expect(cuts.length).toBeGreaterThan(0);
    for (const [out, into] of cuts) {
      expect(scene.edgeTarget[out]).toBe(-1);
      expect(scene.edgeSource[into]).toBe(-1);
      const [from, to] = [out, into].map((e) => [...scene.labels].find((label) => label.edge === e)!.text.split(", "));
      expect(to.filter((number) => from.includes(number)).length).toBeGreaterThan(0);
    }
  });

  it("continues frames, each item around what it contains", () => {
    const visible = longChain(40);
    const scene = sceneOf(visible, "TB", true);
    expect(scene.boxCount).toBeGreaterThan(visible.boxCount);
    for (let i = 0; i < scene.boxCount; i++) {
      const frame = scene.parent[i];
      if (frame < 0) continue;
      expect(scene.x[i]).toBeGreaterThanOrEqual(scene.x[frame]);
      expect(scene.y[i]).toBeGreaterThanOrEqual(scene.y[frame]);
      expect(scene.x[i] + scene.w[i]).toBeLessThanOrEqual(scene.x[frame] + scene.w[frame]);
      expect(scene.y[i] + scene.h[i]).toBeLessThanOrEqual(scene.y[frame] + scene.h[frame]);
    }
    expect(sceneToSvg(scene, THEMES.light)).toMatch(/>continued</);
  });
});

describe("tooltips", () => {
  it("give the id of a node, which people search for, next to what it is", () => {
    const scene = sceneOf(
      visibleOf([{ id: "n:while.1>n:dot%2F12", subtitle: "f32[2]" }, { id: "g:layer_0" }], [["n:while.1>n:dot%2F12", "g:layer_0"]], {
        "n:while.1>n:dot%2F12": "dot",
        "g:layer_0": "layer_0",
      }),
    );
    expect(boxTooltip(scene, 0)).toBe("dot\ndot/12\nf32[2]");
    expect(edgeTooltip(scene, 0)).toBe("dot/12 → layer_0");
  });

  it("do not repeat an id that the second line begins with", () => {
    const scene = sceneOf(visibleOf([{ id: "n:avg_pool", subtitle: "avg_pool · f32[2]" }], [], { "n:avg_pool": "pool" }));
    expect(boxTooltip(scene, 0)).toBe("pool\navg_pool · f32[2]");
  });
});

describe("svg", () => {
  it("escapes every name, and says every elided one in full", () => {
    const nasty = `<script>alert("x")</script>&amp;\u0000\ud800 ${"long ".repeat(80)}`;
    const svg = sceneToSvg(sceneOf(visibleOf([{ id: nasty, subtitle: nasty, notes: [nasty] }], [])), THEMES.light, { title: nasty });
    expect(svg).not.toContain("<script");
    expect(svg).not.toMatch(/(?!\n)\p{Cc}|\p{Cs}/u);
    expect(svg).toContain("&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;&amp;amp;\ufffd\ufffd");
    expect(svg.match(/<title>/g)!.length).toBeGreaterThanOrEqual(3);
  });

  it("uses plain hex colours only, and is the same each time", () => {
    const svg = sceneToSvg(sceneOf(transformerLayer()), THEMES.dark);
    expect(svg).toBe(sceneToSvg(sceneOf(transformerLayer()), THEMES.dark));
    for (const [, colour] of svg.matchAll(/(?:fill|stroke)="([^"]*)"/g)) expect(colour).toMatch(/^(none|#[0-9A-F]{6})$/);
    expect(svg).not.toMatch(/NaN|undefined|var\(/);
  });

  it("leaves harmless text alone", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[\w .,[\]→×é層-]*$/), (text) => {
        expect(escapeXml(text)).toBe(text);
      }),
    );
  });

  it("opens and closes what it begins, for every painter", () => {
    let open = 0;
    let deepest = 0;
    const painter: Painter = {
      begin: () => {
        deepest = Math.max(deepest, ++open);
      },
      end: () => {
        open--;
      },
      rect: () => {},
      curve: () => {},
      triangle: () => {},
      text: () => {},
    };
    paintScene(sceneOf(transformerLayer()), THEMES.light, painter);
    expect([open, deepest]).toEqual([0, 1]);
  });
});

describe("marks of what a pass did", () => {
  it("are signs on the boxes, and a dashed border on what is gone", () => {
    const visible = visibleOf([{ id: "new" }, { id: "gone" }, { id: "other" }, { id: "same" }], []);
    const layout = layoutCompound(measure(visible), { direction: "TB" });
    const paints = Uint8Array.of(PAINT_ADDED, PAINT_REMOVED, PAINT_CHANGED, PAINT_SAME);
    const scene = buildScene(NO_PROGRAM, visible, unwrapped(visible, layout), { paints });
    const boxes = sceneToSvg(scene, THEMES.light).split('class="box"').slice(1);
    const signs = boxes.map((box) => /font-size="12"[^>]*>([+−~])</.exec(box)?.[1]);
    expect(signs).toEqual(["+", "−", "~", undefined]);
    expect(boxes.map((box) => box.includes("stroke-dasharray"))).toEqual([false, true, false, false]);
  });
});
