/**
 * Prints one table: our layout next to others, on four families of graphs at 1,000, 10,000 and 100,000 boxes and on real
 * graphs given as JSON files ({"width": [], "height": [], "source": [], "target": [], "parent": []?}, one entry a box or edge);
 * below it each figure that the layout should reach, and whether it does.
 *
 *   node benchmarks/layout/run.mjs [--engines a,b] [--families a,b] [--sizes 1000,…] [--cap 60] [--keep] [FILE…]
 *
 * Others are compared where they are found: `npm install` in this folder gives dagre and elk, `pip install netron` in .venv
 * gives Netron's layout, dot comes with Graphviz. Each layout runs in a process of its own that may use `--cap` seconds of CPU;
 * who did not finish a graph is not tried on larger ones of its kind. CPU seconds are those of the layout call, cold, and the
 * least of three runs where one takes under three seconds. Crossings are counted on the drawn lines up to 12,000 boxes.
 * A gap is the widest part of a drawing with all groups open that is as high as a screen at 50 % and has no box in it.
 * `--keep` appends the figures to benchmarks/results/layout.jsonl.
 */
import { execFileSync, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import os from "node:os";
import { engines, netronFile } from "./engines.mjs";
import { families } from "./families.mjs";
import { line, measured, targets } from "./figures.mjs";

const REPEATS = 3;
const REPEATED_SECONDS = 3;
/** Seconds of CPU beside the layout: reading or making the graph. */
const ASIDE = 3;

const here = dirname(fileURLToPath(import.meta.url));
const flags = {
  "--cap": "60",
  "--engines": Object.keys(engines).join(),
  "--families": Object.keys(families).join(),
  "--sizes": "1000,10000,100000",
};
const files = [];
let keep = false;
for (let i = 2; i < process.argv.length; i++) {
  const word = process.argv[i];
  if (word in flags) flags[word] = process.argv[++i];
  else if (word === "--keep") keep = true;
  else files.push(word);
}
const cap = Number(flags["--cap"]);

const esbuild = join(here, "../../web/node_modules/.bin/esbuild");
const source = join(here, "../../web/src/core/layout/index.ts");
execFileSync(esbuild, [source, "--bundle", "--format=esm", `--outfile=${join(here, "build/layout.mjs")}`, "--log-level=error"]);

function missing(engine) {
  if (engine === "dot") return ["/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"].every((d) => !existsSync(join(d, "dot")));
  if (engine === "netron") return netronFile() === undefined;
  if (engine === "dagre") return !existsSync(join(here, "node_modules/@dagrejs/dagre"));
  if (engine === "elk") return !existsSync(join(here, "node_modules/elkjs"));
  return false;
}

/** One layout in a process of its own. The system ends what uses more CPU than it may, and this what only waits. */
function measure(engine, kind, size) {
  return new Promise((resolve) => {
    const command = 'ulimit -St "$0"; exec "$@"';
    const node = [process.execPath, "--stack-size=3900", "--max-old-space-size=8000", join(here, "child.mjs"), engine, kind, String(size)];
    const child = spawn("bash", ["-c", command, String(cap + ASIDE), ...node], { stdio: ["ignore", "pipe", "pipe"], detached: true });
    let output = "";
    let errors = "";
    child.stdout.on("data", (data) => (output += data));
    child.stderr.on("data", (data) => (errors += data));
    const timer = setTimeout(() => process.kill(-child.pid, "SIGKILL"), 8 * cap * 1000);
    child.on("close", (_, signal) => {
      clearTimeout(timer);
      const lines = output.split("\n").filter(Boolean);
      if (lines.length > 0) return resolve(Object.assign({}, ...lines.map((line) => JSON.parse(line))));
      if (signal || /CPU time limit/.test(errors)) return resolve({ failure: /heap/i.test(errors) ? "out of memory" : `> ${cap} s` });
      resolve({ failure: /heap|memory/i.test(errors) ? "out of memory" : /stack/i.test(errors) ? "stack overflow" : "failed" });
    });
  });
}

async function best(engine, kind, size) {
  let least = await measure(engine, kind, size);
  for (let i = 1; i < REPEATS && least.cpu < REPEATED_SECONDS; i++) {
    const again = await measure(engine, kind, size);
    if (again.cpu < least.cpu) least = again;
  }
  return least;
}

const short = (v) => (v === undefined ? "" : v >= 1e6 ? `${(v / 1e6).toFixed(2)}M` : v >= 1e4 ? `${(v / 1e3).toFixed(1)}k` : v.toFixed(0));
const columns = ["graph", "boxes", "edges", "engine", "CPU s", "peak MB", "crossings", "edge length", "width", "gap"];
const widths = [24, 7, 7, 16, 22, 8, 10, 12, 8, 8];
const row = (cells) => console.log(cells.map((c, i) => (i === 0 || i === 3 ? c.padEnd(widths[i]) : c.padStart(widths[i]))).join(" "));

console.log(`${new Date().toISOString().slice(0, 10)}, ${os.cpus()[0].model}, ${os.cpus().length} cores, node ${process.version}`);
row(columns);
const graphs = [];
for (const size of flags["--sizes"].split(",").map(Number)) {
  for (const family of flags["--families"].split(",").filter(Boolean)) {
    graphs.push({ name: `${family} ${size / 1000}k`, graph: family, series: family, kind: family, size, target: size });
  }
}
/** Files of one series have names that differ in their number: transformer4 and transformer24. */
for (const file of files) {
  const name = basename(file, ".json").replace(/^layout_/, "");
  graphs.push({ name, graph: name, series: `file ${name.replace(/\d+/, "")}`, kind: "file", size: file });
}
const results = [];
const gaveUp = new Map();
for (const { name, graph, series, kind, size, target } of graphs) {
  for (const engine of flags["--engines"].split(",")) {
    if (missing(engine)) continue;
    const key = `${engine} ${series}`;
    const before = gaveUp.get(key);
    const result = before ? { failure: before } : await best(engine, kind, size);
    if (result.failure) {
      if (!before) gaveUp.set(key, `${result.failure} at ${name.replace(`${series} `, "")}`);
      row([name, "", "", engine, result.failure, "", "", "", "", ""]);
    } else {
      const { nodes, edges, cpu, rss, crossings, length, width, gap } = result;
      const drawn = [crossings, length, width, gap].map(short);
      row([name, String(nodes), String(edges), engine, cpu.toFixed(2), rss.toFixed(0), ...drawn]);
    }
    results.push({ name, graph, target, engine, ...result });
  }
}
console.log();
for (const target of targets(results)) console.log(line(target));
if (keep) {
  const input = [...measured(results), ...targets(results)].map((figure) => JSON.stringify(figure)).join("\n");
  execFileSync(join(here, "../../.venv/bin/python"), [join(here, "../results.py"), "layout"], { input });
}
