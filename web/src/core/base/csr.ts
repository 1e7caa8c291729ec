/** Rows of numbers in typed arrays, and numbers for triples of integers. */

/** Rows of numbers: row i is value[start[i]] … value[start[i+1]-1]. */
export interface Csr {
  readonly start: Int32Array;
  readonly value: Int32Array;
}
export interface Csr2 extends Csr {
  readonly extra: Int32Array;
}

/**
 * Rows by key, in linear time: row k lists the items i with key[i] = k, in order, or what `values` has for them. A negative key leaves
 * the item out.
 */
export function bucketBy(key: Int32Array, keyCount: number, values?: Int32Array): Csr {
  const start = new Int32Array(keyCount + 1);
  for (let i = 0; i < key.length; i++) if (key[i] >= 0) start[key[i] + 1]++;
  for (let k = 0; k < keyCount; k++) start[k + 1] += start[k];
  const cursor = start.slice(0, keyCount);
  const value = new Int32Array(start[keyCount]);
  for (let i = 0; i < key.length; i++) if (key[i] >= 0) value[cursor[key[i]]++] = values ? values[i] : i;
  return { start, value };
}

/** Turns the rows around: row v of the answer lists the rows of `csr` that hold v, in order, as often as they do. */
export function transpose(csr: Csr, valueCount: number): Csr {
  const rowOf = new Int32Array(csr.value.length);
  for (let row = 0; row + 1 < csr.start.length; row++) rowOf.fill(row, csr.start[row], csr.start[row + 1]);
  return bucketBy(csr.value, valueCount, rowOf);
}

/** The same, but a row that holds a number twice counts once. */
export const distinctTranspose = (csr: Csr, valueCount: number): Csr => distinct(transpose(csr, valueCount));

/** Rows in which equal numbers are next to each other, with each number once. */
export function distinct(rows: Csr): Csr {
  const rowCount = rows.start.length - 1;
  const start = new Int32Array(rowCount + 1);
  const value = new Int32Array(rows.value.length);
  let count = 0;
  for (let row = 0; row < rowCount; row++) {
    for (let i = rows.start[row]; i < rows.start[row + 1]; i++)
      if (i === rows.start[row] || rows.value[i] !== rows.value[i - 1]) value[count++] = rows.value[i];
    start[row + 1] = count;
  }
  return { start, value: value.subarray(0, count) };
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
      const entry = this.table[slot];
      if (entry < 0) break;
      if (this.keys[3 * entry] === a && this.keys[3 * entry + 1] === b && this.keys[3 * entry + 2] === c) return entry;
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
