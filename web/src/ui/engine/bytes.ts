/** A program's bytes from wherever they are: the page, the server or memory; compressed or not. */
import { fromBase64 } from "../../core/base/base64";
import type { WireAt } from "./protocol";

const GZIP = [0x1f, 0x8b];

export async function bytesOf(at: WireAt, progress: (part: number) => void): Promise<Uint8Array> {
  const bytes =
    at.kind === "bytes" ? new Uint8Array(at.bytes) : at.kind === "base64" ? fromPage(at.text) : await download(at.url, progress);
  return bytes[0] === GZIP[0] && bytes[1] === GZIP[1] ? unpack(bytes) : bytes;
}

function fromPage(text: string): Uint8Array {
  try {
    return fromBase64(text.trim());
  } catch {
    throw new Error("the data in this page is damaged (not base64); export the page again");
  }
}

async function unpack(bytes: Uint8Array): Promise<Uint8Array> {
  try {
    const stream = new Blob([bytes as Uint8Array<ArrayBuffer>]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  } catch {
    throw new Error("the program's data is damaged or truncated and cannot be unpacked; export it again");
  }
}

/** In chunks, so that a slow connection can show progress. */
async function download(url: string, progress: (part: number) => void): Promise<Uint8Array> {
  const response = await fetch(url);
  if (!response.ok || !response.body) {
    const reason = response.status === 422 ? await response.text() : "";
    throw new Error(reason || "the server no longer answers; start `opscope view` again");
  }
  const expected = Number(response.headers.get("x-unpacked-length")) || 0;
  const chunks: Uint8Array[] = [];
  let length = 0;
  const reader = response.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    chunks.push(value);
    length += value.length;
    if (expected) progress(length / expected);
  }
  if (expected && length < expected) throw new Error("the program's data arrived incomplete; reload the page");
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}
