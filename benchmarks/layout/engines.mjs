/** Each engine lays out {width, height, source, target, parent} and returns {points, pointStart, width, cpu, rss?, x?}. */
import { spawnSync } from "node:child_process";
import { readdirSync, existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const NODE_GAP = 24;
const RANK_GAP = 40;

function lines(edges) {
  const pointStart = new Int32Array(edges.length + 1);
  const points = [];
  edges.forEach((edge, e) => {
    for (const { x, y } of edge) points.push(x, y);
    pointStart[e + 1] = points.length / 2;
  });
  return { points: Float64Array.from(points), pointStart };
}

/** Netron keeps its layout in one file of its Python package. */
export function netronFile() {
  if (process.env.NETRON_DAGRE) return process.env.NETRON_DAGRE;
  const libs = join(here, "../../.venv/lib");
  if (!existsSync(libs)) return undefined;
  return readdirSync(libs)
    .map((python) => join(libs, python, "site-packages/netron/dagre.js"))
    .find(existsSync);
}

const flatGraph = (g) => ({
  nodeCount: g.width.length,
  width: Float64Array.from(g.width),
  height: Float64Array.from(g.height),
  edgeSource: Int32Array.from(g.source),
  edgeTarget: Int32Array.from(g.target),
  sourcePort: new Float64Array(g.source.length).fill(Number.NaN),
  targetPort: new Float64Array(g.source.length).fill(Number.NaN),
});

/** Boxes and, after them, the groups: all open. */
function compoundGraph(g) {
  const n = g.width.length;
  const total = n + g.groupCount;
  const fill = (list, value) => Float64Array.from({ length: total }, (_, i) => (i < n ? list[i] : value));
  return {
    boxCount: total,
    parent: Int32Array.from(g.parent),
    container: Uint8Array.from({ length: total }, (_, i) => (i < n ? 0 : 1)),
    width: fill(g.width, 90),
    height: fill(g.height, 24),
    edgeSource: Int32Array.from(g.source),
    edgeTarget: Int32Array.from(g.target),
    sourcePort: new Float32Array(g.source.length).fill(Number.NaN),
    targetPort: new Float32Array(g.source.length).fill(Number.NaN),
    edgeValue: Int32Array.from(g.source),
  };
}

/** What is seen when only the given groups are open: boxes of closed groups vanish, and edges end at the group instead. */
function visiblePart(whole, isOpen, previous) {
  const { boxCount, parent } = whole;
  const shownAs = new Int32Array(boxCount);
  const order = [...Array(boxCount).keys()].sort((a, b) => depthOf(parent, a) - depthOf(parent, b));
  const kept = [];
  const index = new Int32Array(boxCount).fill(-1);
  for (const b of order) {
    const p = parent[b];
    const seen = p < 0 || (shownAs[p] === p && isOpen(p));
    shownAs[b] = seen ? b : shownAs[p];
    if (seen) {
      index[b] = kept.length;
      kept.push(b);
    }
  }
  const pairs = new Set();
  for (let e = 0; e < whole.edgeSource.length; e++) {
    const u = shownAs[whole.edgeSource[e]];
    const v = shownAs[whole.edgeTarget[e]];
    if (u !== v) pairs.add(index[u] * boxCount + index[v]);
  }
  const ends = [...pairs];
  const open = (b) => whole.container[b] === 1 && isOpen(b);
  return {
    boxCount: kept.length,
    parent: Int32Array.from(kept, (b) => (parent[b] < 0 ? -1 : index[parent[b]])),
    container: Uint8Array.from(kept, (b) => (open(b) ? 1 : 0)),
    width: Float64Array.from(kept, (b) => whole.width[b]),
    height: Float64Array.from(kept, (b) => (whole.container[b] && !open(b) ? 36 : whole.height[b])),
    edgeSource: Int32Array.from(ends, (k) => Math.floor(k / boxCount)),
    edgeTarget: Int32Array.from(ends, (k) => k % boxCount),
    sourcePort: new Float32Array(ends.length).fill(Number.NaN),
    targetPort: new Float32Array(ends.length).fill(Number.NaN),
    edgeValue: Int32Array.from(ends, (k) => Math.floor(k / boxCount)),
    previous: previous && {
      x: Float64Array.from(kept, (b) => previous.get(b)?.x ?? Number.NaN),
      width: Float64Array.from(kept, (b) => previous.get(b)?.width ?? Number.NaN),
    },
    kept,
  };
}

function depthOf(parent, box) {
  let depth = 0;
  for (let b = parent[box]; b >= 0; b = parent[b]) depth++;
  return depth;
}

export const engines = {
  async opscope(g) {
    const { layoutFlat } = await import(pathToFileURL(join(here, "build/layout.mjs")).href);
    const graph = flatGraph(g);
    return timed(() => layoutFlat(graph, { nodeGap: NODE_GAP, rankGap: RANK_GAP }));
  },

  async "opscope grouped"(g) {
    const { layoutCompound } = await import(pathToFileURL(join(here, "build/layout.mjs")).href);
    const graph = compoundGraph(g);
    return timed(() => layoutCompound(graph, { nodeGap: NODE_GAP, rankGap: RANK_GAP }));
  },

  /** Everything closed; then groups in the middle are opened one after the other, as in a viewer that is in use: the last one. */
  async "opscope open 1"(g) {
    const { layoutCompound, LayoutCache } = await import(pathToFileURL(join(here, "build/layout.mjs")).href);
    const whole = compoundGraph(g);
    const cache = new LayoutCache();
    const settings = { nodeGap: NODE_GAP, rankGap: RANK_GAP };
    const closed = visiblePart(whole, () => false);
    const before = layoutCompound(closed, settings, cache);
    const previous = new Map(closed.kept.map((b, i) => [b, { x: before.x[i], width: before.w[i] }]));
    const groups = closed.kept.filter((b) => whole.container[b]);
    let result;
    for (let turn = 0; turn < 6; turn++) {
      const chosen = groups[Math.min(groups.length - 1, (groups.length >> 1) + turn)];
      const opened = visiblePart(whole, (b) => b === chosen, previous);
      result = timed(() => layoutCompound(opened, settings, cache));
    }
    return result;
  },

  async dagre(g) {
    const dagre = await import("@dagrejs/dagre");
    const { graphlib, layout } = dagre.default ?? dagre;
    const graph = new graphlib.Graph({ multigraph: true });
    graph.setGraph({ nodesep: NODE_GAP, ranksep: RANK_GAP });
    graph.setDefaultEdgeLabel(() => ({}));
    g.width.forEach((width, i) => graph.setNode(String(i), { width, height: g.height[i] }));
    g.source.forEach((s, e) => graph.setEdge(String(s), String(g.target[e]), {}, String(e)));
    const measured = timed(() => {
      layout(graph);
      return { width: graph.graph().width };
    });
    const drawn = g.source.map((s, e) => graph.edge(String(s), String(g.target[e]), String(e)).points);
    return { ...measured, ...lines(drawn) };
  },

  async netron(g) {
    const { layout } = await import(pathToFileURL(netronFile()).href);
    const nodes = g.width.map((width, i) => ({ v: String(i), width, height: g.height[i] }));
    const edges = g.source.map((s, e) => ({
      v: String(s),
      w: String(g.target[e]),
      minlen: 1,
      weight: 1,
      width: 0,
      height: 0,
      labeloffset: 10,
      labelpos: "r",
    }));
    const settings = { nodesep: NODE_GAP, ranksep: RANK_GAP };
    if (nodes.length > 3000) settings.ranker = "longest-path";
    const measured = timed(() => {
      layout(nodes, edges, settings, {});
      return {};
    });
    const left = Math.min(...nodes.map((n) => n.x - n.width / 2));
    const right = Math.max(...nodes.map((n) => n.x + n.width / 2));
    return { ...measured, width: right - left, ...lines(edges.map((e) => e.points)) };
  },

  async elk(g) {
    const { default: Elk } = await import("elkjs/lib/elk.bundled.js");
    const elk = new Elk();
    const graph = {
      id: "root",
      layoutOptions: {
        "elk.algorithm": "layered",
        "elk.direction": "DOWN",
        "elk.edgeRouting": "POLYLINE",
        "elk.spacing.nodeNode": String(NODE_GAP),
        "elk.layered.spacing.nodeNodeBetweenLayers": String(RANK_GAP),
      },
      children: g.width.map((width, i) => ({ id: `n${i}`, width, height: g.height[i] })),
      edges: g.source.map((s, e) => ({ id: `e${e}`, sources: [`n${s}`], targets: [`n${g.target[e]}`] })),
    };
    const before = process.cpuUsage();
    const result = await elk.layout(graph);
    const drawn = result.edges.map(({ sections: [s] }) => [s.startPoint, ...(s.bendPoints ?? []), s.endPoint]);
    return { cpu: cpuSince(before), width: result.width, ...lines(drawn) };
  },

  async dot(g) {
    const text = [`digraph { nodesep=${NODE_GAP / 72}; ranksep=${RANK_GAP / 72}; node [shape=box, fixedsize=true, label=""];`];
    g.width.forEach((w, i) => text.push(`${i} [width=${w / 72}, height=${g.height[i] / 72}];`));
    g.source.forEach((s, e) => text.push(`${s} -> ${g.target[e]} [arrowhead=none];`));
    text.push("}");
    const run = spawnSync("python3", ["-c", DOT], { input: text.join("\n"), maxBuffer: 1 << 30, encoding: "utf8" });
    if (run.status !== 0) throw new Error(run.stderr);
    const [cpu, rss] = run.stderr.trim().split("\n").pop().split(" ").map(Number);
    const drawn = new Map();
    let width = 0;
    for (const line of run.stdout.replaceAll("\\\n", "").split("\n")) {
      const words = line.split(" ");
      if (words[0] === "graph") width = 72 * Number(words[2]);
      if (words[0] !== "edge") continue;
      const numbers = words.slice(4, 4 + 2 * Number(words[3])).map((v) => 72 * Number(v));
      const list = drawn.get(`${words[1]} ${words[2]}`) ?? [];
      list.push(flattened(numbers));
      drawn.set(`${words[1]} ${words[2]}`, list);
    }
    const edges = g.source.map((s, e) => drawn.get(`${s} ${g.target[e]}`).pop());
    return { cpu, rss, width, ...lines(edges) };
  },
};

/** Runs dot; its CPU seconds and peak megabytes go to stderr. */
const DOT = `
import resource, subprocess, sys
ended = subprocess.run(["dot", "-Tplain"]).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, file=sys.stderr)
sys.exit("CPU time limit exceeded" if ended == -24 else ended)
`;

/** The points of dot's curves, four to each cubic. */
function flattened(v) {
  const points = [{ x: v[0], y: v[1] }];
  for (let i = 0; i + 7 < v.length; i += 6) {
    for (let step = 1; step <= 4; step++) {
      const t = step / 4;
      const s = 1 - t;
      const [a, b, c, d] = [s * s * s, 3 * s * s * t, 3 * s * t * t, t * t * t];
      points.push({
        x: a * v[i] + b * v[i + 2] + c * v[i + 4] + d * v[i + 6],
        y: a * v[i + 1] + b * v[i + 3] + c * v[i + 5] + d * v[i + 7],
      });
    }
  }
  return points;
}

function cpuSince(before) {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

function timed(layout) {
  const before = process.cpuUsage();
  const result = layout();
  return { cpu: cpuSince(before), ...result };
}
