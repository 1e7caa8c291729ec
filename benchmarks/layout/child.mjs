/**
 * Runs one engine on one graph in a process of its own and prints what it measured as lines of JSON: the layout as soon as it is
 * there, then what takes long to count.
 */
import { readFileSync } from "node:fs";
import { engines } from "./engines.mjs";
import { families } from "./families.mjs";
import { crossings, edgeLength, sway, widestGap } from "./metrics.mjs";

const COUNTED_BOXES = 12_000;

const [engine, kind, size] = process.argv.slice(2);
const graph = kind === "file" ? JSON.parse(readFileSync(size, "utf8")) : families[kind](Number(size));
const nodes = graph.width.length;
graph.groupCount ??= (graph.parent?.length ?? nodes) - nodes;
graph.parent ??= new Array(nodes).fill(-1);
const drawing = await engines[engine](graph);
console.log(
  JSON.stringify({
    nodes,
    edges: graph.source.length,
    cpu: drawing.cpu,
    rss: drawing.rss ?? process.resourceUsage().maxRSS / 1024,
    length: edgeLength(drawing),
    width: drawing.width,
    sway: drawing.x && sway(graph, drawing.x),
    gap: drawing.w && widestGap(nodes, drawing),
  }),
);
if (nodes <= COUNTED_BOXES) console.log(JSON.stringify({ crossings: crossings(drawing) }));
