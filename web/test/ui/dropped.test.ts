import { describe, expect, it } from "vitest";
import { areRules } from "../../src/core/highlight/rules";
import { isNodeData } from "../../src/core/highlight/nodeData";
import { viewCommand } from "../../src/ui/files/dropped";

describe("the command for a dropped file", () => {
  it("is quoted where a shell needs it", () => {
    expect(viewCommand(["step.hlo", "a-b_1,2@3.json"])).toBe("opscope view step.hlo a-b_1,2@3.json");
    expect(viewCommand(["my step.hlo"])).toBe("opscope view 'my step.hlo'");
    expect(viewCommand(["it's $(rm).json"])).toBe("opscope view 'it'\\''s $(rm).json'");
    expect(viewCommand(["--help", "é.json"])).toBe("opscope view '--help' 'é.json'");
  });
});

describe("a dropped JSON file", () => {
  it("is a list of style rules if each of them has queries", () => {
    expect([[], [{ queries: 1 }]].map(areRules)).toEqual([true, true]);
    expect([[1], [null], [{ label: "graphs", graphs: [] }], {}, null].map(areRules)).toEqual([false, false, false, false, false]);
  });

  it("is node data if it has results, for one graph or for each", () => {
    expect([{ results: {} }, { main: { results: {} } }].map(isNodeData)).toEqual([true, true]);
    expect([{}, [], null, 3, { results: [] }, { main: {} }, { graphs: [] }].map(isNodeData)).toEqual(Array(7).fill(false));
  });
});
