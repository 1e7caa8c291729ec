import { EarlierDrawings } from "./previousLayouts";
import type { FlatGraph, FlatLayout } from "../types";

interface Entry {
  readonly content: Float64Array;
  readonly layout: FlatLayout;
}

/**
 * Remembers layouts by content, not by name: the 24 equal layers of a model are laid out once, and expanding a group later finds
 * everything else unchanged. Bounded: the least recently used goes first.
 */
export class LayoutCache {
  readonly large = new EarlierDrawings();
  private readonly entries = new Map<number, Entry>();
  private size = 0;

  /** `capacity` in numbers (8 bytes each). */
  constructor(private readonly capacity = 6_000_000) {}

  find(content: Float64Array): FlatLayout | undefined {
    const key = hash(content);
    const entry = this.entries.get(key);
    if (!entry || !same(entry.content, content)) return undefined;
    this.entries.delete(key);
    this.entries.set(key, entry);
    return entry.layout;
  }

  keep(content: Float64Array, layout: FlatLayout): void {
    const key = hash(content);
    this.forget(key);
    this.entries.set(key, { content, layout });
    this.size += weight({ content, layout });
    for (const oldest of this.entries.keys()) {
      if (this.size <= this.capacity || oldest === key) break;
      this.forget(oldest);
    }
  }

  clear(): void {
    this.entries.clear();
    this.size = 0;
  }

  private forget(key: number): void {
    const entry = this.entries.get(key);
    if (!entry) return;
    this.entries.delete(key);
    this.size -= weight(entry);
  }
}

function weight({ content, layout }: Entry): number {
  return content.length + layout.points.length + 4 * layout.x.length;
}

/** Everything that a layout depends on, in one array: two graphs with the same content get the same picture. */
export function contentOf(graph: FlatGraph, nodeGap: number, rankGap: number): Float64Array {
  const { nodeCount: n, edgeSource } = graph;
  const m = edgeSource.length;
  const content = new Float64Array(4 + 3 * n + (4 + (graph.closes ? 1 : 0) + (graph.weight ? 1 : 0) + (graph.loosePorts ? 1 : 0)) * m);
  content.set([n, m, nodeGap, rankGap]);
  let at = 4;
  const put = (from: ArrayLike<number> | undefined, length: number): void => {
    if (from) content.set(from, at);
    at += length;
  };
  put(graph.width, n);
  put(graph.height, n);
  put(graph.pin, n);
  put(edgeSource, m);
  put(graph.edgeTarget, m);
  put(graph.sourcePort, m);
  put(graph.targetPort, m);
  if (graph.closes) put(graph.closes, m);
  if (graph.weight) put(graph.weight, m);
  if (graph.loosePorts) put(graph.loosePorts, m);
  return content;
}

/** The same content with the order that the outside prefers for its boundary ports. */
export function withBoundaryPortOrder(content: Float64Array, boundaryPortOrder: Float64Array): Float64Array {
  return extended(content, 1, boundaryPortOrder);
}

/** The same content when its boxes had these places, from any origin. */
export function withPlaces(content: Float64Array, left: Float64Array): Float64Array {
  return extended(
    content,
    2,
    left.map((x) => Math.round(16 * (x - left[0]))),
  );
}

function extended(content: Float64Array, kind: number, more: Float64Array): Float64Array {
  const result = new Float64Array(content.length + 1 + more.length);
  result.set(content);
  result[content.length] = kind;
  result.set(more, content.length + 1);
  return result;
}

function hash(content: Float64Array): number {
  const words = new Int32Array(content.buffer, content.byteOffset, content.length * 2);
  let a = 0x811c9dc5 | 0;
  let b = 0x9747b28c | 0;
  for (let i = 0; i < words.length; i++) {
    a = Math.imul(a ^ words[i], 0x01000193);
    a ^= a >>> 15;
    b = Math.imul(b + words[i], 0x85ebca6b);
    b ^= b >>> 13;
  }
  return (a >>> 0) * 0x100000 + (b & 0xfffff);
}

function same(a: Float64Array, b: Float64Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (!Object.is(a[i], b[i])) return false;
  return true;
}
