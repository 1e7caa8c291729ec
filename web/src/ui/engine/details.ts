/** Attributes and source frames: in the program where they were sent along, else fetched from the host, a block of nodes at a time. */
import type { NodeDetails } from "../../core/program/types";
import { decodeDetails, type DetailsBlock } from "../../core/program/details";

const BLOCK = 1024;

export class RemoteDetails {
  private readonly blocks = new Map<number, DetailsBlock>();
  private readonly coming = new Map<number, Promise<void>>();

  constructor(private readonly url: string) {}

  get(node: number): NodeDetails | undefined {
    return this.blocks.get(Math.floor(node / BLOCK))?.details(node);
  }

  /** Have the details of these nodes here. */
  async need(from: number, to: number): Promise<void> {
    const wanted: Promise<void>[] = [];
    for (let block = Math.floor(from / BLOCK); block * BLOCK < to; block++) {
      if (this.blocks.has(block)) continue;
      const coming = this.coming.get(block) ?? this.fetch(block);
      this.coming.set(block, coming);
      wanted.push(coming);
    }
    await Promise.all(wanted);
  }

  private async fetch(block: number): Promise<void> {
    const response = await fetch(`${this.url}?start=${block * BLOCK}&stop=${(block + 1) * BLOCK}`);
    if (!response.ok) throw new Error("the server no longer answers; start `opscope view` again");
    this.blocks.set(block, decodeDetails(new Uint8Array(await response.arrayBuffer())));
    this.coming.delete(block);
  }
}
