/** The buffers alive at a point of a run. */
import { comesFirst, heldAt, type MemoryData } from "./memory";

/** What buffers are summed by. */
export const GROUPED_BY = ["buffer", "module", "source", "kind"] as const;
export type GroupedBy = (typeof GROUPED_BY)[number];

/** A line of the list: a group, a buffer that represents its memory, or one that shares it. */
export interface LiveLine {
  /** -1: a group, or what is reserved and not in use. */
  readonly buffer: number;
  readonly shares: boolean;
  readonly group?: string;
  readonly bytes: number;
  /** Of a group: how many buffers. */
  readonly count: number;
}

/** Memory that is in use: the buffer that represents it, and the others in it. */
interface Slot {
  readonly buffer: number;
  readonly others: readonly number[];
}

/** The largest first, and those of unknown size last. Groups come with their buffers; those that are `closed` without. */
export function liveAt(memory: MemoryData, position: number, by: GroupedBy, closed: ReadonlySet<string>): LiveLine[] {
  const slots = slotsAt(memory, position);
  const used = slots.reduce((sum, { buffer }) => sum + (memory.bytes[buffer] || 0), 0);
  const unused = heldAt(memory, position) - used;
  const rest: LiveLine[] = unused > 0 ? [{ buffer: -1, shares: false, bytes: unused, count: 1 }] : [];
  if (by === "buffer") return [...slots.flatMap((slot) => linesOf(memory, slot)), ...rest];
  const groups = new Map<string, Slot[]>();
  for (const slot of slots) {
    const name = groupOf(memory, slot.buffer, by);
    const members = groups.get(name);
    if (members) members.push(slot);
    else groups.set(name, [slot]);
  }
  const sums = [...groups].map(([group, members]) => ({
    group,
    members,
    bytes: members.reduce((sum, { buffer }) => sum + (memory.bytes[buffer] || 0), 0),
  }));
  sums.sort((a, b) => b.bytes - a.bytes || (a.group < b.group ? -1 : 1));
  const lines = sums.flatMap(({ group, members, bytes }): LiveLine[] => [
    { buffer: -1, shares: false, group, bytes, count: members.length },
    ...(closed.has(group) ? [] : members.flatMap((slot) => linesOf(memory, slot))),
  ]);
  return [...lines, ...rest];
}

function groupOf(memory: MemoryData, buffer: number, by: Exclude<GroupedBy, "buffer">): string {
  return by === "kind" ? memory.kinds[memory.kind[buffer]] : memory.strings.at(memory[by][buffer]);
}

function linesOf({ bytes }: MemoryData, { buffer, others }: Slot): LiveLine[] {
  return [
    { buffer, shares: false, bytes: bytes[buffer], count: 1 },
    ...others.map((other) => ({ buffer: other, shares: true, bytes: bytes[other], count: 1 })),
  ];
}

function slotsAt(memory: MemoryData, position: number): Slot[] {
  const { count, born, last, slot, bytes } = memory;
  const bySlot = new Map<number, number[]>();
  for (let buffer = 0; buffer < count && born[buffer] <= position; buffer++) {
    if (last[buffer] < position) continue;
    // A buffer without a slot is alone in its memory.
    const key = slot[buffer] < 0 ? -1 - buffer : slot[buffer];
    const members = bySlot.get(key);
    if (members) members.push(buffer);
    else bySlot.set(key, [buffer]);
  }
  const slots = [...bySlot.values()].map((members): Slot => {
    members.sort((a, b) => (comesFirst(memory, a, b) ? -1 : 1));
    return { buffer: members[0], others: members.slice(1) };
  });
  const size = (buffer: number) => (Number.isNaN(bytes[buffer]) ? -1 : bytes[buffer]);
  return slots.sort((a, b) => size(b.buffer) - size(a.buffer) || born[a.buffer] - born[b.buffer] || a.buffer - b.buffer);
}
