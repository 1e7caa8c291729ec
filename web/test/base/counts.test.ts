/** Counts look as the browser writes them, and the browser is not asked: its first number blocks the page for tens of milliseconds. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { countText } from "../../src/core/text/quantities";

const SRC = join(import.meta.dirname, "../../src");
const HOME = "core/text/quantities.ts";

describe("counts", () => {
  it("are written as the browser writes them", () => {
    const numbers = fc.oneof(
      fc.integer(),
      fc.maxSafeInteger(),
      fc.integer().map((n) => n / 8),
      fc.constantFrom(0, 999, 1000, -1000, 1e21, Infinity),
    );
    fc.assert(fc.property(numbers, (n) => countText(n) === n.toLocaleString("en-US")));
  });

  it("have one home", () => {
    const files = readdirSync(SRC, { recursive: true }).filter((file) => /\.tsx?$/.test(file) && file !== HOME);
    expect(files.filter((file) => readFileSync(join(SRC, file), "utf-8").includes("toLocaleString"))).toEqual([]);
  });
});
