import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { decodeRecording, isRecording } from "../../src/core/program/recording/decode";
import { resultsOf, sourcesOf, stepOf } from "../../src/core/program/recording/history";
import { ADDED, CHANGED, marksAfter, marksBefore, REMOVED } from "../../src/core/program/recording/marks";
import { markedProgram } from "../../src/core/program/recording/moment";
import type { RecordingData } from "../../src/core/program/recording/types";
import type { ProgramData } from "../../src/core/program/types";
import { decodeWire } from "../../src/core/program/wire";

const root = join(import.meta.dirname, "../../..");
const inside = join(root, ".venv/bin/python");
const python = process.env.OPSCOPE_PYTHON ?? (existsSync(inside) ? inside : "python3");

describe("a recording that Python wrote", () => {
  let recording: RecordingData;
  let shared: RecordingData;
  let alone: ProgramData[];
  const programAfter = (pass: number): ProgramData => recording.program(recording.passes[pass].content);
  const ids = (program: ProgramData): string[] => Array.from(program.nodeId, (text) => program.strings.at(text));
  const named = (program: ProgramData, id: string): number => ids(program).indexOf(id);

  beforeAll(() => {
    const written = execFileSync(python, [join(import.meta.dirname, "write_sample.py")], {
      env: { ...process.env, PYTHONPATH: join(root, "src") },
    });
    const blocks: Uint8Array[] = [];
    const view = new DataView(written.buffer, written.byteOffset, written.byteLength);
    for (let at = 0; at < written.length; at += 4 + view.getUint32(at, true))
      blocks.push(written.slice(at + 4, at + 4 + view.getUint32(at, true)));
    expect(blocks.map(isRecording)).toEqual(blocks.map((_, i) => i < 2));
    recording = decodeRecording(blocks[0]);
    shared = decodeRecording(blocks[1]);
    alone = blocks.slice(2).map((block) => decodeWire(block));
  });

  it("gives every program as it is by itself", () => {
    expect(recording.passes.map(({ name, before, seconds }) => [name, before, seconds])[1]).toEqual(["dce", 0, 0.002]);
    alone.forEach((program, pass) => {
      const put = programAfter(pass);
      expect(ids(put)).toEqual(ids(program));
      for (const rows of ["inputs", "outputs", "calls", "control", "links", "graphOutputs"] as const)
        expect(Array.from(put[rows].start)).toEqual(Array.from(program[rows].start));
      for (const rows of ["inputs", "calls", "control", "graphOutputs"] as const)
        expect(Array.from(put[rows].value)).toEqual(Array.from(program[rows].value));
      expect(put.groupings.map(({ name, groupCount }) => [name, groupCount])).toEqual(
        program.groupings.map(({ name, groupCount }) => [name, groupCount]),
      );
      for (let node = 0; node < program.nodeCount; node++) expect(put.details(node)).toEqual(program.details(node));
    });
  });

  it("marks what a pass added, removed and changed", () => {
    const dce = recording.diff(1)!,
      fuse = recording.diff(6)!;
    expect(marksBefore(dce)[named(programAfter(0), "idle.1")]).toBe(REMOVED);
    expect(marksAfter(fuse)[named(programAfter(6), "fusion.1")]).toBe(ADDED);
    expect(marksAfter(fuse)[named(programAfter(6), "sum.1")]).toBe(CHANGED);
    expect(marksAfter(fuse)[named(programAfter(6), "dot.1")]).toBe(0);
    expect(recording.diff(2)).toBeUndefined();
  });

  it("overlays what went, with its operands, where it stood", () => {
    const { program, marks } = markedProgram(programAfter(0), programAfter(1), recording.diff(1)!, "overlay");
    const ghost = named(program, "idle.1");
    expect(marks[ghost]).toBe(REMOVED);
    expect(ids(program)).toEqual(ids(programAfter(0)));
    expect(program.strings.at(program.nodeId[program.inputs.value[program.inputs.start[ghost]]])).toBe("x");
    expect(program.nodeCount).toBe(programAfter(1).nodeCount + 1);
  });

  it("follows nodes through fusions and recorded rewrites", () => {
    const fuse = recording.diff(6)!,
      rewrite = recording.diff(8)!;
    const [exp, add] = ["exp.1", "add.1"].map((id) => named(programAfter(5), id));
    const fusion = named(programAfter(6), "fusion.1");
    expect(sourcesOf(fuse, [fusion])).toEqual([exp, add]);
    expect(stepOf(fuse, [exp], resultsOf(fuse, [exp]), programAfter(6))).toMatchObject({ kind: "fused", old: [exp, add], new: [fusion] });
    const sum = named(programAfter(6), "sum.1");
    const step = stepOf(rewrite, [sum], resultsOf(rewrite, [sum]))!;
    expect(step).toMatchObject({ kind: "changed", evidence: "rewrite", rule: "sum_to_tree", place: "compiler/rules.py:42 sum_to_tree" });
    expect(step.changes.map(({ field, old, new: now }) => [field, old, now])).toEqual([["op", "reduce", "tree-reduce"]]);
    const both = sourcesOf(recording.diff(5)!, [exp, add]);
    expect(stepOf(recording.diff(5)!, both, [exp, add]), "nothing happened to either").toBeUndefined();
  });

  describe("a producer that was copied into two fusions", () => {
    const reached = (pass: number) => shared.program(shared.passes[pass].content);
    const numbers = (pass: number, ...names: string[]) => names.map((id) => named(reached(pass), id));
    const back = (pass: number, id: string) => {
      const diff = shared.diff(pass)!,
        made = numbers(pass, id);
      return stepOf(diff, sourcesOf(diff, made), made, reached(pass));
    };
    const onward = (pass: number, id: string) => {
      const diff = shared.diff(pass)!,
        old = numbers(pass - 1, id);
      return stepOf(diff, old, resultsOf(diff, old), reached(pass));
    };

    it("tells of each fusion what that one was made of", () => {
      expect(back(1, "sub_fusion")).toMatchObject({ kind: "fused", old: numbers(0, "wide.1", "sub.1"), new: numbers(1, "sub_fusion") });
      expect(back(1, "add_fusion")).toMatchObject({
        kind: "fused",
        old: numbers(0, "wide.1", "add.1", "tanh.1"),
        new: numbers(1, "add_fusion"),
      });
    });

    it("tells of a copy inside a fusion about that fusion", () => {
      expect(back(1, "wide_add")).toMatchObject({ kind: "fused", new: numbers(1, "add_fusion") });
      expect(back(1, "wide_sub")).toMatchObject({ kind: "fused", new: numbers(1, "sub_fusion") });
    });

    it("tells of the producer that it went into both, and of others into one", () => {
      expect(onward(1, "wide.1")).toMatchObject({ kind: "fused", old: numbers(0, "wide.1"), new: numbers(1, "sub_fusion", "add_fusion") });
      expect(onward(1, "tanh.1")).toMatchObject({ kind: "fused", new: numbers(1, "add_fusion") });
      expect(onward(1, "mul.1"), "only its operand is another").toMatchObject({ kind: "changed" });
    });

    it("tells of a node that became two that it did, from either side", () => {
      const told = {
        kind: "became",
        old: numbers(1, "erf.1"),
        new: numbers(2, "erf_forward", "erf_backward"),
        rule: "recomputed in the backward",
      };
      expect(onward(2, "erf.1")).toMatchObject(told);
      expect(back(2, "erf_backward")).toMatchObject(told);
    });
  });
});
