/** Which word was probably meant. */

/** A word that needs more changes than this was not mistyped. */
const MOST_CHANGES = 2;

export function nearest(word: string, choices: readonly string[]): string | undefined {
  let best: string | undefined;
  let least = Math.min(MOST_CHANGES, word.length - 1) + 1;
  for (const choice of choices) {
    const changes = changesBetween(word, choice);
    if (changes < least) [best, least] = [choice, changes];
  }
  return best;
}

/** How many letters have to be added, removed, replaced or swapped with their neighbour. */
function changesBetween(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      row.push(Math.min(row[j - 1] + 1, rows[i - 1][j] + 1, rows[i - 1][j - 1] + same));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) row[j] = Math.min(row[j], rows[i - 2][j - 2] + 1);
    }
    rows.push(row);
  }
  return rows[a.length][b.length];
}
