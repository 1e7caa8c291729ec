import { beforeAll, describe, expect, it } from "vitest";
import { decodeProgram, decodeRecording } from "../../src/core/program/decode";
import { historyOf, resultsOf, sourcesOf, stepOf } from "../../src/core/program/recording/history";
import { ADDED, CHANGED, countMarks, marksAfter, marksBefore, REMOVED } from "../../src/core/program/recording/marks";
import { sameDiff } from "../../src/core/program/recording/diff";
import { markedProgram, type Moment } from "../../src/core/program/recording/moment";
import type { RecordingData } from "../../src/core/program/recording/types";
import type { ProgramData } from "../../src/core/program/types";
import { buildView } from "../../src/core/view";
import { python } from "../support/python";
import { edgeLines } from "../view/asText";
import { described } from "./described";

describe("a recording that Python wrote", () => {
  let recording: RecordingData;
  let shared: RecordingData;
  let full: RecordingData;
  let toyAlone: ProgramData[];
  let fullAlone: ProgramData[];
  const programAfter = (pass: number): ProgramData => recording.program(recording.passes[pass].content);
  const ids = (program: ProgramData): string[] => Array.from(program.nodeId, (text) => program.strings.at(text));
  const named = (program: ProgramData, id: string): number => ids(program).indexOf(id);

  beforeAll(() => {
    const written = python("recording/write_sample.py");
    const blocks: Uint8Array[] = [];
    const view = new DataView(written.buffer, written.byteOffset, written.byteLength);
    for (let at = 0; at < written.length; at += 4 + view.getUint32(at, true))
      blocks.push(written.slice(at + 4, at + 4 + view.getUint32(at, true)));
    expect(blocks.map((block) => decodeRecording(block).passes.length > 0)).toEqual(blocks.map((_, i) => i < 3));
    recording = decodeRecording(blocks[0]);
    shared = decodeRecording(blocks[1]);
    full = decodeRecording(blocks[2]);
    toyAlone = blocks.slice(3, -2).map((block) => decodeProgram(block));
    fullAlone = blocks.slice(-2).map((block) => decodeProgram(block));
  });

  it("gives every program as it is by itself, field by field", () => {
    expect(recording.passes.map(({ name, before, seconds }) => [name, before, seconds])[1]).toEqual(["dce", 0, 0.002]);
    toyAlone.forEach((program, pass) => {
      expect(described(programAfter(pass))).toEqual(described(program));
    });
  });

  describe("of programs that have something in every field", () => {
    const programIn = (pass: number) => full.program(full.passes[pass].content);
    const moment = (mode: Moment) => markedProgram(programIn(0), programIn(1), full.diff(1)!, mode);
    const drawn = (program: ProgramData) => edgeLines(buildView(program, { depth: 5, groupBy: "op", rules: { inlineSmall: false } }));

    it("leaves no field of a program empty", () => {
      for (const [field, words] of Object.entries(described(fullAlone[1]))) {
        expect(JSON.stringify(words) ?? "", field).not.toMatch(/^(|""|0|\[\]|\{\})$/);
        if (Array.isArray(words) && words.every(Array.isArray))
          expect(new Set(words.map((row) => JSON.stringify(row[1]))).size, `${field} is the same for all`).toBeGreaterThan(1);
      }
    });

    it("holds before and after equal to the plain programs, field by field", () => {
      expect(described(moment("before").program)).toEqual(described(fullAlone[0]));
      expect(described(moment("after").program)).toEqual(described(fullAlone[1]));
    });

    it("holds an overlay of nothing that changed equal to the plain program, field by field", () => {
      const [, alone] = fullAlone;
      for (const same of [programIn(1), alone]) {
        const { program } = markedProgram(programIn(1), same, sameDiff(same.nodeCount), "overlay");
        expect(Object.keys(program).sort()).toEqual(Object.keys(alone).sort());
        expect(described(program)).toEqual(described(alone));
      }
    });

    it("holds what of an overlay is there after the pass equal to the plain program, field by field", () => {
      const [before, now] = fullAlone;
      for (const { program, overlay } of [moment("overlay"), markedProgram(before, now, full.diff(1)!, "overlay")]) {
        const there = overlay!.after;
        expect(described(program, { node: (n) => there[n] >= 0, graphs: now.graphCount })).toEqual(described(now));
      }
    });

    it("gives a ghost of an overlay what it had before", () => {
      const [before] = fullAlone;
      const { program } = moment("overlay");
      const ghost = named(program, "idle"),
        was = named(before, "idle");
      const link = program.links.start[ghost];
      expect(program.strings.at(program.links.value[link])).toBe("forward_of");
      expect(program.strings.at(program.nodeId[program.links.extra[link]])).toBe("exp");
      expect(program.details(ghost)).toEqual(before.details(was));
      expect(program.derivatives.negate).toEqual(before.derivatives.negate);
    });

    it("draws the operands of a fusion to its own parameters before, after and in both", () => {
      for (const mode of ["before", "after", "overlay"] as const) {
        const edges = drawn(moment(mode).program);
        for (const [from, to] of [
          ["sine", "exp"],
          ["cosine", "log"],
        ])
          expect(edges, mode).toContainEqual(expect.stringMatching(new RegExp(`n:${from} -> \\S*n:${to}$`)));
        expect(edges, mode).not.toContainEqual(expect.stringMatching(/n:sine -> \S*n:log$/));
      }
    });
  });

  it("marks as many nodes as the rows of its passes count", () => {
    let compared = 0;
    for (const source of [recording, shared, full]) {
      for (const [pass, { before, content, added = 0, removed = 0, changed = 0, merged = 0 }] of source.passes.entries()) {
        const diff = source.diff(pass);
        if (!diff) continue;
        compared++;
        const marked = (mode: Moment) =>
          countMarks(markedProgram(source.program(source.passes[before].content), source.program(content), diff, mode).marks).slice(1);
        expect(marked("after")).toEqual([added, 0, changed, 0]);
        expect(marked("overlay")).toEqual([added, removed, changed, merged]);
        expect(marked("before").filter((_, i) => i !== CHANGED - 1)).toEqual([0, removed, merged]);
      }
    }
    expect(compared).toBeGreaterThan(3);
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

  it("overlays what was removed, with its operands, where it was", () => {
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
    expect(stepOf(fuse, [exp], resultsOf(fuse, [exp]))).toMatchObject({ kind: "fused", old: [exp, add], new: [fusion] });
    const sum = named(programAfter(6), "sum.1");
    const step = stepOf(rewrite, [sum], resultsOf(rewrite, [sum]))!;
    expect(step).toMatchObject({ kind: "changed", evidence: "rewrite", rule: "sum_to_tree", place: "compiler/rules.py:42 sum_to_tree" });
    expect(step.changes.map(({ field, old, new: now }) => [field, old, now])).toEqual([["op", "reduce", "tree-reduce"]]);
    const both = sourcesOf(recording.diff(5)!, [exp, add]);
    expect(stepOf(recording.diff(5)!, both, [exp, add]), "nothing happened to either").toBeUndefined();
  });

  it("walks from where a node came from to what became of it, asking for one diff at a time", () => {
    const asked: number[] = [];
    const walk = historyOf(recording.passes, 6, named(programAfter(6), "fusion.1"));
    let next = walk.next();
    while (!next.done) {
      asked.push(next.value);
      next = walk.next(recording.diff(next.value));
    }
    expect(next.value.map(({ pass, step }) => [pass, step.kind])).toContainEqual([6, "fused"]);
    expect(asked.slice(0, 2)).toEqual([6, 5]);
    expect(asked.at(-1)).toBe(recording.passes.length - 1);
    expect(new Set(asked).size).toBe(asked.length);
  });

  describe("a producer that was copied into two fusions", () => {
    const reached = (pass: number) => shared.program(shared.passes[pass].content);
    const numbers = (pass: number, ...names: string[]) => names.map((id) => named(reached(pass), id));
    const back = (pass: number, id: string) => {
      const diff = shared.diff(pass)!,
        results = numbers(pass, id);
      return stepOf(diff, sourcesOf(diff, results), results);
    };
    const onward = (pass: number, id: string) => {
      const diff = shared.diff(pass)!,
        old = numbers(pass - 1, id);
      return stepOf(diff, old, resultsOf(diff, old));
    };

    it("lists the parts of each fusion separately", () => {
      expect(back(1, "sub_fusion")).toMatchObject({ kind: "fused", old: numbers(0, "wide.1", "sub.1"), new: numbers(1, "sub_fusion") });
      expect(back(1, "add_fusion")).toMatchObject({
        kind: "fused",
        old: numbers(0, "wide.1", "add.1", "tanh.1"),
        new: numbers(1, "add_fusion"),
      });
    });

    it("shows the fusion for a copy inside it", () => {
      expect(back(1, "wide_add")).toMatchObject({ kind: "fused", new: numbers(1, "add_fusion") });
      expect(back(1, "wide_sub")).toMatchObject({ kind: "fused", new: numbers(1, "sub_fusion") });
    });

    it("shows that the producer went into both, and others into one", () => {
      expect(onward(1, "wide.1")).toMatchObject({ kind: "fused", old: numbers(0, "wide.1"), new: numbers(1, "sub_fusion", "add_fusion") });
      expect(onward(1, "tanh.1")).toMatchObject({ kind: "fused", new: numbers(1, "add_fusion") });
      expect(onward(1, "mul.1"), "only its operand is another").toMatchObject({ kind: "changed" });
    });

    it("shows a node that became two, from either side", () => {
      const split = {
        kind: "became",
        old: numbers(1, "erf.1"),
        new: numbers(2, "erf_forward", "erf_backward"),
        rule: "recomputed in the backward",
      };
      expect(onward(2, "erf.1")).toMatchObject(split);
      expect(back(2, "erf_backward")).toMatchObject(split);
    });
  });
});
