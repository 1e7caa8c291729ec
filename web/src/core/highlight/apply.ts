/** From rules and data to the colours of the boxes and edges of a view. */
import type { Shade } from "../base/colour";
import type { CustomPaint, Highlights } from "../scene/types";
import { BoxKind, type Visible } from "../program/types";
import type { RuleMatches } from "./match";
import type { CompiledRule } from "./rules";

export function highlightsOf(visible: Visible, rules: readonly CompiledRule[], matches: RuleMatches): Highlights {
  const paints = rules.map((rule): CustomPaint => rule.paint ?? {});
  const shades = rules.map((rule): Shade => rule.edge ?? NONE);
  const box = new Int16Array(visible.boxCount);
  for (let b = 0; b < box.length; b++) box[b] = ruleOf(visible, b, matches.node, matches.group);
  const edge = new Int16Array(visible.edgeCount);
  for (let e = 0; e < edge.length; e++) {
    const node = visible.edgeNode[e];
    const rule = node >= 0 ? matches.nodeEdge[node] : -1;
    edge[e] = rule >= 0 ? rule : ruleOf(visible, visible.edgeSource[e], matches.nodeEdge, matches.groupEdge);
  }
  return { paints, box, shades, edge };
}

const NONE: Shade = { light: "", dark: "" };

export function ruleOf(visible: Visible, box: number, ofNode: Int16Array, ofGroup: Int16Array): number {
  const node = visible.node[box];
  if (node >= 0) return ofNode[node];
  const kind = visible.kind[box];
  const group = kind === BoxKind.Group || kind === BoxKind.Stack ? visible.group[box] : -1;
  return group >= 0 && group < ofGroup.length ? ofGroup[group] : -1;
}

/** Rules take precedence over the colours of the program's file. */
export function layered(under: Highlights | undefined, over: Highlights | undefined): Highlights | undefined {
  if (!under || !over) return over ?? under;
  const paints = under.paints.length,
    shades = under.shades.length;
  return {
    paints: [...under.paints, ...over.paints],
    box: over.box.map((number, box) => (number >= 0 ? paints + number : under.box[box])),
    shades: [...under.shades, ...over.shades],
    edge: over.edge.map((number, edge) => (under.edge[edge] >= 0 ? under.edge[edge] : number >= 0 ? shades + number : -1)),
  };
}

/** Data takes precedence over rules: if data colours the operations, rules colour only groups and edges. */
export function overlaid(under: Highlights | undefined, over: Highlights | undefined, visible: Visible): Highlights | undefined {
  if (!under || !over) return over ?? under;
  const at = under.paints.length,
    shadeAt = under.shades.length;
  return {
    paints: [...under.paints, ...over.paints],
    box: over.box.map((number, box) => (number >= 0 ? at + number : visible.node[box] >= 0 ? -1 : under.box[box])),
    shades: [...under.shades, ...over.shades],
    edge: over.edge.map((number, edge) => (number >= 0 ? shadeAt + number : under.edge[edge])),
  };
}
