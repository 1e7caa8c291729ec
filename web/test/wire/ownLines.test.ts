/** The text that a program was read from reaches the page as templates; every line of it comes back. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { decodeProgram } from "../../src/core/program/decode";
import { wireOf } from "../support/python";

const ROOT = join(import.meta.dirname, "../../..");

describe("lines of a program's own text", () => {
  it.each(["tests/samples/hlo/step_compiled.hlo", "tests/samples/mlir/gradient.mlir"])("are those of %s", (source) => {
    const program = decodeProgram(wireOf(source));
    const written = new Set(
      readFileSync(join(ROOT, source), "utf-8")
        .split("\n")
        .map((line) => line.trim()),
    );
    const lines = Array.from({ length: program.nodeCount }, (_, node) => program.ownLine(node) ?? "");
    expect(lines.filter((line) => line.length > 0).length).toBeGreaterThan(program.nodeCount / 2);
    for (const [node, line] of lines.entries()) {
      if (!line) continue;
      expect(written).toContain(line);
      expect(line).toContain(program.strings.at(program.nodeId[node]));
    }
  });
});
