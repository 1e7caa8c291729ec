/** Sizes and counts for people: decimal units, three digits, as `opscope/quantities.py` writes them in the terminal. */

const PREFIXES = ["", "k", "M", "G", "T", "P", "E"];
const SMALL_PREFIXES = ["", "m", "µ", "n", "p"];
/** Above this a thousandth is not exact. */
const LONGEST_COUNT = 1e12;
/** Units that take a prefix: 1.2 GFLOP, 35 µs. */
const SCALED = new Set(["B", "FLOP", "s"]);

/** A number with its unit: "16.8 MB", "1.2 GFLOP", "35 µs", "2.5 FLOP/B"; the unit "1" is a plain number. */
export function quantityText(value: number, unit: string): string {
  if (!Number.isFinite(value)) return "–";
  if (value < 0) return `−${quantityText(-value, unit)}`;
  if (unit === "B") return bytesText(value);
  if (!SCALED.has(unit)) return unit === "1" ? shortNumber(value) : `${shortNumber(value)} ${unit}`;
  const [scaledValue, prefix] = value > 0 && value < 0.9995 ? scaledDown(value) : scaled(value);
  return `${Number(scaledValue.toPrecision(3))} ${prefix}${unit}`;
}

/** 733 B, 8.19 kB, 16.8 MB. */
export function bytesText(bytes: number): string {
  if (bytes < 0 || !Number.isFinite(bytes)) return "?";
  const [value, prefix] = scaled(bytes);
  return `${value.toFixed(prefix === "" || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2)} ${prefix}B`;
}

/** 7_100_000 → "7.1 M"; small numbers have two decimals, very small ones three significant digits. */
export function shortNumber(n: number): string {
  const [value, prefix] = scaled(n);
  if (prefix === "") return String(n !== 0 && Math.abs(n) < 0.1 ? Number(n.toPrecision(3)) : Math.round(value * 100) / 100);
  return `${Math.abs(value) >= 99.95 ? Math.round(value) : Number(value.toFixed(1))} ${prefix}`;
}

/** 1234567 → "1,234,567", with three decimals at most. The first number that a browser writes itself takes it 30 ms. */
export function countText(n: number): string {
  if (!(Math.abs(n) < LONGEST_COUNT)) return n.toLocaleString("en-US");
  const [whole, decimals] = String(Math.round(n * 1000) / 1000).split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return decimals ? `${grouped}.${decimals}` : grouped;
}

/** 0.1234 → "12.3%". */
export function percentText(share: number): string {
  return `${(share * 100).toFixed(1)}%`;
}

function scaled(value: number): [number, string] {
  let power = 0;
  while (Math.abs(value) >= 999.5 && power < PREFIXES.length - 1) {
    value /= 1000;
    power++;
  }
  return [value, PREFIXES[power]];
}

function scaledDown(value: number): [number, string] {
  let power = 0;
  while (value < 0.9995 && power < SMALL_PREFIXES.length - 1) {
    value *= 1000;
    power++;
  }
  return [value, SMALL_PREFIXES[power]];
}
