import { describe, expect, it } from "vitest";
import { Occupied } from "../../src/core/base/occupied";

describe("texts", () => {
  it("take only free places: the first keeps its own, whatever row it reaches into", () => {
    const occupied = new Occupied();
    expect(occupied.take(10, 10, 60, 14)).toBe(true);
    expect(occupied.take(60, 20, 60, 14)).toBe(false);
    expect(occupied.meets(0, 23, 20, 5)).toBe(true);
    expect(occupied.take(10, 24, 60, 14)).toBe(true);
    expect(occupied.take(70, 10, 60, 14)).toBe(true);
    expect(occupied.meets(-40, -20, 30, 14)).toBe(false);
  });
});
