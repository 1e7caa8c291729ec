import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { opName } from "../../src/core/program/ops";
import { type ProgramData, ROLES } from "../../src/core/program/types";
import { decodeUtf8 } from "../../src/core/base/utf8";
import { decodeProgram } from "../../src/core/program/decode";
import { decodeDetails } from "../../src/core/program/details";
import { python } from "../support/python";

const directory = mkdtempSync(join(tmpdir(), "opscope-wire-"));
const bytesOf = (name: string): Uint8Array => new Uint8Array(readFileSync(join(directory, name)));

interface Expected {
  name: string;
  entry: number;
  graphs: string[];
  nodes: {
    id: string;
    op: string;
    role: string;
    inputs: number[][];
    types: unknown[][];
    calls: number[];
    control: number[];
    links: unknown[][];
    scope: string[];
    attrs: unknown;
    source: unknown;
  }[];
  outputs: number[][][];
  metrics: { name: string; values: (number | null)[] }[];
}

describe("bytes that Python wrote", () => {
  let expected: Expected;
  let program: ProgramData;

  beforeAll(() => {
    python("wire/write_sample.py", directory);
    expected = JSON.parse(readFileSync(join(directory, "expected.json"), "utf-8")) as Expected;
    program = decodeProgram(bytesOf("whole.opsw"));
  });

  const row = (csr: { start: Int32Array; value: Int32Array }, i: number): number[] =>
    Array.from(csr.value.subarray(csr.start[i], csr.start[i + 1]));
  const pairs = (csr: { start: Int32Array; value: Int32Array; extra: Int32Array }, i: number): number[][] =>
    row(csr, i).map((value, k) => [value, csr.extra[csr.start[i] + k]]);

  it("contain every number of every metric, exactly; ratios have their parts", () => {
    const metrics = program.metrics.map(({ values, ratio, ...definition }) => ({
      ...definition,
      values: ratio ? ratio.map(({ name }) => name) : Array.from(values, (value) => (Number.isNaN(value) ? null : value)),
    }));
    const parts = { speed: ["flops", "time"], intensity: ["flops", "bytes"] } as Record<string, unknown>;
    expect(metrics).toEqual(expected.metrics.map((metric) => ({ ...metric, values: parts[metric.name] ?? metric.values })));
    expect(metrics.map(({ name }) => name)).toEqual(["time", "speed", "flops", "bytes", "intensity"]);
    expect(metrics[0].values.filter((value) => value !== null)).toHaveLength(300);
  });

  it("contain the same program, node for node", () => {
    const { strings, types } = program;
    const module = program.groupings.find((one) => one.name === "module");
    const scope = (n: number): string[] => {
      const path: string[] = [];
      for (let g = module?.nodeGroup[n] ?? -1; g >= 0; g = module?.groupParent[g] ?? -1)
        path.unshift(strings.at(module?.groupName[g] ?? -1));
      return path;
    };
    const nodes = Array.from({ length: program.nodeCount }, (_, n) => ({
      id: strings.at(program.nodeId[n]),
      op: opName(program, n),
      role: ROLES[program.nodeRole[n]],
      inputs: pairs(program.inputs, n),
      types: row(program.outputs, n).map((t) => [
        strings.at(types.text[t]),
        strings.at(types.dtype[t]),
        strings.at(types.layout[t]),
        types.bytes[t],
      ]),
      calls: row(program.calls, n),
      control: row(program.control, n),
      links: pairs(program.links, n).map(([kind, node]) => [strings.at(kind), node]),
      scope: scope(n),
      ...program.details(n),
    }));
    expect(nodes).toEqual(expected.nodes);
  });

  it("contain the same graphs and results", () => {
    expect(program.name).toBe(expected.name);
    expect(program.entry).toBe(expected.entry);
    expect(Array.from(program.graphName, (name) => program.strings.at(name))).toEqual(expected.graphs);
    expect(expected.graphs.map((_, g) => pairs(program.graphOutputs, g))).toEqual(expected.outputs);
  });

  it("may lie anywhere in a larger buffer", () => {
    const bytes = bytesOf("whole.opsw");
    const shifted = new Uint8Array(bytes.length + 3);
    shifted.set(bytes, 3);
    const moved = decodeProgram(shifted.subarray(3));
    expect(Array.from(moved.inputs.value)).toEqual(Array.from(program.inputs.value));
    expect(Array.from(moved.types.bytes)).toEqual(Array.from(program.types.bytes));
  });

  it("give details from elsewhere where they were left out", () => {
    const bare = decodeProgram(bytesOf("bare.opsw"), {
      details: (node) => ({ attrs: { asked: node }, source: [] }),
      ownLine: (node) => `line ${node}`,
    });
    expect(bare.details(3)).toEqual({ attrs: { asked: 3 }, source: [] });
    expect(bare.ownLine(3)).toBe("line 3");
    expect(decodeProgram(bytesOf("bare.opsw")).details(3)).toBeUndefined();
    const block = decodeDetails(bytesOf("block.opsw"));
    expect([block.start, block.count]).toEqual([4, 5]);
    expect(block.details(6)).toEqual(program.details(6));
    expect(block.details(3)).toBeUndefined();
  });

  it("answer for all nodes at once which have an attribute or come from a line", () => {
    const call = expected.nodes.findIndex((node) => node.id === "call");
    const marked = (marks: Uint8Array | undefined): number[] => Array.from(marks?.keys() ?? []).filter((n) => marks?.[n] === 1);
    expect(marked(program.findAttribute("op_name", (text) => text.includes("jit")))).toEqual([call]);
    expect(marked(program.findAttribute("config", (text) => text.includes("[1,2,null]")))).toEqual([call]);
    expect(marked(program.findSource((text) => text === "model.py:12 forward"))).toEqual([call]);
  });

  it("are refused with a sentence when they are damaged", () => {
    const bytes = bytesOf("whole.opsw");
    expect(() => decodeProgram(new Uint8Array(3))).toThrow("not an opscope program");
    expect(() => decodeProgram(bytes.slice(0, bytes.length - 4000))).toThrow("truncated");
    const newer = bytes.slice();
    newer[4] = 9;
    expect(() => decodeProgram(newer)).toThrow("version 9");
  });
});

describe("UTF-8", () => {
  const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

  it("is read without help from the browser, short and long", () => {
    for (const text of ["", "a", "größe", "名前", "🙂", "x".repeat(100), "名".repeat(50)]) {
      const bytes = encode(text);
      expect(decodeUtf8(bytes, 0, bytes.length)).toBe(text);
    }
  });

  it("survives broken sequences", () => {
    expect(decodeUtf8(Uint8Array.from([0x61, 0xff, 0x62]), 0, 3)).toBe("a\ufffdb");
    expect(decodeUtf8(Uint8Array.from([0xe5, 0x90]), 0, 2)).toContain("\ufffd");
  });
});
