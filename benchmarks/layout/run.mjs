/**
 * Prints one table: our layout next to others, on four families of graphs at 1,000, 10,000 and 100,000 boxes and on real
 * graphs given as JSON files ({"width": [], "height": [], "source": [], "target": [], "parent": []?}, one entry a box or edge).
 *
 *   node benchmarks/layout/run.mjs [--quick] [--engines a,b] [--families a,b] [--sizes 1000,…] [--cap 60] [FILE…]
 *
 * Others are compared where they are found: `npm install` in this folder gives dagre and elk, `pip install netron` in .venv
 * gives Netron's layout, dot comes with Graphviz. Each layout runs in a process of its own; CPU seconds are those of the
 * layout call, cold. Crossings are counted on the drawn lines up to 12,000 boxes.
 */
import { execFileSync, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import os from "node:os";
import { engines, netronFile } from "./engines.mjs";
import { families } from "./families.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const flags = { "--cap": "60", "--engines": Object.keys(engines).join(), "--families": Object.keys(families).join(), "--sizes": "" };
const files = [];
let quick = false;
for (let i = 2; i < process.argv.length; i++) {
  const word = process.argv[i];
  if (word === "--quick") quick = true;
  else if (word in flags) flags[word] = process.argv[++i];
  else files.push(word);
}

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

/** One layout in a process of its own, which is ended with all it started when the time is over. */
function measure(engine, kind, size, capSeconds) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, ["--stack-size=3900", join(here, "child.mjs"), engine, kind, String(size)], {
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    let output = "";
    let errors = "";
    child.stdout.on("data", (data) => (output += data));
    child.stderr.on("data", (data) => (errors += data));
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      process.kill(-child.pid, "SIGKILL");
    }, capSeconds * 1000);
    child.on("close", () => {
      clearTimeout(timer);
      if (late) return resolve({ failure: `> ${capSeconds} s` });
      try {
        resolve(JSON.parse(output));
      } catch {
        resolve({ failure: /heap|memory/i.test(errors) ? "out of memory" : /stack/i.test(errors) ? "stack overflow" : "failed" });
      }
    });
  });
}

const short = (v) => (v === undefined ? "" : v >= 1e6 ? `${(v / 1e6).toFixed(2)}M` : v >= 1e4 ? `${(v / 1e3).toFixed(1)}k` : v.toFixed(0));
const columns = ["graph", "boxes", "edges", "engine", "CPU s", "peak MB", "crossings", "edge length", "width"];
const widths = [20, 7, 7, 16, 14, 8, 10, 12, 8];
const row = (cells) => console.log(cells.map((c, i) => (i === 0 || i === 3 ? c.padEnd(widths[i]) : c.padStart(widths[i]))).join(" "));

console.log(`${new Date().toISOString().slice(0, 10)}, ${os.cpus()[0].model}, ${os.cpus().length} cores, node ${process.version}`);
row(columns);
const graphs = [];
const sizes = flags["--sizes"] ? flags["--sizes"].split(",").map(Number) : quick ? [1000, 10_000] : [1000, 10_000, 100_000];
for (const size of sizes) {
  for (const family of flags["--families"].split(",").filter(Boolean)) graphs.push({ name: `${family} ${size / 1000}k`, kind: family, size });
}
for (const file of files) graphs.push({ name: basename(file, ".json"), kind: "file", size: file });
const gaveUp = new Set();
const cap = quick ? Math.min(20, Number(flags["--cap"])) : Number(flags["--cap"]);
for (const { name, kind, size } of graphs) {
  for (const engine of flags["--engines"].split(",")) {
    if (missing(engine)) continue;
    const key = `${engine} ${kind}`;
    if (gaveUp.has(key)) {
      row([name, "", "", engine, "not tried", "", "", "", ""]);
      continue;
    }
    const r = await measure(engine, kind, size, cap);
    if (r.failure) {
      if (kind !== "file") gaveUp.add(key);
      row([name, "", "", engine, r.failure, "", "", "", ""]);
    } else {
      row([name, String(r.nodes), String(r.edges), engine, r.cpu.toFixed(2), r.rss.toFixed(0), short(r.crossings), short(r.length), short(r.width)]);
    }
  }
}
