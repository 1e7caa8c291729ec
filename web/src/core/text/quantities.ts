/** Sizes and counts as people read them: decimal units, three digits; as `opscope/quantities.py` writes them in the terminal. */

const PREFIXES = ["", "k", "M", "G", "T", "P"];

/** 733 B, 8.19 kB, 16.8 MB. */
export function bytesText(bytes: number): string {
  if (bytes < 0 || !Number.isFinite(bytes)) return "?";
  const [value, power] = scaled(bytes);
  return `${value.toFixed(power === 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2)} ${PREFIXES[power]}B`;
}

/** 7_100_000 → "7.1 M"; fractions of small numbers are kept to two digits. */
export function shortNumber(n: number): string {
  const [value, power] = scaled(n);
  if (power === 0) return String(Math.round(value * 100) / 100);
  return `${value >= 99.95 ? Math.round(value) : Number(value.toFixed(1))} ${PREFIXES[power]}`;
}

function scaled(value: number): [number, number] {
  let power = 0;
  while (Math.abs(value) >= 999.5 && power < PREFIXES.length - 1) {
    value /= 1000;
    power++;
  }
  return [value, power];
}
