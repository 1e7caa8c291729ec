/**
 * Style rules: ordered, the first that matches a box colours it. The format is Model Explorer's, so that its files work as they are;
 * it ignores two additions: `dark` next to a colour's `value`, and the style `edge_color`.
 */
import { readColour, type Shade } from "../base/colour";
import { type Expression, readExpression } from "../base/expression";
import type { CustomPaint } from "../scene/types";

export type NodeType = "op_nodes" | "layer_nodes" | "op_and_layer_nodes";
export type MatchType = "title" | "list" | "input" | "output";
export const MATCH_TYPES: readonly MatchType[] = ["title", "list", "input", "output"];
export const NODE_TYPES: readonly NodeType[] = ["op_nodes", "layer_nodes", "op_and_layer_nodes"];

export type StyleQuery =
  | { readonly type: "node_type"; readonly nodeType: NodeType }
  | { readonly type: "regex"; readonly queryRegex: string; readonly matchTypes: readonly MatchType[] }
  | { readonly type: "attr_value_range"; readonly attrName: string; readonly min?: number | null; readonly max?: number | null };

export type StyleName = "node_bg_color" | "node_border_color" | "node_text_color" | "edge_color";
export type StyleColour = string | { readonly id?: string; readonly value: string; readonly dark?: string };

/** As in a file; unknown fields are preserved. */
export interface StyleRule {
  readonly queries: readonly StyleQuery[];
  readonly styles: { readonly [name in StyleName]?: StyleColour };
  readonly nodeType?: NodeType;
  readonly version?: string;
}

/** Checks rules from outside. Throws an error with a message for the person. */
export function readRules(value: unknown): readonly StyleRule[] {
  if (!Array.isArray(value)) throw new Error('style rules are a list: [{"queries": […], "styles": {…}}, …]');
  value.forEach((rule: unknown, i) => {
    const problem = problemOf(rule);
    if (problem) throw new Error(`style rule ${i + 1}: ${problem}`);
  });
  return value as readonly StyleRule[];
}

/** Does it look like a list of style rules? */
export function areRules(value: unknown): boolean {
  return Array.isArray(value) && value.every((rule: unknown) => rule !== null && typeof rule === "object" && "queries" in rule);
}

function problemOf(rule: unknown): string | undefined {
  const { queries, styles } = (rule ?? {}) as { queries?: unknown; styles?: unknown };
  if (!Array.isArray(queries)) return "lacks its list of queries";
  if (styles === null || typeof styles !== "object") return "lacks its styles";
  for (const query of queries as Record<string, unknown>[]) {
    const type = query?.type;
    if (type === "node_type") {
      if (!NODE_TYPES.includes(query.nodeType as NodeType)) return `nodeType must be one of ${NODE_TYPES.join(", ")}`;
    } else if (type === "regex") {
      if (typeof query.queryRegex !== "string") return "queryRegex must be text";
      const types = query.matchTypes;
      if (!Array.isArray(types) || !types.every((each) => MATCH_TYPES.includes(each as MatchType)))
        return `matchTypes must be of ${MATCH_TYPES.join(", ")}`;
    } else if (type === "attr_value_range") {
      if (typeof query.attrName !== "string") return "attrName must be text";
    } else return `unknown query type ${JSON.stringify(type)}; there are regex, node_type and attr_value_range`;
  }
  for (const [name, colour] of Object.entries(styles as Record<string, unknown>)) {
    const text = typeof colour === "string" ? colour : (colour as { value?: unknown } | null)?.value;
    if (text !== undefined && text !== "" && (typeof text !== "string" || readColour(text) === undefined))
      return `${name}: ${JSON.stringify(text)} is not a colour`;
  }
  return undefined;
}

export interface RegexTest {
  readonly pattern: Expression;
  readonly where: readonly MatchType[];
}

export interface RangeTest {
  readonly attribute: string;
  readonly min: number;
  readonly max: number;
}

export interface CompiledRule {
  readonly ops: boolean;
  readonly layers: boolean;
  readonly patterns: readonly RegexTest[];
  readonly ranges: readonly RangeTest[];
  readonly paint: CustomPaint | undefined;
  readonly edge: Shade | undefined;
  /** Why it matches nothing. */
  readonly problem: string | undefined;
}

/** Regular expressions are compiled once. An invalid one, or one that is still empty, matches nothing. */
export function compileRule(rule: StyleRule): CompiledRule {
  const patterns: RegexTest[] = [];
  const ranges: RangeTest[] = [];
  let type: NodeType = "op_and_layer_nodes";
  let problem: string | undefined;
  for (const query of rule.queries) {
    if (query.type === "node_type") type = query.nodeType;
    else if (query.type === "attr_value_range")
      ranges.push({ attribute: query.attrName, min: query.min ?? -Infinity, max: query.max ?? Infinity });
    else if (query.queryRegex === "") problem ??= "enter a pattern";
    else {
      try {
        patterns.push({ pattern: readExpression(query.queryRegex, "i"), where: query.matchTypes });
      } catch (error) {
        problem = error instanceof Error ? error.message : String(error);
      }
    }
  }
  const [fill, stroke, text] = (["node_bg_color", "node_border_color", "node_text_color"] as const).map((name) =>
    shadeOf(rule.styles[name]),
  );
  const paint =
    fill || stroke || text ? { ...(fill ? { fill } : {}), ...(stroke ? { stroke } : {}), ...(text ? { text } : {}) } : undefined;
  return {
    ops: type !== "layer_nodes",
    layers: type !== "op_nodes",
    patterns,
    ranges,
    paint,
    edge: shadeOf(rule.styles.edge_color),
    problem,
  };
}

/** A colour without a dark variant is the same in dark pictures. */
function shadeOf(colour: StyleColour | undefined): Shade | undefined {
  const entry = typeof colour === "string" ? { value: colour } : colour;
  const light = entry && readColour(entry.value);
  if (!light) return undefined;
  return { light, dark: (entry.dark && readColour(entry.dark)) || light };
}
