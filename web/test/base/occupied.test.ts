import { describe, expect, it } from "vitest";
import { Plates } from "../../src/ui/canvas/plates";

describe("names on the screen", () => {
  it("take only free places: the first keeps its own, whatever row it reaches into", () => {
    const plates = new Plates();
    expect(plates.take(10, 10, 60, 14)).toBe(true);
    expect(plates.take(60, 20, 60, 14)).toBe(false);
    expect(plates.meets(0, 23, 20, 5)).toBe(true);
    expect(plates.take(10, 24, 60, 14)).toBe(true);
    expect(plates.take(70, 10, 60, 14)).toBe(true);
    expect(plates.meets(-40, -20, 30, 14)).toBe(false);
  });
});
