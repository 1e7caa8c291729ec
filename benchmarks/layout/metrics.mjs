/** What makes a drawing good or bad, counted on the drawn lines whoever drew them: {points, pointStart} as polylines. */

/** Crossings: the page is cut at every bend; within a strip lines are straight and cross where their order differs. */
export function crossings({ points, pointStart }) {
  const grid = (v) => Math.round(v * 64) / 64;
  const pieces = [];
  for (let e = 0; e + 1 < pointStart.length; e++) {
    for (let p = pointStart[e]; p + 1 < pointStart[e + 1]; p++) {
      let [x1, y1, x2, y2] = [points[2 * p], grid(points[2 * p + 1]), points[2 * p + 2], grid(points[2 * p + 3])];
      if (y1 === y2) continue;
      if (y1 > y2) [x1, y1, x2, y2] = [x2, y2, x1, y1];
      pieces.push({ x1, y1, x2, y2 });
    }
  }
  pieces.sort((a, b) => a.y1 - b.y1);
  const cuts = [...new Set(pieces.flatMap((p) => [p.y1, p.y2]))].sort((a, b) => a - b);
  let active = [];
  let next = 0;
  let total = 0;
  for (let i = 0; i + 1 < cuts.length; i++) {
    const [top, bottom] = [cuts[i], cuts[i + 1]];
    active = active.filter((p) => p.y2 > top);
    while (next < pieces.length && pieces[next].y1 <= top) active.push(pieces[next++]);
    let upright = true;
    for (const p of active) {
      const slope = (p.x2 - p.x1) / (p.y2 - p.y1);
      p.a = grid(p.x1 + slope * (top - p.y1));
      p.b = grid(p.x1 + slope * (bottom - p.y1));
      if (p.a !== p.b) upright = false;
    }
    if (upright) continue;
    const sorted = active.slice().sort((p, q) => p.a - q.a || p.b - q.b);
    total += inversions(Float64Array.from(sorted, (p) => p.b));
  }
  return total;
}

function inversions(values) {
  let from = values;
  let to = new Float64Array(values.length);
  let count = 0;
  for (let width = 1; width < values.length; width *= 2) {
    for (let low = 0; low < values.length; low += 2 * width) {
      const middle = Math.min(low + width, values.length);
      const high = Math.min(low + 2 * width, values.length);
      let [a, b] = [low, middle];
      for (let out = low; out < high; out++) {
        if (a < middle && (b >= high || from[a] <= from[b])) to[out] = from[a++];
        else {
          to[out] = from[b++];
          count += middle - a;
        }
      }
    }
    [from, to] = [to, from];
  }
  return count;
}

export function edgeLength({ points, pointStart }) {
  let total = 0;
  for (let e = 0; e + 1 < pointStart.length; e++) {
    for (let p = pointStart[e]; p + 1 < pointStart[e + 1]; p++) {
      total += Math.hypot(points[2 * p + 2] - points[2 * p], points[2 * p + 3] - points[2 * p + 1]);
    }
  }
  return total;
}

/** How far a drawing drifts: the spread of centres along one longest path from top to bottom: of its middle three fifths, since a branch may be the longest way round. */
export function sway({ width, source, target }, x) {
  const count = width.length;
  const waiting = new Int32Array(count);
  const next = Array.from({ length: count }, () => []);
  for (let e = 0; e < source.length; e++) {
    next[source[e]].push(target[e]);
    waiting[target[e]]++;
  }
  const length = new Int32Array(count);
  const before = new Int32Array(count).fill(-1);
  const ready = [...waiting.keys()].filter((v) => waiting[v] === 0);
  let deepest = 0;
  for (let v = ready.pop(); v !== undefined; v = ready.pop()) {
    if (length[v] > length[deepest]) deepest = v;
    for (const w of next[v]) {
      if (length[v] + 1 > length[w]) [length[w], before[w]] = [length[v] + 1, v];
      if (--waiting[w] === 0) ready.push(w);
    }
  }
  const places = [];
  for (let v = deepest; v >= 0; v = before[v]) places.push(x[v]);
  places.sort((a, b) => a - b);
  return places[Math.floor(0.8 * (places.length - 1))] - places[Math.ceil(0.2 * (places.length - 1))];
}
