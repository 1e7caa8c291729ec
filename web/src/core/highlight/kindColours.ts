/** Colours by kind: each operation, dtype, group or attribute value has its own colour. */
import { opName } from "../program/ops";
import { CATEGORIES, type ProgramData, type Visible } from "../program/types";
import type { LegendRow } from "../scene/types";
import { countText } from "../text/quantities";

export interface KindColouring {
  readonly paints: Uint8Array;
  readonly legend: readonly LegendRow[];
}

/** What boxes can be coloured by, other than numbers and attributes; the category of the operation is the default. */
export const KINDS = ["category", "op", "dtype", "group"] as const;

/** Rows of the theme that serve as a palette, the most distinct first. */
const PALETTE = ["matmul", "reduce", "elementwise", "communication", "data", "control", "custom", "random", "output", "other"].map((name) =>
  CATEGORIES.indexOf(name as (typeof CATEGORIES)[number]),
);
const NONE = CATEGORIES.indexOf("shape");

/** The kind of a node. */
export function kindOf(program: ProgramData, kind: string, grouping: number): (node: number) => string {
  const { strings, outputs, types } = program;
  if (kind === "op") return (node) => opName(program, node);
  if (kind === "group") {
    const { nodeGroup, groupName } = program.groupings[grouping];
    return (node) => (nodeGroup[node] < 0 ? "" : strings.at(groupName[nodeGroup[node]]));
  }
  return (node) => (outputs.start[node] < outputs.start[node + 1] ? strings.at(types.dtype[outputs.value[outputs.start[node]]]) : "");
}

/** The most frequent kinds get a colour each; the rest share one. */
export function kindColours(visible: Visible, kind: (node: number) => string): KindColouring {
  const texts = Array.from({ length: visible.boxCount }, (_, box) => (visible.node[box] < 0 ? "" : kind(visible.node[box])));
  const counts = new Map<string, number>();
  for (const text of texts) if (text) counts.set(text, (counts.get(text) ?? 0) + 1);
  const ranked = [...counts].sort((a, b) => b[1] - a[1]);
  const shown = ranked.length > PALETTE.length ? ranked.slice(0, PALETTE.length - 1) : ranked;
  const row = new Map(shown.map(([text], i) => [text, PALETTE[i]]));
  const rest = PALETTE[PALETTE.length - 1];
  const paints = Uint8Array.from(texts, (text) => (text === "" ? NONE : (row.get(text) ?? rest)));
  const legend = shown.map(([text, count], i) => ({ text: `${text} (${countText(count)})`, paint: PALETTE[i] }));
  if (ranked.length > shown.length) legend.push({ text: `${ranked.length - shown.length} others`, paint: rest });
  return { paints, legend };
}
