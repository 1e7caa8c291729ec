/**
 * Moves the points from…to of one line to `out` (not after `from`), without repeated ones and without those inside a
 * vertical line; returns the new end. At least two points remain.
 */
export function simplify(points: Float64Array, from: number, to: number, out: number): number {
  const start = out;
  const near = 1e-6;
  let n = out;
  for (let i = from; i < to; i++) {
    const x = points[2 * i];
    const y = points[2 * i + 1];
    if (n > start) {
      const lastX = points[2 * n - 2];
      const lastY = points[2 * n - 1];
      if (Math.abs(x - lastX) < near && Math.abs(y - lastY) < near) continue;
      const vertical = n - start > 1 && Math.abs(x - lastX) < near && Math.abs(points[2 * n - 4] - lastX) < near;
      if (vertical && (y - lastY) * (lastY - points[2 * n - 3]) > 0) n--;
    }
    points[2 * n] = x;
    points[2 * n + 1] = y;
    n++;
  }
  if (n - start === 1) {
    points[2 * n] = points[2 * start];
    points[2 * n + 1] = points[2 * start + 1];
    n++;
  }
  return n;
}
