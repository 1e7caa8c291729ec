/** Texts by number, as one text and where each begins: transferring a million characters costs one copy, not 100,000 objects. */
export interface PackedTexts {
  readonly text: string;
  readonly start: Int32Array;
}

export function packTexts(count: number, text: (index: number) => string): PackedTexts {
  const start = new Int32Array(count + 1);
  const chunks: string[] = [];
  for (let i = 0, at = 0; i < count; i++) {
    const chunk = text(i);
    chunks.push(chunk);
    at += chunk.length;
    start[i + 1] = at;
  }
  return { text: chunks.join(""), start };
}

export function textAt({ text, start }: PackedTexts, index: number): string {
  return text.slice(start[index], start[index + 1]);
}
