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

/** A screen of 1600 × 1000 pixels at 50 %, and how many tiles across and down it is cut into to look for empty ones. */
export const SCREEN = { width: 3200, height: 2000 };
const TILES = 8;

/** How wide the widest part of a drawing of boxes in boxes is that is as high as a screen and has no box in it, only lines: in whole tiles. */
export function widestGap(boxes, { x, y, w, h, width, height }) {
  const [across, down] = [SCREEN.width / TILES, SCREEN.height / TILES];
  const [columns, rows] = [Math.ceil(width / across), Math.ceil(height / down)];
  const isUsed = new Uint8Array(columns * rows);
  for (let box = 0; box < boxes; box++) {
    for (let row = Math.floor(y[box] / down); row < Math.min(rows, (y[box] + h[box]) / down); row++) {
      isUsed.fill(1, row * columns + Math.floor(x[box] / across), row * columns + Math.min(columns, Math.ceil((x[box] + w[box]) / across)));
    }
  }
  const emptyAbove = new Int32Array(columns);
  let widest = 0;
  for (let row = 0; row < rows; row++) {
    for (let column = 0, run = 0; column < columns; column++) {
      emptyAbove[column] = isUsed[row * columns + column] ? 0 : emptyAbove[column] + 1;
      run = emptyAbove[column] >= TILES ? run + 1 : 0;
      widest = Math.max(widest, run);
    }
  }
  return widest * across;
}
