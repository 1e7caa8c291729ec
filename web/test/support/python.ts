/** What Python writes, for tests of what reads it. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";

const TESTS = join(import.meta.dirname, "..");
const ROOT = join(TESTS, "../..");
const INSIDE = join(ROOT, ".venv/bin/python");
const PYTHON = process.env.OPSCOPE_PYTHON ?? (existsSync(INSIDE) ? INSIDE : "python3");

/** The standard output of a script below `web/test`. */
export function python(script: string, ...args: readonly string[]): Uint8Array<ArrayBuffer> {
  const env = { ...process.env, PYTHONPATH: join(ROOT, "src") };
  return new Uint8Array(execFileSync(PYTHON, [join(TESTS, script), ...args], { env }));
}

/** The wire of a source; `source` is a path in the repository. */
export function wireOf(source: string): Uint8Array<ArrayBuffer> {
  return python("support/write_wire.py", join(ROOT, source));
}
