/** What a person reads when the pointer rests on something. */
import type { Scene } from "./types";

export function boxTooltip(scene: Scene, piece: number): string {
  const box = scene.box[piece];
  const lines = [scene.title[box], scene.subtitle[box], ...(scene.notes[box] ?? [])].filter(Boolean);
  if (scene.repeat[box] > 1) lines.push(`${scene.repeat[box]} repeats`);
  return lines.join("\n");
}

export function edgeTooltip(scene: Scene, e: number): string {
  const name = (piece: number) => (piece < 0 ? "…" : scene.title[scene.box[piece]]);
  const type = scene.edgeType[e] < 0 ? "" : `\n${scene.typeTexts[scene.edgeType[e]]}`;
  const merged = scene.edgeMerged[e] > 1 ? `\n${scene.edgeMerged[e]} values` : "";
  return `${name(scene.edgeSource[e])} → ${name(scene.edgeTarget[e])}${type}${merged}`;
}
