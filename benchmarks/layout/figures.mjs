/** What a run of the layout benchmark measured, as figures for `benchmarks/results.py`, and the targets among them as printed lines. */
import { SCREEN } from "./metrics.mjs";

/** One figure per graph and engine: CPU seconds, and crossings where they were counted. A layout that did not finish says why. */
export function measured(results) {
  const size = (name) => results.find((r) => r.name === name && r.nodes)?.nodes ?? null;
  return results.flatMap((r) => {
    const origin = { graph: r.graph, size: size(r.name), tool: r.engine };
    if (r.failure) return [{ ...origin, name: "layout", value: null, unit: "s", note: r.failure }];
    const layout = { ...origin, name: "layout", value: r.cpu, unit: "s" };
    return r.crossings === undefined ? [layout] : [layout, { ...origin, name: "crossings", value: r.crossings }];
  });
}

/** The figures that have a target, and nothing where nothing was measured. */
export function targets(results) {
  const ours = results.filter((r) => r.engine === "opscope" && !r.failure);
  const at = (list, size) => list.filter((r) => r.target === size);
  const of = (engine) => results.filter((r) => r.engine === engine && !r.failure);
  return [
    ...worst("flat, 10,000 boxes", at(ours, 10_000), "cpu", "s", 1),
    ...worst("flat, 100,000 boxes", at(ours, 100_000), "cpu", "s", 8),
    ...worst("flat, 100,000 boxes, peak memory", at(ours, 100_000), "rss", "MB", 500),
    ...growth(at(ours, 10_000), at(ours, 100_000)),
    ...worst("all groups open, 100,000 boxes", at(of("opscope grouped"), 100_000), "cpu", "s", 3),
    ...worst("all groups open, widest part without a box", of("opscope grouped"), "gap", "px", SCREEN.width),
    ...worst("one group opened, 100,000 boxes", at(of("opscope open 1"), 100_000), "cpu", "s", 0.05),
    ...["netron", "dagre"].flatMap((peer) => ratio("crossings", ours, of(peer), "crossings", 1.05)),
    ...ratio("crossings", ours, of("dot"), "crossings", 1),
    ...ratio("edge length", ours, of("dot"), "length", 1.3),
    ...drift(at(ours, 1000), at(ours, 10_000)),
  ];
}

const shown = (v) => (v >= 100 ? v.toFixed(0) : v.toFixed(v < 0.1 ? 3 : 2));

export const line = ({ graph, name, value, unit, at_most }) =>
  `${value <= at_most ? "met   " : "MISSED"}  ${graph}, ${name}: ${shown(value)} ${unit} (at most ${shown(at_most)})`;

/** The largest value of a field, with the graph that has it. */
function worst(name, list, field, unit, limit) {
  if (list.length === 0) return [];
  const largest = list.reduce((a, b) => (b[field] > a[field] ? b : a));
  return [{ graph: largest.graph, name, value: largest[field], unit, at_most: limit }];
}

/** Ten times the boxes may take ten times as long, and a little for the logarithm. */
function growth(small, large) {
  const pairs = large.flatMap((b) => small.filter((a) => a.graph === b.graph).map((a) => ({ graph: a.graph, times: b.cpu / a.cpu })));
  return worst("growth from 10,000 to 100,000 boxes", pairs, "times", "×", 13);
}

/** One figure per graph of about 1,000 boxes, or real one, on which the other engine finished too. */
function ratio(what, ours, theirs, field, limit) {
  return ours.flatMap((a) => {
    const b = theirs.find((r) => r.name === a.name);
    if (!b || a[field] === undefined || b[field] === undefined || (a.target ?? 1000) > 1000) return [];
    const value = b[field] ? a[field] / b[field] : a[field] ? Infinity : 1;
    return [{ graph: a.graph, size: a.nodes, name: `${what}, relative to ${b.engine}`, value, unit: "×", at_most: limit }];
  });
}

/** A chain that drifts goes farther the longer it is. */
function drift(small, large) {
  return large.flatMap((b) => {
    const a = small.find((r) => r.graph === b.graph);
    if (!a || !["transformer", "resnet"].includes(b.graph)) return [];
    return [{ graph: b.graph, name: "sideways drift of the longest path, 10,000 boxes", value: b.sway, unit: "px", at_most: 1.5 * a.sway + 200 }];
  });
}
