/** Runs one engine on one graph in a process of its own and prints what it measured as one line of JSON. */
import { readFileSync } from "node:fs";
import { engines } from "./engines.mjs";
import { families } from "./families.mjs";
import { crossings, edgeLength } from "./metrics.mjs";

const [engine, kind, size] = process.argv.slice(2);
const graph = kind === "file" ? JSON.parse(readFileSync(size, "utf8")) : families[kind](Number(size));
const nodes = graph.width.length;
graph.groupCount ??= (graph.parent?.length ?? nodes) - nodes;
graph.parent ??= new Array(nodes).fill(-1);
const drawing = await engines[engine](graph);
const result = {
  nodes,
  edges: graph.source.length,
  cpu: drawing.cpu,
  rss: process.resourceUsage().maxRSS / 1024,
  length: edgeLength(drawing),
  width: drawing.width,
  laidOut: drawing.laidOut,
};
if (nodes <= 12_000) result.crossings = crossings(drawing);
console.log(JSON.stringify(result));
