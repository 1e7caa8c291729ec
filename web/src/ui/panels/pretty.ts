/** An attribute's value as text: JSON over several lines, also JSON inside a string (as in backend configs). */
export function pretty(value: unknown): string {
  if (typeof value !== "string") return JSON.stringify(value, null, isFlat(value) ? undefined : 2) ?? "";
  const start = value.trimStart()[0];
  if (start !== "{" && start !== "[") return value;
  try {
    const parsed: unknown = JSON.parse(value);
    return isFlat(parsed) ? value : JSON.stringify(parsed, null, 2);
  } catch {
    return value;
  }
}

/** Short lists of plain values are easier to read on one line. */
function isFlat(value: unknown): boolean {
  if (value === null || typeof value !== "object") return true;
  return Array.isArray(value) && value.length <= 16 && value.every((item) => item === null || typeof item !== "object");
}

/** The end of a long path is what matters. */
export function shortFile(file: string): string {
  const parts = file.split("/");
  return parts.length > 3 ? `…/${parts.slice(-2).join("/")}` : file;
}
