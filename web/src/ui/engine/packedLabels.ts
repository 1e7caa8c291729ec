/** Labels as columns: a training step of 50,000 nodes has 22,000 of them, and receiving as many objects blocks the page for 0.1 s. */
import type { SceneLabel } from "../../core/scene/types";
import { type PackedTexts, packTexts, textAt } from "./packedTexts";

const KINDS = ["count", "cut", "operand"] as const satisfies readonly SceneLabel["kind"][];
const NO_GROUND = -1;

export interface PackedLabels {
  readonly edge: Int32Array;
  readonly x: Float64Array;
  readonly y: Float64Array;
  readonly kind: Uint8Array;
  readonly ground: Int32Array;
  readonly texts: PackedTexts;
}

export function packLabels(labels: readonly SceneLabel[]): PackedLabels {
  return {
    edge: Int32Array.from(labels, ({ edge }) => edge),
    x: Float64Array.from(labels, ({ x }) => x),
    y: Float64Array.from(labels, ({ y }) => y),
    kind: Uint8Array.from(labels, ({ kind }) => KINDS.indexOf(kind)),
    ground: Int32Array.from(labels, ({ ground }) => ground ?? NO_GROUND),
    texts: packTexts(labels.length, (i) => labels[i].text),
  };
}

export function unpackLabels({ edge, x, y, kind, ground, texts }: PackedLabels): SceneLabel[] {
  return Array.from(edge, (of, i) => ({ edge: of, x: x[i], y: y[i], text: textAt(texts, i), kind: KINDS[kind[i]], ground: ground[i] }));
}
