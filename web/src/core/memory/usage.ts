/** Bytes in use along the order of a run, by kind. */
import { comesFirst, heldAt, type MemoryData } from "./memory";

/** A part of the run in columns, each with what is in use at its highest point. */
export interface Usage {
  /** The first position, and the one after the last. */
  readonly from: number;
  readonly to: number;
  readonly columns: number;
  /** Of each column: the position of its highest point, and the bytes in use there; by kind in `stack[column * kinds + kind]`, where what is
   * reserved and not in use is a kind of its own. */
  readonly position: Int32Array;
  readonly total: Float64Array;
  readonly stack: Float64Array;
}

export function usageOf(memory: MemoryData, from: number, to: number, columns: number): Usage {
  const kinds = memory.kinds.length;
  const length = Math.max(1, to - from);
  const count = Math.max(1, Math.min(columns, length));
  const usage = {
    from,
    to,
    columns: count,
    position: new Int32Array(count),
    total: new Float64Array(count).fill(-1),
    stack: new Float64Array(count * kinds),
  };
  const sweep = new Sweep(memory);
  for (let position = 0; position < to; position++) {
    sweep.moveTo(position);
    if (position < from) continue;
    const column = Math.min(count - 1, Math.floor(((position - from) * count) / length));
    if (sweep.total <= usage.total[column]) continue;
    usage.total[column] = sweep.total;
    usage.position[column] = position;
    usage.stack.set(sweep.byKind, column * kinds);
  }
  if (memory.held.length > 0)
    for (let column = 0; column < count; column++)
      usage.stack[column * kinds + memory.unusedKind] = Math.max(0, heldAt(memory, usage.position[column]) - usage.total[column]);
  return usage;
}

/** Goes through a run, position after position, with the bytes in use. A slot counts once, as the buffer that represents it. */
class Sweep {
  readonly byKind: Float64Array;
  total = 0;
  private born = 0;
  private ended = 0;
  /** Buffers of each slot that have been born, the representative on top; those that have ended are removed when they get there. */
  private readonly slots = new Map<number, number[]>();
  private readonly shown: Int32Array;

  constructor(private readonly memory: MemoryData) {
    this.byKind = new Float64Array(memory.kinds.length);
    this.shown = new Int32Array(memory.slotCount).fill(-1);
  }

  moveTo(position: number): void {
    const { memory } = this;
    const { byEnd } = memory;
    const touched: number[] = [];
    for (; this.ended < memory.count && memory.last[byEnd[this.ended]] < position; this.ended++) {
      const buffer = byEnd[this.ended];
      if (memory.slot[buffer] < 0) this.add(buffer, -1);
      else touched.push(memory.slot[buffer]);
    }
    for (; this.born < memory.count && memory.born[this.born] <= position; this.born++) {
      const slot = memory.slot[this.born];
      if (slot < 0) this.add(this.born, 1);
      else {
        this.push(slot, this.born);
        touched.push(slot);
      }
    }
    for (const slot of touched) this.represent(slot, position);
  }

  private represent(slot: number, position: number): void {
    const heap = this.slots.get(slot) ?? [];
    while (heap.length > 0 && this.memory.last[heap[0]] < position) this.pop(heap);
    const top = heap[0] ?? -1;
    const before = this.shown[slot];
    if (top === before) return;
    if (before >= 0) this.add(before, -1);
    if (top >= 0) this.add(top, 1);
    this.shown[slot] = top;
  }

  private add(buffer: number, sign: 1 | -1): void {
    const size = sign * (this.memory.bytes[buffer] || 0);
    this.byKind[this.memory.kind[buffer]] += size;
    this.total += size;
  }

  private push(slot: number, buffer: number): void {
    const heap = this.slots.get(slot) ?? [];
    if (heap.length === 0) this.slots.set(slot, heap);
    let at = heap.push(buffer) - 1;
    for (let parent = (at - 1) >> 1; at > 0 && comesFirst(this.memory, heap[at], heap[parent]); parent = (at - 1) >> 1) {
      [heap[at], heap[parent]] = [heap[parent], heap[at]];
      at = parent;
    }
  }

  private pop(heap: number[]): void {
    const end = heap.pop()!;
    if (heap.length === 0) return;
    heap[0] = end;
    for (let at = 0; ; ) {
      const left = 2 * at + 1;
      let first = at;
      for (const child of [left, left + 1]) if (child < heap.length && comesFirst(this.memory, heap[child], heap[first])) first = child;
      if (first === at) return;
      [heap[at], heap[first]] = [heap[first], heap[at]];
      at = first;
    }
  }
}
