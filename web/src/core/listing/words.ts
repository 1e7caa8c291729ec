/** The words in which two lines differ. */

/** A piece of a line, and whether the other line lacks it. */
export interface Piece {
  readonly text: string;
  readonly differs: boolean;
}

/** Beyond this many pairs of words, only what both lines begin and end with is the same. */
const MOST_PAIRS = 200_000;

export function differingWords(before: string, after: string): [Piece[], Piece[]] {
  const a = before.match(/[\w.-]+|\s+|./g) ?? [],
    b = after.match(/[\w.-]+|\s+|./g) ?? [];
  let first = 0;
  while (first < a.length && first < b.length && a[first] === b[first]) first++;
  let last = 0;
  while (last < a.length - first && last < b.length - first && a[a.length - 1 - last] === b[b.length - 1 - last]) last++;
  const sameA = new Uint8Array(a.length),
    sameB = new Uint8Array(b.length);
  for (const [words, same] of [
    [a, sameA],
    [b, sameB],
  ] as const) {
    same.fill(1, 0, first);
    same.fill(1, words.length - last);
  }
  const rows = a.length - last - first,
    columns = b.length - last - first;
  if (rows * columns <= MOST_PAIRS) markCommon(a.slice(first, first + rows), b.slice(first, first + columns), sameA, sameB, first);
  return [pieces(a, sameA), pieces(b, sameB)];
}

/** Marks the longest common subsequence. */
function markCommon(a: readonly string[], b: readonly string[], sameA: Uint8Array, sameB: Uint8Array, offset: number): void {
  const width = b.length + 1;
  const longest = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      longest[i * width + j] =
        a[i] === b[j] ? longest[(i + 1) * width + j + 1] + 1 : Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
    }
  }
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i] === b[j]) sameA[offset + i++] = sameB[offset + j++] = 1;
    else if (longest[(i + 1) * width + j] >= longest[i * width + j + 1]) i++;
    else j++;
  }
}

function pieces(words: readonly string[], same: Uint8Array): Piece[] {
  const joined: { text: string; differs: boolean }[] = [];
  words.forEach((text, i) => {
    const differs = !same[i];
    const last = joined[joined.length - 1];
    if (last?.differs === differs) last.text += text;
    else joined.push({ text, differs });
  });
  return joined;
}
