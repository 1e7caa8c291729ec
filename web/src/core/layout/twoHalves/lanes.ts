/** Lanes: parallel lines that share a gutter without touching, and places where nothing is in the way. */

/** The stretch of a gutter that a line uses. Lines of one `value` may share a lane. */
export interface Stretch {
  readonly from: number;
  readonly to: number;
  readonly value: number;
}

const APART = 8;

/** A lane for each stretch so that no two of different values touch, and the number of lanes: first come, first served. */
export function lanesFor(stretches: readonly Stretch[], most: number): { lane: Int32Array; count: number } {
  const lane = new Int32Array(stretches.length);
  const free: number[] = [];
  const ofValue = new Map<number, number>();
  const order = stretches.map((_, i) => i).sort((a, b) => stretches[a].from - stretches[b].from || stretches[b].to - stretches[a].to);
  for (const i of order) {
    const { from, to, value } = stretches[i];
    let at = ofValue.get(value) ?? -1;
    if (at < 0) {
      at = free.findIndex((end) => end + APART <= from);
      if (at < 0) at = free.length < most ? free.push(0) - 1 : i % most;
      ofValue.set(value, at);
    }
    lane[i] = at;
    free[at] = Math.max(free[at], to);
  }
  return { lane, count: free.length };
}

const STEP = 4;

/** How far boxes reach in each thin band of an axis, to see whether a ray from a box hits another. */
export class Bands {
  private readonly least = new Map<number, number>();
  private readonly most = new Map<number, number>();

  /** A box covers [from, to] along the axis and `low` to `high` across it. */
  add(from: number, to: number, low: number, high: number): void {
    for (let band = Math.floor(from / STEP); band <= Math.floor(to / STEP); band++) {
      this.least.set(band, Math.min(this.least.get(band) ?? Infinity, low));
      this.most.set(band, Math.max(this.most.get(band) ?? -Infinity, high));
    }
  }

  /** Is there nothing below `low` (towards smaller numbers) at this place? */
  freeBelow(at: number, low: number): boolean {
    return (this.least.get(Math.floor(at / STEP)) ?? Infinity) >= low - 1e-6;
  }

  freeAbove(at: number, high: number): boolean {
    return (this.most.get(Math.floor(at / STEP)) ?? -Infinity) <= high + 1e-6;
  }
}
