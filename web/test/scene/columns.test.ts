/** Where very long pictures are cut. */
import { describe, expect, it } from "vitest";
import { layoutCompound } from "../../src/core/layout";
import { BoxKind, type Visible } from "../../src/core/program/types";
import { buildScene, measure, wrap } from "../../src/core/scene";
import { evenCuts, type Flow, Frontier, isThread } from "../../src/core/scene/wrap/cuts";
import { type Columns, pagesOf } from "../../src/core/scene/wrap/pages";
import { type BoxLiteral, type EdgeLiteral, NO_PROGRAM, visibleOf } from "./fixtures";

/** Outermost frames below each other, each with a chain of boxes of 100 px. */
function frames(sizes: readonly { readonly across: number; readonly boxes: number }[]): { visible: Visible; flow: Flow } {
  const rows: { parent: number; open: number; v: number; vSize: number; uSize: number }[] = [];
  let v = 0;
  for (const { across, boxes } of sizes) {
    const frame = rows.push({ parent: -1, open: 1, v, vSize: 100 * boxes, uSize: across }) - 1;
    for (let i = 0; i < boxes; i++) rows.push({ parent: frame, open: 0, v: v + 100 * i + 10, vSize: 60, uSize: across });
    v += 100 * boxes + 40;
  }
  const visible = {
    boxCount: rows.length,
    parent: Int32Array.from(rows, (row) => row.parent),
    open: Uint8Array.from(rows, (row) => row.open),
    edgeCount: 0,
    edgeSource: new Int32Array(0),
    edgeTarget: new Int32Array(0),
  } as unknown as Visible;
  const column = (of: "v" | "vSize" | "uSize") => Float64Array.from(rows, (row) => row[of]);
  const flow = { u: new Float64Array(rows.length), v: column("v"), uSize: column("uSize"), vSize: column("vSize"), along: v, across: 6000 };
  return { visible, flow };
}

type Step = ReturnType<typeof frames>;

const frontierOf = ({ visible, flow }: Step) => new Frontier(visible, flow.v, flow.vSize);
const pages = (step: Step) => pagesOf(step.visible, step.flow, frontierOf(step), "TB");
const lengths = (cuts: readonly number[], { flow }: Step) => [...cuts, flow.along].map((end, i) => end - (i ? cuts[i - 1] : 0));

/** How long each page is: in each of its rows, its longest column. */
function pageLengths({ cuts, pages }: Columns, step: Step): number[] {
  const long = lengths(cuts, step);
  return pages.map((rows) => rows.reduce((sum, row) => sum + Math.max(...row.map((column) => long[column])), 0));
}

describe("columns", () => {
  it("end within a screen at half size of each other, though a frame ends elsewhere", () => {
    const step = frames(Array.from({ length: 12 }, () => ({ across: 6000, boxes: 290 })));
    const found = lengths(evenCuts(frontierOf(step), step.flow.along, 7), step);
    expect(found).toHaveLength(7);
    expect(Math.max(...found) - Math.min(...found)).toBeLessThanOrEqual(2000);
  });

  it("are all of one breadth where frames are alike, or small", () => {
    expect(pages(frames(Array.from({ length: 12 }, () => ({ across: 6000, boxes: 290 }))))).toBeUndefined();
    const step = frames([
      { across: 2000, boxes: 60 },
      { across: 6500, boxes: 4700 },
    ]);
    expect(pages(step)).toBeUndefined();
  });
});

