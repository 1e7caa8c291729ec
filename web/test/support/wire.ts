/** The wire of a source, as Python writes it. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "../../..");
const INSIDE = join(ROOT, ".venv/bin/python");
const PYTHON = process.env.OPSCOPE_PYTHON ?? (existsSync(INSIDE) ? INSIDE : "python3");

/** `source` is a path in the repository. */
export function wireOf(source: string): Uint8Array<ArrayBuffer> {
  const script = join(import.meta.dirname, "write_wire.py");
  const env = { ...process.env, PYTHONPATH: join(ROOT, "src") };
  return new Uint8Array(execFileSync(PYTHON, [script, join(ROOT, source)], { env }));
}
