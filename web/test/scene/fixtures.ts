/** Views written by hand, so that the scene can be tested without a program. */
import { BoxKind, CATEGORIES, type Category, EdgeKind, type Visible } from "../../src/core/program/types";
import { makeProgram } from "../view/program";

export interface BoxLiteral {
  readonly id: string;
  readonly kind?: BoxKind;
  readonly parent?: string;
  readonly open?: boolean;
  readonly expandable?: boolean;
  readonly category?: Category;
  readonly subtitle?: string;
  readonly notes?: readonly string[];
  readonly repeat?: number;
}
export type EdgeLiteral = readonly [from: string, to: string, more?: { kind?: EdgeKind; merged?: number }];

export function visibleOf(boxes: readonly BoxLiteral[], edges: readonly EdgeLiteral[], titles: Record<string, string> = {}): Visible {
  const at = new Map(boxes.map((box, i) => [box.id, i]));
  const column = <T>(pick: (box: BoxLiteral) => T) => boxes.map(pick);
  return {
    graph: 0,
    grouping: 0,
    boxCount: boxes.length,
    kind: Uint8Array.from(column((b) => b.kind ?? BoxKind.Node)),
    parent: Int32Array.from(column((b) => (b.parent === undefined ? -1 : at.get(b.parent)!))),
    open: Uint8Array.from(column((b) => (b.open ? 1 : 0))),
    expandable: Uint8Array.from(column((b) => (b.open || b.expandable ? 1 : 0))),
    node: Int32Array.from(column(() => -1)),
    group: Int32Array.from(column(() => -1)),
    category: Uint8Array.from(column((b) => CATEGORIES.indexOf(b.category ?? "other"))),
    key: column((b) => b.id),
    title: column((b) => titles[b.id] ?? b.id),
    subtitle: column((b) => b.subtitle ?? ""),
    notes: column((b) => b.notes),
    repeat: Int32Array.from(column((b) => b.repeat ?? 1)),
    nodesInside: Int32Array.from(column(() => 1)),
    edgeCount: edges.length,
    edgeSource: Int32Array.from(edges, ([from]) => at.get(from)!),
    edgeTarget: Int32Array.from(edges, ([, to]) => at.get(to)!),
    edgeKind: Uint8Array.from(edges, ([, , more]) => more?.kind ?? EdgeKind.Data),
    edgeNode: new Int32Array(edges.length).fill(-1),
    edgeOutput: new Int32Array(edges.length),
    edgeCountMerged: Int32Array.from(edges, ([, , more]) => more?.merged ?? 1),
    edgeBytes: Float64Array.from(edges, () => Number.NaN),
    edgeDistinct: Int32Array.from(edges, ([, , more]) => more?.merged ?? 1),
    sourcePort: new Float32Array(edges.length).fill(Number.NaN),
    targetPort: new Float32Array(edges.length).fill(Number.NaN),
    edgeValue: Int32Array.from(edges, ([from]) => at.get(from)!),
    boxOfNode: new Int32Array(0),
    folded: new Uint8Array(0),
    keyPrefix: [],
    remarks: [],
  };
}

/** A program without nodes: these views name none. */
export const NO_PROGRAM = makeProgram([{ name: "none", nodes: [] }]);

/** The picture of the design sketch: a transformer layer with its attention open. */
export function transformerLayer(): Visible {
  const wide = "f32[8, 256, 512]";
  const heads = "f32[8, 8, 256, 64]";
  const scores = "f32[8, 8, 256, 256]";
  return visibleOf(
    [
      { id: "input", category: "output", subtitle: wide },
      { id: "layer_0", kind: BoxKind.Group, open: true, subtitle: "TransformerBlock · 31 ops · 7.1 M parameters" },
      { id: "layer_norm", parent: "layer_0", category: "reduce", subtitle: wide, notes: ["γ, β [512]"] },
      { id: "attention", parent: "layer_0", kind: BoxKind.Group, open: true, subtitle: "SelfAttention · 17 ops" },
      { id: "query", parent: "attention", category: "matmul", subtitle: heads },
      { id: "key", parent: "attention", category: "matmul", subtitle: heads },
      { id: "value", parent: "attention", category: "matmul", subtitle: heads },
      { id: "scores", parent: "attention", category: "matmul", subtitle: scores, notes: ["÷ 8"] },
      { id: "softmax", parent: "attention", kind: BoxKind.Call, expandable: true, category: "reduce", subtitle: scores },
      { id: "context", parent: "attention", category: "matmul", subtitle: wide },
      { id: "add", parent: "layer_0", category: "elementwise", subtitle: wide },
      { id: "mlp", parent: "layer_0", kind: BoxKind.Group, expandable: true, subtitle: "5 ops" },
      { id: "add.1", parent: "layer_0", category: "elementwise", subtitle: wide },
      { id: "rest", kind: BoxKind.Stack, expandable: true, repeat: 23 },
      { id: "mask", parent: "attention", kind: BoxKind.Stub, category: "constant", subtitle: "pred[256, 256]" },
      { id: "weight", category: "parameter", subtitle: "f32[512, 50257]" },
      { id: "logits", category: "matmul", subtitle: "f32[8, 256, 50257]" },
    ],
    [
      ["input", "layer_norm"],
      ["layer_norm", "query"],
      ["layer_norm", "key"],
      ["layer_norm", "value"],
      ["query", "scores"],
      ["key", "scores"],
      ["scores", "softmax"],
      ["mask", "softmax"],
      ["softmax", "context"],
      ["value", "context"],
      ["context", "add"],
      ["input", "add"],
      ["add", "mlp"],
      ["mlp", "add.1"],
      ["add", "add.1"],
      ["add.1", "rest", { merged: 3 }],
      ["rest", "logits"],
      ["weight", "logits"],
      ["input", "rest", { kind: EdgeKind.Control }],
    ],
    { rest: "layer_1 … layer_23" },
  );
}
