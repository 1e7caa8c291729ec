/** Where very long pictures are cut. */
import { describe, expect, it } from "vitest";
import { cutLines, evenColumns, type Flow, Frontier, outermostFrames } from "../../src/core/scene/wrap/cuts";
import type { Visible } from "../../src/core/program/types";

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

function lengths({ visible, flow }: ReturnType<typeof frames>, columns: number): number[] {
  const cuts = cutLines(new Frontier(visible, flow.v, flow.vSize), outermostFrames(visible, flow), flow, columns);
  return [...cuts, flow.along].map((end, i) => end - (i ? cuts[i - 1] : 0));
}

describe("columns", () => {
  it("end within a screen at half size of each other, though a frame ends elsewhere", () => {
    const found = lengths(frames(Array.from({ length: 12 }, () => ({ across: 6000, boxes: 290 }))), 7);
    expect(found).toHaveLength(7);
    expect(Math.max(...found) - Math.min(...found)).toBeLessThanOrEqual(2000);
  });

  it("are as many as make frames of unlike breadth end together", () => {
    const step = frames([
      { across: 2000, boxes: 1500 },
      { across: 6500, boxes: 4700 },
      { across: 1500, boxes: 750 },
    ]);
    const columns = evenColumns(outermostFrames(step.visible, step.flow), step.flow, "TB")!;
    const found = lengths(step, columns);
    expect(Math.min(...found)).toBeGreaterThan(0.7 * Math.max(...found));
  });

  it("have no place of their own for what would leave most of one empty", () => {
    const step = frames([
      { across: 1200, boxes: 9000 },
      { across: 4700, boxes: 150 },
    ]);
    expect(evenColumns(outermostFrames(step.visible, step.flow), step.flow, "TB")).toBeUndefined();
  });
});
