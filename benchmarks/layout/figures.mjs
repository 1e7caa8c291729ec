/** The figures that the layout should reach, each with what was measured: lines "met" or "missed", and nothing where nothing was measured. */

export function verdicts(results) {
  const ours = results.filter((r) => r.engine === "opscope" && !r.failure);
  const at = (list, size) => list.filter((r) => r.target === size);
  const of = (engine) => results.filter((r) => r.engine === engine && !r.failure);
  return [
    ...most("flat, 10,000 boxes: CPU seconds", at(ours, 10_000), "cpu", 1),
    ...most("flat, 100,000 boxes: CPU seconds", at(ours, 100_000), "cpu", 8),
    ...most("flat, 100,000 boxes: peak megabytes", at(ours, 100_000), "rss", 500),
    ...growth(at(ours, 10_000), at(ours, 100_000)),
    ...most("grouped and all open, 100,000 boxes: CPU seconds", at(of("opscope grouped"), 100_000), "cpu", 3),
    ...most("one group opened, 100,000 boxes: CPU seconds", at(of("opscope open 1"), 100_000), "cpu", 0.05),
    ...["netron", "dagre"].flatMap((peer) => ratio("crossings", ours, of(peer), "crossings", 1.05)),
    ...ratio("crossings (to aim for)", ours, of("dot"), "crossings", 1),
    ...ratio("edge length", ours, of("dot"), "length", 1.3),
    ...drift(at(ours, 1000), at(ours, 10_000)),
  ];
}

const line = (met, figure, measured) => `${met ? "met   " : "MISSED"}  ${figure}: ${measured}`;
const shown = (v) => (v >= 100 ? v.toFixed(0) : v.toFixed(v < 0.1 ? 3 : 2));

function most(figure, list, field, limit) {
  if (list.length === 0) return [];
  const worst = list.reduce((a, b) => (b[field] > a[field] ? b : a));
  return [line(worst[field] <= limit, `${figure}, at most ${limit}`, `${shown(worst[field])} (${worst.series})`)];
}

/** Ten times the boxes may take ten times as long, and a little for the logarithm. */
function growth(small, large) {
  const pairs = large.flatMap((b) => small.filter((a) => a.series === b.series).map((a) => ({ series: a.series, times: b.cpu / a.cpu })));
  return most("flat, from 10,000 to 100,000 boxes: times the CPU seconds", pairs, "times", 13);
}

/** One line a graph on which the other engine finished too, of about 1,000 boxes or real. */
function ratio(what, ours, theirs, field, limit) {
  return ours.flatMap((a) => {
    const b = theirs.find((r) => r.name === a.name);
    if (!b || a[field] === undefined || b[field] === undefined || (a.target ?? 1000) > 1000) return [];
    const met = a[field] <= limit * b[field];
    return [line(met, `${a.name}, ${what}, at most ${limit} of ${b.engine}'s`, `${shown(a[field])} against ${shown(b[field])}`)];
  });
}

/** A chain that drifts goes farther the longer it is. */
function drift(small, large) {
  return large.flatMap((b) => {
    const a = small.find((r) => r.series === b.series);
    if (!a || !["transformer", "resnet"].includes(b.series)) return [];
    const measured = `${shown(b.sway)} px at 10,000 boxes, ${shown(a.sway)} px at 1,000`;
    return [line(b.sway <= 1.5 * a.sway + 200, `${b.series}, the longest path does not drift with its length`, measured)];
  });
}
