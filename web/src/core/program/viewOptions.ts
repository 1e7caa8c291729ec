/** The view options. Written by `make options` from src/opscope/view_options.py, which is the place to change them. */
export interface ViewOptions {
  /** Show this graph instead of the entry. */
  readonly graph: string | undefined;
  /** Expand groups and called graphs down to this depth. */
  readonly depth: number | undefined;
  /** Draw no groups; fusions, calls and loops stay boxes (--depth expands them). */
  readonly flatten: boolean;
  /** Draw every node as a box: none is folded into its user or into an edge. */
  readonly allNodes: boolean;
  /** Draw a frame around every module, also around one of a single operation and around the whole graph. */
  readonly frames: boolean;
  /** Expand called graphs (fusions, loops) within --depth. */
  readonly calls: boolean;
  /** Show only this node and its neighbours; repeatable. */
  readonly around: readonly string[];
  /** How far --around reaches. */
  readonly hops: number;
  /** Do not go beyond this node with --around; repeatable. */
  readonly stopAt: readonly string[];
  /** Show only the paths between nodes A and B; the order of the two does not matter. */
  readonly paths: readonly [string, string] | undefined;
  /** With --paths, leave out the longest paths beyond this many nodes. */
  readonly limit: number;
  /** Draw repeated layers once. */
  readonly fold: boolean;
  /** Group by this instead of modules: op, direction, source line, … */
  readonly groupBy: string | undefined;
  /** Colour by a metric (flops, bytes, …), op, dtype, group or attr:NAME. */
  readonly colourBy: string | undefined;
  /** How the numbers of --colour-by become colours: by value, rank or share of the whole. */
  readonly colourScale: "value" | "rank" | "share";
  /** Enlarge boxes by a metric (time, flops, bytes, …), up to twice. */
  readonly sizeBy: string | undefined;
  /** Draw forward and backward in two columns, aligned by layer. */
  readonly forwardBackward: boolean;
  /** Draw top to bottom or left to right. */
  readonly rankdir: "TB" | "LR";
  /** Light or dark colours. By default light; the viewer follows the system. */
  readonly theme: "light" | "dark" | undefined;
  /** Background of a picture; white or transparent suits papers. */
  readonly background: "theme" | "white" | "transparent";
  /** Break a tall picture into columns. By default only a very tall one. */
  readonly wrap: boolean | undefined;
  /** Number the operands at arrowheads. By default if there are few. */
  readonly operands: boolean | undefined;
  /** Label operations with their ids (dot.105) instead of their names. */
  readonly names: boolean;
  /** Write this attribute or metric on boxes; repeatable. */
  readonly label: readonly string[];
  /** Write the layout of a tensor after its type: f32[8, 16]{1,0}. */
  readonly layouts: boolean;
  /** Draw values as edges, or as boxes between operations. */
  readonly values: "edges" | "boxes";
  /** Draw the edge overlays of the program's file. */
  readonly overlays: boolean;
  /** Highlight what a pass changed (run.opscope@12); with two sources, how they differ. */
  readonly diff: "before" | "after" | "overlay" | undefined;
}

/** `url`: its key in the address, empty where it has none. `goes`: into the ViewSpec, or beside it into the request. */
export const VIEW_OPTIONS = {
  graph: { kind: "text", default: undefined, url: "g", goes: "spec" },
  depth: { kind: "integer", default: undefined, url: "d", goes: "spec" },
  flatten: { kind: "flag", default: false, url: "flat", goes: "spec" },
  allNodes: { kind: "flag", default: false, url: "all", goes: "spec" },
  frames: { kind: "flag", default: false, url: "frames", goes: "spec" },
  calls: { kind: "switch", default: true, url: "calls", goes: "spec" },
  around: { kind: "texts", default: [], url: "near", goes: "spec" },
  hops: { kind: "integer", default: 2, url: "hops", goes: "spec" },
  stopAt: { kind: "texts", default: [], url: "stop", goes: "spec" },
  paths: { kind: "pair", default: undefined, url: "p", goes: "spec" },
  limit: { kind: "integer", default: 2000, url: "most", goes: "spec" },
  fold: { kind: "switch", default: true, url: "fold", goes: "spec" },
  groupBy: { kind: "text", default: undefined, url: "by", goes: "spec" },
  colourBy: { kind: "text", default: undefined, url: "col", goes: "request" },
  colourScale: { kind: "choice", default: "value", url: "heat", goes: "request", choices: ["value", "rank", "share"] },
  sizeBy: { kind: "text", default: undefined, url: "size", goes: "spec" },
  forwardBackward: { kind: "flag", default: false, url: "beside", goes: "spec" },
  rankdir: { kind: "choice", default: "TB", url: "dir", goes: "request", choices: ["TB", "LR"] },
  theme: { kind: "choice", default: undefined, url: "", goes: "request", choices: ["light", "dark"] },
  background: { kind: "choice", default: "theme", url: "", goes: "request", choices: ["theme", "white", "transparent"] },
  wrap: { kind: "switch", default: undefined, url: "", goes: "request" },
  operands: { kind: "switch", default: undefined, url: "nth", goes: "spec" },
  names: { kind: "flag", default: false, url: "names", goes: "spec" },
  label: { kind: "texts", default: [], url: "label", goes: "spec" },
  layouts: { kind: "flag", default: false, url: "layouts", goes: "spec" },
  values: { kind: "choice", default: "edges", url: "values", goes: "spec", choices: ["edges", "boxes"] },
  overlays: { kind: "switch", default: true, url: "over", goes: "spec" },
  diff: { kind: "choice", default: undefined, url: "show", goes: "request", choices: ["before", "after", "overlay"] },
} as const;
