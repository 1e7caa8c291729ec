/** Attributes and source frames that did not come with the program, fetched from the host a block of nodes at a time. */
import type { NodeDetails } from "../../core/program/types";
import { decodeDetails, type DetailsBlock } from "../../core/program/details";

const BLOCK = 1024;

export class RemoteDetails {
  private readonly blocks = new Map<number, DetailsBlock>();
  private readonly pending = new Map<number, Promise<void>>();

  constructor(private readonly url: string) {}

  get(node: number): NodeDetails | undefined {
    return this.blocks.get(Math.floor(node / BLOCK))?.details(node);
  }

  /** Fetches the details of these nodes, unless they are here already. */
  async need(from: number, to: number): Promise<void> {
    const fetches: Promise<void>[] = [];
    for (let block = Math.floor(from / BLOCK); block * BLOCK < to; block++) {
      if (this.blocks.has(block)) continue;
      const fetch = this.pending.get(block) ?? this.fetch(block);
      this.pending.set(block, fetch);
      fetches.push(fetch);
    }
    await Promise.all(fetches);
  }

  private async fetch(block: number): Promise<void> {
    const response = await fetch(`${this.url}?start=${block * BLOCK}&stop=${(block + 1) * BLOCK}`);
    if (!response.ok) throw new Error("the server no longer answers; start `opscope view` again");
    this.blocks.set(block, decodeDetails(new Uint8Array(await response.arrayBuffer())));
    this.pending.delete(block);
  }
}
