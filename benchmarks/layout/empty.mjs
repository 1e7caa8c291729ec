/**
 * How broad the widest part of Expand all is that is as high as a screen at 50 % and has no box in it, in the picture as it is on the
 * screen: `node benchmarks/layout/empty.mjs PROGRAM.bin` prints a line of JSON with repeats one by one, and one with repeats folded.
 * The file has the program as pages have it; `benchmarks/empty_room.py` writes it.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { widestGap } from "./metrics.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const core = join(here, "../../web/src/core");
const parts = `export { decodeRecording } from "${core}/program/decode"; export { draw, SCREEN } from "${core}/picture";`;
const bundle = join(here, "build/picture.mjs");
execFileSync(join(here, "../../web/node_modules/.bin/esbuild"), ["--bundle", "--format=esm", "--log-level=error", `--outfile=${bundle}`], {
  input: parts,
  cwd: here,
});
const { decodeRecording, draw, SCREEN } = await import(bundle);

const recording = decodeRecording(readFileSync(process.argv[2]));
const program = recording.program(recording.passes.at(-1)?.content ?? 0);
for (const fold of [false, true]) {
  const { scene, visible } = draw(program, { ...SCREEN, spec: { depth: 1000, fold } });
  const closed = scene.box.map((box, item) => (visible.open[box] ? -1 : item)).filter((item) => item >= 0);
  const { width, height } = scene;
  const column = (values) => Float64Array.from(closed, (item) => values[item]);
  const boxes = { x: column(scene.x), y: column(scene.y), w: column(scene.w), h: column(scene.h), width, height };
  console.log(JSON.stringify({ fold, boxes: closed.length, width, height, gap: widestGap(closed.length, boxes) }));
}
