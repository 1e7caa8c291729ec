import { describe, expect, it } from "vitest";
import { compileQuery, search } from "../../src/core/search/search";
import { makeProgram } from "./program";

const program = makeProgram([
  {
    name: "main",
    nodes: [
      { id: "x", op: "parameter", role: "parameter", types: ["f32[8, 1024]"] },
      {
        id: "dot.1",
        op: "dot",
        inputs: ["x"],
        types: ["f32[8, 64]"],
        scope: "layer_3/attention",
        attrs: { backend_config: { kind: "cuBLAS" }, "metadata.op_name": "jit(f)/Dot" },
      },
      { id: "dot.10", op: "dot", inputs: ["x"], types: ["f32[8, 10240]"], scope: "layer_4", attrs: { sharding: "{replicated}" } },
      { id: "softmax max", op: "reduce", inputs: ["dot.1"], types: ["bf16[]"], scope: "layer_3" },
    ],
  },
  { name: "body", nodes: [{ id: "dot.1", op: "dot", types: ["f32[2]"] }] },
]);
const ids = (text: string, options = {}): string[] =>
  Array.from(search(program, text, options).nodes, (n) => program.strings.at(program.nodeId[n]));

describe("search", () => {
  it("looks for plain text in ids, ops, types and scopes, whatever the case", () => {
    expect(ids("DOT.1")).toEqual(["dot.1", "dot.10", "dot.1"]);
    expect(ids("attention")).toEqual(["dot.1"]);
    expect(ids("bf16")).toEqual(["softmax max"]);
    expect(ids('"softmax max"')).toEqual(["softmax max"]);
  });

  it("takes all terms together, and fields one by one", () => {
    expect(ids("op:dot scope:layer_3")).toEqual(["dot.1"]);
    expect(ids("id:=dot.1", { graph: "main" })).toEqual(["dot.1"]);
    expect(ids("role:parameter")).toEqual(["x"]);
    expect(ids("op:dot -scope:layer_3 graph:main")).toEqual(["dot.10"]);
  });

  it("reads a number of a shape as a whole dimension", () => {
    expect(ids("shape:1024")).toEqual(["x"]);
    expect(ids("shape:8x64")).toEqual(["dot.1"]);
  });

  it("takes a type as HLO writes it, without blanks and with its layout, and as it is shown", () => {
    for (const type of ["f32[8,64]", "f32[8,64]{1,0}", "f32[8,6", '"f32[8, 64]"', "type:f32[8,64]", "type:=f32[8,64]", "F32[8, 64]"])
      expect(ids(type)).toEqual(["dot.1"]);
    expect(ids("f32[8,")).toEqual(["x", "dot.1", "dot.10"]);
    expect(ids("f32[64,8]")).toEqual([]);
  });

  it("looks into attributes by name, by the end of the name, or for having them at all", () => {
    expect(ids("attr.backend_config:cublas")).toEqual(["dot.1"]);
    expect(ids("attr.op_name:dot")).toEqual(["dot.1"]);
    expect(ids("attr.sharding:")).toEqual(["dot.10"]);
  });

  it("takes regular expressions, alone and in fields, with case as written", () => {
    expect(ids("/^dot\\.1$/")).toEqual(["dot.1", "dot.1"]);
    expect(ids("scope:/layer_[34]$/")).toEqual(["dot.10", "softmax max"]);
    expect(ids("/DOT/")).toEqual([]);
    expect(ids("/DOT/i")).toEqual(["dot.1", "dot.10", "dot.1"]);
  });

  it("says what is wrong with a regular expression instead of failing", () => {
    expect(compileQuery("/(/").problem).toMatch(/^Invalid regular expression: /);
    expect(search(program, "op:/[/").problem).toMatch(/regular expression/);
    expect(search(program, "x", { graph: "nope" }).problem).toBe('no graph named "nope"');
  });

  it("ends for a regular expression that JavaScript would try for ever, which a link to a page may contain", () => {
    const long = Array.from({ length: 40 }, (_, i) => ({ id: `${"a".repeat(5000)}${i}`, op: "add" }));
    const hostile = makeProgram([{ name: "main", nodes: long }]);
    for (const query of ["/(a+)+b/", "op:/(.*)*x/i", "/(a|a)+$/", "/.*a.*a.*a.*a.*a.*b/"])
      expect(search(hostile, query).nodes).toHaveLength(0);
    expect(search(hostile, "/a.*a.*a.*7$/").nodes).toHaveLength(4);
    expect(compileQuery("/(?=.*a)(?=.*b)/").problem).toMatch(/can take forever/);
  });

  it("finds nothing for nothing, and takes an unknown field as text", () => {
    expect(ids("  ")).toEqual([]);
    expect(ids("http://x")).toEqual([]);
    expect(compileQuery("foo:bar").terms[0].test("a foo:bar b")).toBe(true);
  });
});
