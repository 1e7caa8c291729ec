/** Highlights that come with the viewer, as rules that one can look at, change and export. */
import { readRules, type NodeType, type StyleColour, type StyleName, type StyleRule } from "./rules";

const colour = (id: StyleName, value: string, dark: string): StyleColour => ({ id, value, dark });

function rule(nodeType: NodeType, queryRegex: string, fill: readonly [string, string], border: readonly [string, string]): StyleRule {
  return {
    queries: [
      { type: "node_type", nodeType },
      { type: "regex", queryRegex, matchTypes: ["title"] },
    ],
    nodeType,
    styles: { node_bg_color: colour("node_bg_color", ...fill), node_border_color: colour("node_border_color", ...border) },
    version: "v2",
  };
}

/** Fill and border, each for light and dark; neighbours in the list are far apart on the colour wheel. */
const PARTITIONS: readonly (readonly [readonly [string, string], readonly [string, string]])[] = [
  [
    ["#FDF3E1", "#2B2418"],
    ["#DDB36A", "#8A6A33"],
  ],
  [
    ["#EDF2FD", "#1B2133"],
    ["#93ACE6", "#4A62A0"],
  ],
  [
    ["#EAF6EC", "#18271D"],
    ["#83BF92", "#417A52"],
  ],
  [
    ["#FBEDF4", "#2C1B25"],
    ["#D795B8", "#8A4A6B"],
  ],
  [
    ["#E8F6F7", "#152729"],
    ["#79BEC4", "#3A7A80"],
  ],
  [
    ["#F2EEFB", "#221D30"],
    ["#AE9BDC", "#63529B"],
  ],
  [
    ["#F6F3E2", "#26241A"],
    ["#BFB265", "#77703A"],
  ],
];

/** Numbers 0 … 6 have a colour each; from there on they begin again. */
function partition(number: number): StyleRule {
  const [fill, border] = PARTITIONS[number];
  const sevens = `(?:${Array.from({ length: 40 }, (_, i) => number + i * PARTITIONS.length).join("|")})`;
  return rule("layer_nodes", `^partition ${sevens}\\b`, fill, border);
}

/** After lowering, a partition is a call of its backend. */
const CLUSTERS: readonly StyleRule[] = [
  rule("op_nodes", "call_delegate", ...PARTITIONS[0]),
  rule("op_nodes", "\\bdequantize", ["#E3F1EF", "#1A302D"], ["#5FA79C", "#3F8378"]),
  rule("op_nodes", "\\bquantize_|\\bquantize$|QuantizeLinear", ["#D3EBE7", "#1F3F3A"], ["#2F8577", "#5BB3A5"]),
  rule("layer_nodes", "^cluster\\b", ["#FFFFFF", "#1E2527"], ["#5FA79C", "#4A8F84"]),
  ...PARTITIONS.map((_, number) => partition(number)),
];

export const PREDEFINED: Readonly<Record<string, readonly StyleRule[]>> = { clusters: CLUSTERS };

/** Rules, or the name of some that are predefined. */
export function rulesOf(given: unknown): readonly StyleRule[] {
  if (typeof given !== "string") return readRules(given ?? []);
  const found = PREDEFINED[given];
  if (!found) throw new Error(`no style named "${given}"; there are: ${Object.keys(PREDEFINED).join(", ")}`);
  return found;
}
