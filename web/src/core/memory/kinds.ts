/** Colours of kinds of buffers, by the names that `opscope.memory.model` gives them, and the peak in words. */
import type { Shade } from "../base/colour";
import { bytesText } from "../text/quantities";
import type { MemoryData } from "./memory";

const SHADES: Readonly<Record<string, Shade>> = {
  parameter: { light: "#8DA2CE", dark: "#5A6FA0" },
  input: { light: "#9FD0E6", dark: "#3F7C97" },
  buffer: { light: "#C3DDE8", dark: "#4C6A77" },
  gradient: { light: "#E59ABB", dark: "#96456A" },
  "optimizer state": { light: "#B9A4DD", dark: "#6A4F9C" },
  constant: { light: "#CFCFD6", dark: "#5A5A64" },
  output: { light: "#6DBFB0", dark: "#2F7F73" },
  saved: { light: "#F0B052", dark: "#B0751B" },
  temporary: { light: "#A8D08D", dark: "#4F7F3A" },
  workspace: { light: "#D6BE8A", dark: "#7C6A3C" },
  earlier: { light: "#CBD3E4", dark: "#444B5C" },
  unused: { light: "#F1F1F4", dark: "#232329" },
};
const OTHER: Shade = { light: "#E6E6EA", dark: "#3A3A42" };

export function kindShade(kind: string): Shade {
  return SHADES[kind] ?? OTHER;
}

const TITLES: Readonly<Record<string, string>> = {
  saved: "saved for backward",
  earlier: "before recording",
  unused: "unused or fragmented",
};

/** What a kind is called in the legend. */
export function kindTitle(kind: string): string {
  return TITLES[kind] ?? kind;
}

const HINTS: Readonly<Record<string, string>> = {
  saved: "Only there because the backward half reads it again. Some of it could be recomputed or offloaded instead: Suggest finds what",
  unused: "Reserved, but not in use at this point",
};

/** What is to be known about a kind, if its name does not say it. */
export function kindHint(kind: string): string | undefined {
  return HINTS[kind];
}

const ORIGINS = {
  reported: "reported by XLA",
  computed: "computed from the order of the program",
  measured: "measured by the allocator",
} as const;

/** The peak, where the number comes from, and what a run measured beside it. */
export function peakText({ peakBytes, origin, measured }: Pick<MemoryData, "peakBytes" | "origin" | "measured">): string {
  const run = measured && `; measured: ${measured.bytes === null ? `unknown, ${measured.why_unknown}` : bytesText(measured.bytes)}`;
  return `peak ${bytesText(peakBytes)}, ${ORIGINS[origin]}${run ?? ""}`;
}
