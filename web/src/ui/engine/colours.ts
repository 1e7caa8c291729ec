/** Colour by something else than the kind of work: a few kinds get a colour each, numbers become a scale from cold to hot. */
import { bytesText, shortNumber } from "../../core/text/quantities";
import { type LegendRow, PAINT_HEAT, PAINT_HEAT_STEPS } from "../../core/scene/types";
import { CATEGORIES, type NodeDetails, type Visible } from "../../core/program/types";
import type { Lookup } from "./nodeLookup";

export interface Colouring {
  readonly paints: Uint8Array;
  readonly legend: readonly LegendRow[];
}

/** Numbers that every program has. */
export const NUMBERS: Readonly<Record<string, (lookup: Lookup, node: number) => number>> = {
  "output bytes": (lookup, node) => lookup.bytes(node),
  inputs: (lookup, node) => lookup.program.inputs.start[node + 1] - lookup.program.inputs.start[node],
  users: (lookup, node) => lookup.users.start[node + 1] - lookup.users.start[node],
};

/** Rows of the theme that serve as a palette, told apart most easily first. */
const PALETTE = ["matmul", "reduce", "elementwise", "communication", "data", "control", "custom", "random", "output", "other"].map((name) =>
  CATEGORIES.indexOf(name as (typeof CATEGORIES)[number]),
);
const NONE = CATEGORIES.indexOf("shape");

export function colourBy(
  what: string,
  lookup: Lookup,
  visible: Visible,
  groupName: (node: number) => string,
  details: (node: number) => NodeDetails | undefined,
): Colouring | undefined {
  if (what === "category" || what === "") return undefined;
  const number = NUMBERS[what];
  if (number)
    return heat(visible, lookup.program.nodeCount, (node) => number(lookup, node), what.includes("bytes") ? bytesText : shortNumber);
  const value = textOf(what, lookup, groupName, details);
  if (!value) return undefined;
  const numeric = numbersOnly(visible, value);
  if (numeric) return heat(visible, lookup.program.nodeCount, numeric, shortNumber);
  return kinds(visible, value);
}

function textOf(
  what: string,
  lookup: Lookup,
  groupName: (node: number) => string,
  details: (node: number) => NodeDetails | undefined,
): ((node: number) => string) | undefined {
  const { program } = lookup;
  if (what === "op") return (node) => lookup.op(node);
  if (what === "group") return groupName;
  if (what === "dtype") {
    return (node) => {
      const at = program.outputs.start[node];
      return at < program.outputs.start[node + 1] ? lookup.text(program.types.dtype[program.outputs.value[at]]) : "";
    };
  }
  if (!what.startsWith("attr:")) return undefined;
  const name = what.slice(5);
  return (node) => {
    const found = details(node)?.attrs[name];
    return found === undefined || found === null ? "" : typeof found === "string" ? found : JSON.stringify(found);
  };
}

/** The values as numbers, if all that are there are numbers and there are enough of them for a scale. */
function numbersOnly(visible: Visible, value: (node: number) => string): ((node: number) => number) | undefined {
  const different = new Set<string>();
  for (let box = 0; box < visible.boxCount; box++) {
    const text = visible.node[box] < 0 ? "" : value(visible.node[box]);
    if (text === "") continue;
    if (!Number.isFinite(Number(text))) return undefined;
    if (different.size < 12) different.add(text);
  }
  if (different.size < 6) return undefined;
  return (node) => Number(value(node) || Number.NaN);
}

/** The most frequent values get a colour each; the rest share one. */
function kinds(visible: Visible, value: (node: number) => string): Colouring {
  const texts = Array.from({ length: visible.boxCount }, (_, box) => (visible.node[box] < 0 ? "" : value(visible.node[box])));
  const counts = new Map<string, number>();
  for (const text of texts) if (text) counts.set(text, (counts.get(text) ?? 0) + 1);
  const ranked = [...counts].sort((a, b) => b[1] - a[1]);
  const shown = ranked.length > PALETTE.length ? ranked.slice(0, PALETTE.length - 1) : ranked;
  const row = new Map(shown.map(([text], i) => [text, PALETTE[i]]));
  const rest = PALETTE[PALETTE.length - 1];
  const paints = Uint8Array.from(texts, (text) => (text === "" ? NONE : (row.get(text) ?? rest)));
  const legend = shown.map(([text, count], i) => ({ text: `${text} (${count.toLocaleString("en-US")})`, paint: PALETTE[i] }));
  if (ranked.length > shown.length) legend.push({ text: `${ranked.length - shown.length} others`, paint: rest });
  return { paints, legend };
}

/** Sums per box (a closed group counts what is in it) on a logarithmic scale where they differ a lot. */
function heat(visible: Visible, nodeCount: number, number: (node: number) => number, text: (value: number) => string): Colouring {
  const sums = new Float64Array(visible.boxCount).fill(Number.NaN);
  for (let node = 0; node < nodeCount; node++) {
    const box = visible.boxOfNode[node];
    const value = box < 0 ? Number.NaN : number(node);
    if (Number.isFinite(value)) sums[box] = (Number.isNaN(sums[box]) ? 0 : sums[box]) + value;
  }
  const known = sums.filter((sum) => sum > 0);
  let low = Infinity,
    high = -Infinity;
  for (const sum of known) {
    low = Math.min(low, sum);
    high = Math.max(high, sum);
  }
  const logarithmic = high / low > 50;
  const scale = logarithmic ? Math.log : (x: number) => x;
  const from = scale(low),
    to = scale(high);
  const step = (sum: number) =>
    to > from ? Math.min(PAINT_HEAT_STEPS - 1, Math.floor(((scale(sum) - from) / (to - from)) * PAINT_HEAT_STEPS)) : 0;
  const paints = Uint8Array.from(sums, (sum) => (sum > 0 ? PAINT_HEAT + step(sum) : PAINT_HEAT));
  const legend: LegendRow[] = [];
  if (known.length) {
    for (let i = 0; i < PAINT_HEAT_STEPS; i++) {
      const edge = from + ((to - from) * i) / PAINT_HEAT_STEPS;
      legend.push({
        paint: PAINT_HEAT + i,
        scale: true,
        text: i === 0 ? text(low) : i === PAINT_HEAT_STEPS - 1 ? text(high) : i === 5 ? text(logarithmic ? Math.exp(edge) : edge) : "",
      });
    }
  }
  return { paints, legend };
}
