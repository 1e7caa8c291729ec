/** Small structures over typed arrays that the view's parts share. */

/** Rows of numbers: row i is value[start[i]] … value[start[i+1]-1]. */
export interface Csr {
  readonly start: Int32Array;
  readonly value: Int32Array;
}
export interface Csr2 extends Csr {
  readonly extra: Int32Array;
}

/** Turns the rows around: row v of the answer lists the rows of `csr` that hold v, in order, as often as they do. */
export function transpose(csr: Csr, valueCount: number): Csr {
  const rowCount = csr.start.length - 1;
  const start = new Int32Array(valueCount + 1);
  for (let i = 0; i < csr.value.length; i++) start[csr.value[i] + 1]++;
  for (let v = 0; v < valueCount; v++) start[v + 1] += start[v];
  const fill = start.slice(0, valueCount);
  const value = new Int32Array(csr.value.length);
  for (let row = 0; row < rowCount; row++) {
    for (let i = csr.start[row]; i < csr.start[row + 1]; i++) value[fill[csr.value[i]]++] = row;
  }
  return { start, value };
}

/** The same, but a row that holds a number twice counts once. */
export function distinctTranspose(rows: Csr, count: number): Csr {
  const last = new Int32Array(count).fill(-1);
  const start = new Int32Array(count + 1);
  const each = (visit: (value: number, row: number) => void) => {
    last.fill(-1);
    for (let row = 0; row + 1 < rows.start.length; row++) {
      for (let i = rows.start[row]; i < rows.start[row + 1]; i++) {
        const value = rows.value[i];
        if (last[value] === row) continue;
        last[value] = row;
        visit(value, row);
      }
    }
  };
  each((value) => start[value + 1]++);
  for (let i = 0; i < count; i++) start[i + 1] += start[i];
  const next = start.slice();
  const value = new Int32Array(start[count]);
  each((to, row) => {
    value[next[to]++] = row;
  });
  return { start, value };
}

/** Lists members by class: row c holds the items with classOf[item] = c (negative: in no row). */
export function byClass(classOf: Int32Array, classCount: number): Csr {
  const start = new Int32Array(classCount + 1);
  for (let i = 0; i < classOf.length; i++) if (classOf[i] >= 0) start[classOf[i] + 1]++;
  for (let c = 0; c < classCount; c++) start[c + 1] += start[c];
  const fill = start.slice(0, classCount);
  const value = new Int32Array(start[classCount]);
  for (let i = 0; i < classOf.length; i++) if (classOf[i] >= 0) value[fill[classOf[i]]++] = i;
  return { start, value };
}

/** Scatters the bits of two numbers over 32 bits. */
export function mix(a: number, b: number): number {
  let h = Math.imul(a ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(b + 0x7f4a7c15, 0xc2b2ae35);
  h = Math.imul(h ^ (h >>> 15), 0x2c1b3c6d);
  h = Math.imul(h ^ (h >>> 12), 0x297a2d39);
  return h ^ (h >>> 15);
}

/** Numbers 0, 1, 2, … for triples of integers, in order of first sight. Open addressing; no objects. */
export class TripleMap {
  size = 0;
  private table: Int32Array;
  private keys: Int32Array;

  constructor(expected = 64) {
    let capacity = 64;
    while (capacity < expected * 2) capacity *= 2;
    this.table = new Int32Array(capacity).fill(-1);
    this.keys = new Int32Array(capacity * 3);
  }

  /** The triple's number; a new one is `size` as it was before the call. */
  number(a: number, b: number, c: number): number {
    const mask = this.table.length - 1;
    let slot = mix(mix(a, b), c) & mask;
    for (;;) {
      const found = this.table[slot];
      if (found < 0) break;
      if (this.keys[3 * found] === a && this.keys[3 * found + 1] === b && this.keys[3 * found + 2] === c) return found;
      slot = (slot + 1) & mask;
    }
    const number = this.size++;
    this.table[slot] = number;
    this.keys[3 * number] = a;
    this.keys[3 * number + 1] = b;
    this.keys[3 * number + 2] = c;
    if (this.size * 2 > this.table.length) this.grow();
    return number;
  }

  private grow(): void {
    const capacity = this.table.length * 2;
    const keys = new Int32Array(capacity * 3);
    keys.set(this.keys);
    this.keys = keys;
    this.table = new Int32Array(capacity).fill(-1);
    const mask = capacity - 1;
    for (let i = 0; i < this.size; i++) {
      let slot = mix(mix(keys[3 * i], keys[3 * i + 1]), keys[3 * i + 2]) & mask;
      while (this.table[slot] >= 0) slot = (slot + 1) & mask;
      this.table[slot] = i;
    }
  }
}
