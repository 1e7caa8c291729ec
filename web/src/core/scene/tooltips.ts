/** Tooltips of boxes and edges. */
import { EdgeKind, type Visible } from "../program/types";
import { unescapeName } from "../view/choose/keys";
import { metricText } from "../metrics/changes";
import type { BoxMeasure, Scene } from "./types";

/** The id of a node ("dot.12") from its key, or nothing for what is not a single node. */
function idOf(key: string): string {
  const last = key.slice(key.lastIndexOf(">") + 1);
  return last.startsWith("n:") ? unescapeName(last.slice(2)) : "";
}

/** The name of a box: "dot.12" if it is one node, else its title. */
const nameOf = (scene: Scene, box: number): string => idOf(scene.key[box]) || scene.title[box];

/** What a box is, whole, where its label may be shortened: title, id, type, inlined operands and attributes. */
export function boxLines({ key, title, subtitle, notes, repeat, rows }: BoxTexts, box: number): string[] {
  const id = idOf(key[box]);
  // An operation that is shown by the name of its module has its id or its op at the beginning of the subtitle.
  const isNamed = id === title[box] || id === subtitle[box].split(" · ")[0];
  const lines = [title[box], isNamed ? "" : id, subtitle[box], ...(notes[box] ?? [])].filter(Boolean);
  if (repeat[box] > 1) lines.push(`${repeat[box]} repeats`);
  for (const row of rows?.[box] ?? []) lines.push(row.join(": "));
  return lines;
}

type BoxTexts = Pick<Visible, "key" | "title" | "subtitle" | "notes" | "repeat"> & { readonly rows?: Visible["rows"] | undefined };

/** `measures` are numbers in addition to those that the boxes are coloured by. */
export function boxTooltip(scene: Scene, item: number, measures: readonly BoxMeasure[] = []): string {
  const box = scene.box[item];
  const lines = boxLines(scene, box);
  for (const measure of [...scene.measures, ...measures]) {
    const { name, origin, values, spreads } = measure;
    if (!Number.isNaN(values[box])) lines.push(`${name} ${metricText(measure, values[box])}, ${origin}`);
    const spread = spreads?.get(box);
    if (spread) lines.push(spread);
  }
  return lines.join("\n");
}

export function edgeTooltip(scene: Scene, e: number): string {
  const name = (item: number) => (item < 0 ? "…" : nameOf(scene, scene.box[item]));
  const type = scene.edgeType[e] < 0 ? "" : `\n${scene.typeTexts[scene.edgeType[e]]}`;
  const merged = scene.edgeMerged[e] > 1 ? `\n${scene.edgeMerged[e]} values` : "";
  const when = scene.edgeKind[e] === EdgeKind.Carried ? " in the next iteration" : "";
  return `${name(scene.edgeSource[e])} → ${name(scene.edgeTarget[e])}${when}${type}${merged}`;
}
