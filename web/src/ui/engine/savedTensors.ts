/** What the forward half saves for the backward half, layer by layer. */
import { FORWARD, groupingNamed, MODULE, nameAndClass } from "../../core/program/names";
import type { ProgramIndex } from "../../core/program/programIndex";
import { savedOutputs } from "../../core/view/twoHalves/saved";
import { nodeName } from "./names";
import type { SavedLayer, SavedTensors, SavedValue } from "./protocol";

/** Layers in the order of the program; in each, the largest tensor first. */
export function savedTensors(index: ProgramIndex): SavedTensors {
  const layers = new Map<string, SavedValue[]>();
  const { outputs, types, strings } = index.program;
  for (const [at, { node, bytes }] of [...savedOutputs(index.program)].sort(([a], [b]) => a - b)) {
    const layer = layerOf(index, node);
    const value = { ...nodeName(index, node), type: strings.at(types.text[outputs.value[at]]), bytes };
    const values = layers.get(layer);
    if (values) values.push(value);
    else layers.set(layer, [value]);
  }
  const listed = [...layers].map(
    ([name, values]): SavedLayer => ({ name, bytes: bytesOf(values), values: values.sort((a, b) => b.bytes - a.bytes) }),
  );
  return {
    bytes: listed.reduce((sum, layer) => sum + layer.bytes, 0),
    count: listed.reduce((sum, layer) => sum + layer.values.length, 0),
    layers: listed,
  };
}

function bytesOf(values: readonly SavedValue[]): number {
  return values.reduce((sum, { bytes }) => sum + Math.max(0, bytes), 0);
}

/** The module around a node down to the first numbered one: "transformer/h.3" for what is in "transformer/h.3/attn". */
function layerOf(index: ProgramIndex, node: number): string {
  const modules = groupingNamed(index.program, MODULE) ?? index.program.groupings[0];
  const names: string[] = [];
  for (let group = modules?.nodeGroup[node] ?? -1; group >= 0; group = modules.groupParent[group])
    names.unshift(nameAndClass(index.text(modules.groupName[group]))[0]);
  const inside = names.filter((name) => name !== FORWARD);
  const numbered = inside.findIndex((name) => /\d/.test(name));
  return inside.slice(0, numbered < 0 ? 1 : numbered + 1).join("/");
}
