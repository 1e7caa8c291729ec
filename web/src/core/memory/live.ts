/** The buffers alive at a point of a run. */
import { comesFirst, heldAt, type MemoryData } from "./memory";
import { repeatKey } from "./repeats";

/** What buffers are summed by. */
export const GROUPED_BY = ["buffer", "module", "source", "kind"] as const;
export type GroupedBy = (typeof GROUPED_BY)[number];

/** A line of the list: a group, equal buffers of repeated layers, a buffer that represents its memory, or one that shares it. */
export interface LiveLine {
  /** -1: a group, or what is reserved and not in use. Of equal buffers: the first of them. */
  readonly buffer: number;
  readonly shares: boolean;
  readonly group?: string;
  /** Of all buffers of the line together. */
  readonly bytes: number;
  /** How many buffers the line represents. */
  readonly count: number;
  /** Of equal buffers: all of them, and the name by which they are opened. */
  readonly repeats?: { readonly key: string; readonly buffers: readonly number[] };
}

/** Memory that is in use: the buffer that represents it, and the others in it. */
interface Slot {
  readonly buffer: number;
  readonly others: readonly number[];
}

/** How the list is made. */
export interface Listing {
  readonly by: GroupedBy;
  /** Groups that are closed, and equal buffers that are opened. */
  readonly toggled: ReadonlySet<string>;
  /** The name of a buffer's node. With it, equal buffers of repeated layers are one line. */
  readonly nameOf?: (buffer: number) => string;
}

/** The largest first, and those of unknown size last. Groups come with their buffers; those that are closed without. */
export function liveAt(memory: MemoryData, position: number, listing: Listing): LiveLine[] {
  const { by, toggled } = listing;
  const slots = slotsAt(memory, position);
  const used = sum(memory, slots);
  const unused = heldAt(memory, position) - used;
  const rest: LiveLine[] = unused > 0 ? [{ buffer: -1, shares: false, bytes: unused, count: 1 }] : [];
  if (by === "buffer") return [...linesOf(memory, slots, listing), ...rest];
  const sums = [...gathered(slots, ({ buffer }) => groupOf(memory, buffer, by))].map(([group, members]) => ({
    group,
    members,
    bytes: sum(memory, members),
  }));
  sums.sort((a, b) => b.bytes - a.bytes || (a.group < b.group ? -1 : 1));
  const lines = sums.flatMap(({ group, members, bytes }): LiveLine[] => [
    { buffer: -1, shares: false, group, bytes, count: members.length },
    ...(toggled.has(group) ? [] : linesOf(memory, members, listing)),
  ]);
  return [...lines, ...rest];
}

function sum({ bytes }: MemoryData, slots: readonly Slot[]): number {
  return slots.reduce((all, { buffer }) => all + (bytes[buffer] || 0), 0);
}

function gathered(slots: readonly Slot[], name: (slot: Slot) => string): Map<string, Slot[]> {
  const groups = new Map<string, Slot[]>();
  for (const slot of slots) {
    const key = name(slot);
    const members = groups.get(key);
    if (members) members.push(slot);
    else groups.set(key, [slot]);
  }
  return groups;
}

function groupOf(memory: MemoryData, buffer: number, by: Exclude<GroupedBy, "buffer">): string {
  return by === "kind" ? memory.kinds[memory.kind[buffer]] : memory.strings.at(memory[by][buffer]);
}

/** Slots come the largest first; with those that are equal in one line, the largest line is first. */
function linesOf(memory: MemoryData, slots: readonly Slot[], { nameOf, toggled }: Listing): LiveLine[] {
  if (!nameOf) return slots.flatMap((slot) => slotLines(memory, slot));
  const repeats = [...gathered(slots, ({ buffer }) => repeatKey(memory, buffer, nameOf(buffer)))];
  const size = ([, members]: readonly [string, readonly Slot[]]) => members.length * knownBytes(memory, members[0].buffer);
  repeats.sort((a, b) => size(b) - size(a));
  return repeats.flatMap(([key, members]): LiveLine[] => {
    if (members.length === 1) return slotLines(memory, members[0]);
    const buffers = members.map(({ buffer }) => buffer);
    const bytes = members.length * memory.bytes[buffers[0]];
    return [
      { buffer: buffers[0], shares: false, bytes, count: members.length, repeats: { key, buffers } },
      ...(toggled.has(key) ? members.flatMap((slot) => slotLines(memory, slot)) : []),
    ];
  });
}

function slotLines({ bytes }: MemoryData, { buffer, others }: Slot): LiveLine[] {
  return [
    { buffer, shares: false, bytes: bytes[buffer], count: 1 },
    ...others.map((other) => ({ buffer: other, shares: true, bytes: bytes[other], count: 1 })),
  ];
}

/** -1: unknown, after all that are known. */
function knownBytes({ bytes }: MemoryData, buffer: number): number {
  return Number.isNaN(bytes[buffer]) ? -1 : bytes[buffer];
}

function slotsAt(memory: MemoryData, position: number): Slot[] {
  const { count, born, last, slot } = memory;
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
  const size = ({ buffer }: Slot) => knownBytes(memory, buffer);
  return slots.sort((a, b) => size(b) - size(a) || born[a.buffer] - born[b.buffer] || a.buffer - b.buffer);
}
