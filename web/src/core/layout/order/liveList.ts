/**
 * The elements of the current rank in order, while a sweep moves from rank to rank. A rank of a training graph can have
 * tens of thousands of passing segments of which few change, so the list is stored in blocks: a change touches one block, and
 * an index is the sum of the blocks before plus the place within. `indexOf` and `at` are valid from an `index()` call to the
 * next change.
 *
 * Elements that were removed stay in a second, linked list, which in the end is the order of the whole drawing.
 */
const CAPACITY = 96;

export class LiveList {
  private readonly next: Int32Array;
  private readonly previous: Int32Array;
  private readonly blockOf: Int32Array;
  private readonly cell: Int32Array;
  private cells: Int32Array;
  private fill: Int32Array;
  private order: Int32Array;
  private place: Int32Array;
  private offset: Int32Array;
  private blocks = 1;
  private created = 1;
  private total = 0;
  private head = -1;
  /** The place of the first block that has changed since the last `index()`. */
  private changed = 0;

  constructor(elementCount: number) {
    this.next = new Int32Array(elementCount);
    this.previous = new Int32Array(elementCount);
    this.blockOf = new Int32Array(elementCount);
    this.cell = new Int32Array(elementCount);
    const room = 16;
    this.cells = new Int32Array(room * CAPACITY);
    this.fill = new Int32Array(room);
    this.order = new Int32Array(room);
    this.place = new Int32Array(room);
    this.offset = new Int32Array(room + 1);
  }

  clear(): void {
    this.blocks = 1;
    this.created = 1;
    this.fill[0] = 0;
    this.order[0] = 0;
    this.place[0] = 0;
    this.offset[0] = 0;
    this.offset[1] = 0;
    this.changed = 0;
    this.total = 0;
    this.head = -1;
  }

  get length(): number {
    return this.total;
  }

  /** Brings the indices up to date. */
  index(): void {
    const { order, fill, offset, blocks } = this;
    if (this.changed > blocks) return;
    let sum = offset[this.changed];
    for (let i = this.changed; i < blocks; i++) {
      offset[i] = sum;
      sum += fill[order[i]];
    }
    offset[blocks] = sum;
    this.changed = Number.POSITIVE_INFINITY;
  }

  indexOf(element: number): number {
    return this.offset[this.place[this.blockOf[element]]] + this.cell[element];
  }

  /** The element at an index, which must be within the list. */
  at(index: number): number {
    let low = 0;
    let high = this.blocks - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (this.offset[middle] <= index) low = middle;
      else high = middle - 1;
    }
    return this.cells[this.order[low] * CAPACITY + index - this.offset[low]];
  }

  /** Puts an element right after a live one, or at the very front for -1. */
  insertAfter(anchor: number, element: number): void {
    let block: number;
    let cell: number;
    if (anchor < 0) {
      block = this.order[0];
      cell = 0;
      const first = this.firstLive();
      const before = first < 0 ? -1 : this.previous[first];
      this.link(before, element, first < 0 ? this.head : first);
    } else {
      block = this.blockOf[anchor];
      cell = this.cell[anchor] + 1;
      this.link(anchor, element, this.next[anchor]);
    }
    this.changed = Math.min(this.changed, this.place[block]);
    if (this.fill[block] === CAPACITY) {
      this.split(block);
      if (cell > CAPACITY / 2) {
        cell -= CAPACITY / 2;
        block = this.order[this.place[block] + 1];
      }
    }
    const base = block * CAPACITY;
    for (let i = this.fill[block]; i > cell; i--) {
      const moved = this.cells[base + i - 1];
      this.cells[base + i] = moved;
      this.cell[moved] = i;
    }
    this.cells[base + cell] = element;
    this.cell[element] = cell;
    this.blockOf[element] = block;
    this.fill[block]++;
    this.total++;
  }

  remove(element: number): void {
    const block = this.blockOf[element];
    const base = block * CAPACITY;
    const last = --this.fill[block];
    this.changed = Math.min(this.changed, this.place[block]);
    for (let i = this.cell[element]; i < last; i++) {
      const moved = this.cells[base + i + 1];
      this.cells[base + i] = moved;
      this.cell[moved] = i;
    }
    this.total--;
    if (last === 0 && this.blocks > 1) this.drop(block);
  }

  /** Writes the place of every element that was ever in the list. */
  writePositions(position: Int32Array): void {
    let place = 0;
    for (let element = this.head; element >= 0; element = this.next[element]) position[element] = place++;
  }

  private firstLive(): number {
    return this.total === 0 ? -1 : this.cells[this.order[0] * CAPACITY];
  }

  private link(before: number, element: number, after: number): void {
    this.previous[element] = before;
    this.next[element] = after;
    if (before >= 0) this.next[before] = element;
    else this.head = element;
    if (after >= 0) this.previous[after] = element;
  }

  private split(block: number): void {
    if (this.created === this.fill.length) this.grow();
    const fresh = this.created++;
    const half = CAPACITY / 2;
    for (let i = half; i < CAPACITY; i++) {
      const moved = this.cells[block * CAPACITY + i];
      this.cells[fresh * CAPACITY + i - half] = moved;
      this.blockOf[moved] = fresh;
      this.cell[moved] = i - half;
    }
    this.fill[block] = half;
    this.fill[fresh] = CAPACITY - half;
    const at = this.place[block] + 1;
    for (let i = this.blocks; i > at; i--) {
      this.order[i] = this.order[i - 1];
      this.place[this.order[i]] = i;
    }
    this.order[at] = fresh;
    this.place[fresh] = at;
    this.blocks++;
  }

  /** Removes an empty block and gives its number to the last one created, so that numbers stay dense. */
  private drop(block: number): void {
    for (let i = this.place[block]; i < this.blocks - 1; i++) {
      this.order[i] = this.order[i + 1];
      this.place[this.order[i]] = i;
    }
    this.blocks--;
    const last = --this.created;
    if (last === block) return;
    for (let i = 0; i < this.fill[last]; i++) {
      const moved = this.cells[last * CAPACITY + i];
      this.cells[block * CAPACITY + i] = moved;
      this.blockOf[moved] = block;
    }
    this.fill[block] = this.fill[last];
    this.place[block] = this.place[last];
    this.order[this.place[block]] = block;
  }

  private grow(): void {
    const room = this.fill.length * 2;
    const enlarge = (old: Int32Array, size: number): Int32Array => {
      const bigger = new Int32Array(size);
      bigger.set(old);
      return bigger;
    };
    this.cells = enlarge(this.cells, room * CAPACITY);
    this.fill = enlarge(this.fill, room);
    this.order = enlarge(this.order, room);
    this.place = enlarge(this.place, room);
    this.offset = enlarge(this.offset, room + 1);
  }
}
