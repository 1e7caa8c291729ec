/** 8192 → "8.19 kB" */
export function bytesText(bytes: number): string {
  if (bytes < 0 || !Number.isFinite(bytes)) return "?";
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  let value = bytes;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${unit === 0 ? value : value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)} ${units[unit]}`;
}
