import { expect, it } from "vitest";
import { secondsText } from "../../src/ui/timeline/strip";

it("writes durations without exponents", () => {
  const texts = [0.00025, 0.002, 0.0042, 0.0304, 0.11, 0.9996, 1.25, 12.4, 1234].map(secondsText);
  expect(texts).toEqual(["250 µs", "2 ms", "4.2 ms", "30 ms", "110 ms", "1 s", "1.3 s", "12 s", "1,234 s"]);
});
