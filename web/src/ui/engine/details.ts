/** Attributes and source frames that did not come with the program, fetched from the host a block of nodes at a time. */
import type { NodeDetails } from "../../core/program/types";
import type { FetchedDetails } from "../../core/program/decode";
import { decodeDetails, type DetailsBlock } from "../../core/program/details";

const BLOCK = 1024;

export class RemoteDetails implements FetchedDetails {
  private readonly blocks = new Map<number, DetailsBlock>();
  private readonly pending = new Map<number, Promise<void>>();

  constructor(private readonly url: string) {}

  readonly details = (node: number): NodeDetails | undefined => this.block(node)?.details(node);

  readonly ownLine = (node: number): string | undefined => this.block(node)?.ownLine(node);

  /** Fetches the details of these nodes, unless they are here already. */
  async need(from: number, to: number): Promise<void> {
    const first = Math.floor(from / BLOCK);
    await this.needBlocks(Array.from({ length: Math.max(0, Math.ceil(to / BLOCK) - first) }, (_, i) => first + i));
  }

  async needAll(nodes: readonly number[]): Promise<void> {
    await this.needBlocks(new Set(nodes.map((node) => Math.floor(node / BLOCK))));
  }

  private async needBlocks(blocks: Iterable<number>): Promise<void> {
    const fetches: Promise<void>[] = [];
    for (const block of blocks) {
      if (this.blocks.has(block)) continue;
      const fetch = this.pending.get(block) ?? this.fetch(block);
      this.pending.set(block, fetch);
      fetches.push(fetch);
    }
    await Promise.all(fetches);
  }

  private block(node: number): DetailsBlock | undefined {
    return this.blocks.get(Math.floor(node / BLOCK));
  }

  private async fetch(block: number): Promise<void> {
    const response = await fetch(`${this.url}?start=${block * BLOCK}&stop=${(block + 1) * BLOCK}`);
    if (!response.ok) throw new Error("the server no longer answers; start `opscope view` again");
    this.blocks.set(block, decodeDetails(new Uint8Array(await response.arrayBuffer())));
    this.pending.delete(block);
  }
}
