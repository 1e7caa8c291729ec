/** Equal buffers of repeated layers: what is alive is seldom one buffer, but the same one of every layer. */
import type { MemoryData } from "./memory";

/** Buffers with the same key are the same value of different layers: equal in kind, type, size and source line, and but for numbers in
 * name and module. */
export function repeatKey(memory: MemoryData, buffer: number, name: string): string {
  const { kind, bytes, type, output, module, source, strings } = memory;
  const numbers = [kind, bytes, source, type, output].map((column) => column[buffer]);
  return [...numbers, stem(name), anyLayer(strings.at(module[buffer]))].join("\n");
}

/** "layer_3/mlp" is "layer_#/mlp". */
export function anyLayer(name: string): string {
  return name.replace(/\d+/g, "#");
}

/** The first of equal names has no number: "gelu" and "gelu_1" are the same. */
function stem(name: string): string {
  return anyLayer(name.replace(/([._]\d+)+$/, ""));
}
