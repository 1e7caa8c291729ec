/** The labels of a scene as columns: a training step of a million nodes has 700,000 of them, and as many objects block a page for a second. */
import { type PackedTexts, packTexts, textAt } from "../text/packedTexts";
import type { SceneLabel } from "./types";

export const KINDS = ["count", "cut", "operand"] as const satisfies readonly SceneLabel["kind"][];
const NO_GROUND = -1;

/** Plain arrays, so that they can be transferred to a page. */
export interface PackedLabels {
  readonly edge: Int32Array;
  readonly x: Float64Array;
  readonly y: Float64Array;
  /** Numbers of `KINDS`. */
  readonly kind: Uint8Array;
  readonly ground: Int32Array;
  readonly texts: PackedTexts;
}

export class LabelColumns {
  constructor(readonly columns: PackedLabels) {}

  get length(): number {
    return this.columns.edge.length;
  }

  at(index: number): SceneLabel {
    const { edge, x, y, kind, ground, texts } = this.columns;
    return {
      edge: edge[index],
      x: x[index],
      y: y[index],
      text: textAt(texts, index),
      kind: KINDS[kind[index]],
      ground: ground[index],
    };
  }

  has(kind: SceneLabel["kind"]): boolean {
    return this.columns.kind.includes(KINDS.indexOf(kind));
  }

  *[Symbol.iterator](): Generator<SceneLabel> {
    for (let i = 0; i < this.length; i++) yield this.at(i);
  }

  /** These labels after others, and moved. */
  after(others: readonly SceneLabel[], by: number): LabelColumns {
    const { edge, x, y, kind, ground, texts } = this.columns;
    const first = packedLabels(others);
    const joined = <T extends Int32Array | Float64Array | Uint8Array>(a: T, b: T, moved = 0): T => {
      const all = new (a.constructor as new (length: number) => T)(a.length + b.length);
      all.set(a);
      for (let i = 0; i < b.length; i++) all[a.length + i] = b[i] + moved;
      return all;
    };
    return new LabelColumns({
      edge: joined(first.edge, edge),
      x: joined(first.x, x, by),
      y: joined(first.y, y, by),
      kind: joined(first.kind, kind),
      ground: joined(first.ground, ground),
      texts: {
        text: first.texts.text + texts.text,
        start: joined(first.texts.start.subarray(0, others.length), texts.start, first.texts.text.length),
      },
    });
  }
}

export function labelColumns(labels: readonly SceneLabel[]): LabelColumns {
  return new LabelColumns(packedLabels(labels));
}

export const NO_LABELS = labelColumns([]);

function packedLabels(labels: readonly SceneLabel[]): PackedLabels {
  const count = labels.length;
  const packed = {
    edge: new Int32Array(count),
    x: new Float64Array(count),
    y: new Float64Array(count),
    kind: new Uint8Array(count),
    ground: new Int32Array(count),
    texts: packTexts(count, (i) => labels[i].text),
  };
  for (let i = 0; i < count; i++) {
    const { edge, x, y, kind, ground } = labels[i];
    packed.edge[i] = edge;
    packed.x[i] = x;
    packed.y[i] = y;
    packed.kind[i] = KINDS.indexOf(kind);
    packed.ground[i] = ground ?? NO_GROUND;
  }
  return packed;
}
