import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { buildSpatial, querySpatial } from "../../src/ui/canvas/spatial";

const rect = fc.record({
  x: fc.integer({ min: -5000, max: 5000 }),
  y: fc.integer({ min: -90000, max: 90000 }),
  w: fc.integer({ min: 0, max: 3000 }),
  h: fc.integer({ min: 0, max: 100000 }),
});

describe("spatial index", () => {
  it("finds exactly what a look at every item finds, boxes and page-long edges alike", () => {
    fc.assert(
      fc.property(fc.array(rect, { maxLength: 60 }), rect, (items, q) => {
        const index = buildSpatial(
          Float32Array.from(items, (i) => i.x),
          Float32Array.from(items, (i) => i.y),
          Float32Array.from(items, (i) => i.x + i.w),
          Float32Array.from(items, (i) => i.y + i.h),
        );
        const out = new Int32Array(items.length);
        const count = querySpatial(index, q.x, q.y, q.x + q.w, q.y + q.h, out);
        const expected = items.flatMap((i, n) => (i.x <= q.x + q.w && i.x + i.w >= q.x && i.y <= q.y + q.h && i.y + i.h >= q.y ? [n] : []));
        expect([...out.subarray(0, count)].sort((a, b) => a - b)).toEqual(expected);
      }),
    );
  });

  it("stops when the room for answers is used up", () => {
    const same = new Float32Array(10);
    const index = buildSpatial(
      same,
      same,
      same.map(() => 5),
      same.map(() => 5),
    );
    expect(querySpatial(index, 0, 0, 9, 9, new Int32Array(4))).toBe(4);
  });
});
