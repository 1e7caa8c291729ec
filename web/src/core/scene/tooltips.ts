/** Tooltips of boxes and edges. */
import { EdgeKind } from "../program/types";
import { unescapeName } from "../view/choose/keys";
import { quantityText } from "../text/quantities";
import type { BoxMeasure, Scene } from "./types";

/** The id of a node ("dot.12") from its key, or nothing for what is not a single node. */
function idOf(key: string): string {
  const last = key.slice(key.lastIndexOf(">") + 1);
  return last.startsWith("n:") ? unescapeName(last.slice(2)) : "";
}

/** The name of a box: "dot.12" if it is one node, else its title. */
const nameOf = (scene: Scene, box: number): string => idOf(scene.key[box]) || scene.title[box];

/** `measures` are numbers in addition to those that the boxes are coloured by. */
export function boxTooltip(scene: Scene, item: number, measures: readonly BoxMeasure[] = []): string {
  const box = scene.box[item];
  const id = idOf(scene.key[box]);
  const lines = [scene.title[box], id === scene.title[box] ? "" : id, scene.subtitle[box], ...(scene.notes[box] ?? [])].filter(Boolean);
  if (scene.repeat[box] > 1) lines.push(`${scene.repeat[box]} repeats`);
  for (const row of scene.rows?.[box] ?? []) lines.push(row.join(": "));
  for (const { name, unit, origin, values } of [...scene.measures, ...measures])
    if (!Number.isNaN(values[box])) lines.push(`${name} ${quantityText(values[box], unit)}, ${origin}`);
  return lines.join("\n");
}

export function edgeTooltip(scene: Scene, e: number): string {
  const name = (item: number) => (item < 0 ? "…" : nameOf(scene, scene.box[item]));
  const type = scene.edgeType[e] < 0 ? "" : `\n${scene.typeTexts[scene.edgeType[e]]}`;
  const merged = scene.edgeMerged[e] > 1 ? `\n${scene.edgeMerged[e]} values` : "";
  const when = scene.edgeKind[e] === EdgeKind.Carried ? " in the next iteration" : "";
  return `${name(scene.edgeSource[e])} → ${name(scene.edgeTarget[e])}${when}${type}${merged}`;
}
