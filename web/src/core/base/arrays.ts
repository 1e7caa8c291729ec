/** Small helpers over typed arrays that several phases share. */

/** Sorts ids[from…to) by key[id], stable, without allocating: insertion for short runs, bottom-up merging beyond. */
export function sortByKey(ids: Int32Array, from: number, to: number, key: ArrayLike<number>, spare: Int32Array): void {
  const run = 16;
  for (let low = from; low < to; low += run) {
    const high = Math.min(low + run, to);
    for (let i = low + 1; i < high; i++) {
      const id = ids[i];
      const k = key[id];
      let j = i - 1;
      while (j >= low && key[ids[j]] > k) {
        ids[j + 1] = ids[j];
        j--;
      }
      ids[j + 1] = id;
    }
  }
  for (let width = run; width < to - from; width *= 2) {
    for (let low = from; low + width < to; low += 2 * width) {
      const middle = low + width;
      const high = Math.min(middle + width, to);
      if (key[ids[middle - 1]] <= key[ids[middle]]) continue;
      for (let i = low; i < middle; i++) spare[i - low] = ids[i];
      let a = 0;
      let b = middle;
      let out = low;
      const left = middle - low;
      while (a < left && b < high) ids[out++] = key[ids[b]] < key[spare[a]] ? ids[b++] : spare[a++];
      while (a < left) ids[out++] = spare[a++];
    }
  }
}

/** The same numbers with room for more behind them. */
export function withRoom<T extends Float64Array | Int32Array | Uint8Array>(column: T, room: number): T {
  const longer = new (column.constructor as new (length: number) => T)(room);
  longer.set(column);
  return longer;
}

/** 0, 1, 2, … */
export function upTo(count: number): Int32Array {
  const numbers = new Int32Array(count);
  for (let i = 0; i < count; i++) numbers[i] = i;
  return numbers;
}

/** Prefix counts over positions 0…size-1, updated and asked in logarithmic time (a Fenwick tree). */
export class PrefixCounter {
  private readonly tree: Int32Array;

  constructor(private readonly size: number) {
    this.tree = new Int32Array(size + 1);
  }

  add(position: number, amount: number): void {
    for (let i = position + 1; i <= this.size; i += i & -i) this.tree[i] += amount;
  }

  /** The sum over positions < `position`. */
  before(position: number): number {
    let sum = 0;
    for (let i = position; i > 0; i -= i & -i) sum += this.tree[i];
    return sum;
  }
}

/** A set of positions that answers "next to the left / right" in a few steps: bits in words, words in words above. */
export class PositionSet {
  private readonly levels: Int32Array[] = [];

  constructor(size: number) {
    let words = Math.max(1, size);
    do {
      words = (words + 31) >>> 5;
      this.levels.push(new Int32Array(words));
    } while (words > 1);
  }

  add(position: number): void {
    let p = position;
    for (const level of this.levels) {
      level[p >>> 5] |= 1 << (p & 31);
      p >>>= 5;
    }
  }

  remove(position: number): void {
    let p = position;
    for (const level of this.levels) {
      level[p >>> 5] &= ~(1 << (p & 31));
      if (level[p >>> 5] !== 0) return;
      p >>>= 5;
    }
  }

  /** The greatest member < position, or -1. */
  previous(position: number): number {
    const { levels } = this;
    let p = position;
    for (let l = 0; l < levels.length; l++) {
      const bits = levels[l][p >>> 5] & ((1 << (p & 31)) - 1);
      if (bits !== 0) {
        p = (p & ~31) | (31 - Math.clz32(bits));
        while (l > 0) {
          l--;
          p = (p << 5) | (31 - Math.clz32(levels[l][p]));
        }
        return p;
      }
      p >>>= 5;
    }
    return -1;
  }

  /** The least member > position, or -1. */
  next(position: number): number {
    const { levels } = this;
    let p = position;
    for (let l = 0; l < levels.length; l++) {
      const bits = (p & 31) === 31 ? 0 : levels[l][p >>> 5] & (-1 << ((p & 31) + 1));
      if (bits !== 0) {
        p = (p & ~31) | (31 - Math.clz32(bits & -bits));
        while (l > 0) {
          l--;
          const word = levels[l][p];
          p = (p << 5) | (31 - Math.clz32(word & -word));
        }
        return p;
      }
      p >>>= 5;
    }
    return -1;
  }
}

/** The last of `count` rising numbers that is at most `most`. */
export function lastAtMost(count: number, numberAt: (index: number) => number, most: number): number {
  let low = 0,
    high = count - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (numberAt(middle) <= most) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** The numbers of a column whose `mark` is this. A loop, as `filter` makes an object of every number of a large column. */
export function marked<T extends Float64Array | Float32Array | Int32Array | Uint8Array>(column: T, marks: Uint8Array, mark: number): T {
  let count = 0;
  for (let i = 0; i < column.length; i++) if (marks[i] === mark) count++;
  const kept = new (column.constructor as new (length: number) => T)(count);
  for (let i = 0, at = 0; i < column.length; i++) if (marks[i] === mark) kept[at++] = column[i];
  return kept;
}