describe("pages", () => {
  const step = frames([
    { across: 2000, boxes: 1500 },
    { across: 6500, boxes: 4700 },
    { across: 1500, boxes: 750 },
  ]);

  it("end together, whatever is on them", () => {
    const found = pageLengths(pages(step)!, step);
    expect(found.length).toBeGreaterThan(3);
    expect(Math.max(...found) - Math.min(...found)).toBeLessThanOrEqual(3000);
  });

  it("have every column once, in the order of the flow", () => {
    const { cuts, pages: found } = pages(step)!;
    expect(found.flat(2)).toEqual(Array.from({ length: cuts.length + 1 }, (_, column) => column));
    expect(lengths(cuts, step).every((length) => length > 0)).toBe(true);
  });

  it("have what is narrow in columns beside each other, above what follows", () => {
    const [first] = pages(
      frames([
        { across: 1200, boxes: 200 },
        { across: 4700, boxes: 1200 },
      ]),
    )!.pages;
    expect(first.map((row) => row.length)).toEqual([3, 1]);
  });

  it("have what is left beside a narrow row on both sides of it", () => {
    const { visible, flow } = frames([
      { across: 1600, boxes: 200 },
      { across: 5700, boxes: 1200 },
    ]);
    const none = { points: new Float64Array(0), pointStart: new Int32Array(1), reversed: new Uint8Array(0), laidOut: 0, reused: 0 };
    const { u: x, v: y, uSize: w, vSize: h, along: height, across: width } = flow;
    const placed = wrap(visible, { ...none, x, y, w, h, width, height }, "TB");
    const inRow = [...placed.box.keys()].filter((i) => visible.parent[placed.box[i]] === 0);
    const columns = [...new Set(inRow.map((i) => placed.x[i]))].sort((a, b) => a - b);
    expect(columns.length).toBe(3);
    expect(columns[0]).toBeGreaterThan(100);
    expect(columns[2] - columns[1]).toBeCloseTo(columns[1] - columns[0]);
  });

  it.each(["TB", "LR"] as const)("overlap nothing, and have every box in its frame (%s)", (direction) => {
    const boxes: BoxLiteral[] = [];
    const edges: EdgeLiteral[] = [];
    const chain = (frame: string, name: string, length: number) => {
      for (let i = 0; i < length; i++) {
        boxes.push({ id: `${name}.${i}`, subtitle: "f32[8]", parent: frame });
        if (i) edges.push([`${name}.${i - 1}`, `${name}.${i}`]);
      }
    };
    const frame = (id: string) => boxes.push({ id, kind: BoxKind.Group, open: true, parent: undefined });
    frame("narrow");
    chain("narrow", "a", 150);
    frame("broad");
    for (let i = 0; i < 40; i++) {
      chain("broad", `b${i}`, 150);
      edges.push(["a.149", `b${i}.0`]);
    }
    const visible = visibleOf(boxes, edges);
    const layout = layoutCompound(measure(visible), { direction });
    const scene = buildScene(NO_PROGRAM, visible, wrap(visible, layout, direction), { direction });
    const right = (i: number) => scene.x[i] + scene.w[i];
    const bottom = (i: number) => scene.y[i] + scene.h[i];
    const items = scene.box.filter((box) => visible.title[box] === "narrow").length;
    expect(items).toBeGreaterThan(1); // it is in several columns
    const leaves = [...scene.box.keys()].filter((i) => !visible.open[scene.box[i]]);
    const rows = new Map<string, number[]>();
    for (const i of leaves) {
      for (let column = Math.floor(scene.x[i] / 500); column <= right(i) / 500; column++)
        for (let row = Math.floor(scene.y[i] / 500); row <= bottom(i) / 500; row++) {
          const near = rows.get(`${column},${row}`) ?? [];
          const hit = near.find((j) => scene.x[i] < right(j) && scene.x[j] < right(i) && scene.y[i] < bottom(j) && scene.y[j] < bottom(i));
          expect(hit === undefined ? "" : `${visible.key[scene.box[i]]} is over ${visible.key[scene.box[hit]]}`).toBe("");
          rows.set(`${column},${row}`, [...near, i]);
        }
    }
    const outside = [...scene.parent.keys()].filter((i) => {
      const around = scene.parent[i];
      return around >= 0 && (scene.x[i] < scene.x[around] || right(i) > right(around) || bottom(i) > bottom(around));
    });
    expect(outside).toEqual([]);
  });
});

describe("a picture is set in columns", () => {
  const long = (on: "page" | "screen", width: number, height: number) => isThread({ width, height }, "TB", on);

  it("in a file from two and a half times its breadth on, if it is longer than a page", () => {
    // a training step with a scan in HLO: the lines of 16 weights went down all of it
    expect([long("page", 1635, 5247), long("page", 1560, 4255), long("page", 1560, 3600), long("page", 400, 3000)]).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

  it("on a screen only if it is too deep to scroll through", () => {
    expect([long("screen", 1635, 5247), long("screen", 12_000, 40_000), long("screen", 8000, 40_000)]).toEqual([false, false, true]);
  });
});
