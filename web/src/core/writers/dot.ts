/**
 * Graphviz DOT of a view: what would be drawn, as nodes and nested clusters, for papers and tools that take DOT. Graphviz does the
 * layout. Ids are the program's own names; they are quoted and can never become DOT syntax.
 */
import type { Theme } from "../scene/theme";
import { boxLines } from "../scene/tooltips";
import { BoxKind, EdgeKind, type Visible } from "../program/types";
import { readableNames } from "./readableNames";

export interface DotOptions {
  readonly title?: string;
  readonly rankdir?: "TB" | "LR";
  /** Number the operands at arrow heads where their order matters. */
  readonly operands?: boolean | undefined;
}

/** Without a limit, Graphviz improves a training step's ranks for minutes; with it, for seconds. */
const PATIENCE = "nslimit=2, nslimit1=2";
const LONGEST = 96;
const DEEPEST_INDENT = 24;

export function visibleToDot(visible: Visible, theme: Theme, options: DotOptions): string {
  const lines = [
    `digraph ${quoted(options.title || "program")} {`,
    `  graph [rankdir=${options.rankdir ?? "TB"}, compound=true, ${PATIENCE}, bgcolor="${theme.background}", fontname="Helvetica", fontsize=11, fontcolor="${theme.text}"];`,
    `  node [shape=box, style="rounded,filled", fontname="Helvetica", fontsize=10, fontcolor="${theme.text}"];`,
    `  edge [color="${theme.edge}", arrowsize=0.6, fontname="Helvetica", fontsize=8, fontcolor="${theme.secondary}"];`,
  ];
  const names = readableNames(visible);
  writeBoxes(visible, theme, names, lines);
  const operands = options.operands === false ? undefined : visible.edgeOperand;
  for (let e = 0; e < visible.edgeCount; e++) lines.push(edgeLine(visible, theme, names, operands, e));
  lines.push("}", "");
  return lines.join("\n");
}

/** Open containers that need a node: edges end at them, or they contain nothing that Graphviz would draw. */
function endsAtFrames(visible: Visible): Uint8Array {
  const anchored = Uint8Array.from(visible.open);
  for (let b = 0; b < visible.boxCount; b++) if (visible.parent[b] >= 0) anchored[visible.parent[b]] = 0;
  for (let e = 0; e < visible.edgeCount; e++) {
    for (const end of [visible.edgeSource[e], visible.edgeTarget[e]]) if (visible.open[end]) anchored[end] = 1;
  }
  return anchored;
}

/** Boxes inside their clusters. Uses a list instead of recursion, because groups may be nested deeply. */
function writeBoxes(visible: Visible, theme: Theme, names: readonly string[], lines: string[]): void {
  const { boxCount, parent, open } = visible;
  const anchored = endsAtFrames(visible);
  const children: number[][] = Array.from({ length: boxCount + 1 }, () => []);
  for (let b = 0; b < boxCount; b++) children[parent[b] + 1].push(b);
  const waiting: { readonly box: number; readonly depth: number; readonly closing: boolean }[] = [];
  const later = (boxes: readonly number[], depth: number) => {
    for (let i = boxes.length - 1; i >= 0; i--) waiting.push({ box: boxes[i], depth, closing: false });
  };
  later(children[0], 1);
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { box, depth, closing } = next;
    const indent = "  ".repeat(Math.min(depth, DEEPEST_INDENT));
    if (closing) lines.push(`${indent}}`);
    else if (!open[box]) lines.push(`${indent}${boxLine(visible, theme, names, box)}`);
    else {
      const fill = theme.frames[(depth - 1) % theme.frames.length];
      lines.push(`${indent}subgraph ${cluster(names, box)} {`);
      lines.push(
        `${indent}  label=${shown(label(visible, box))}; style="rounded,filled"; fillcolor="${fill}"; color="${theme.frameStroke}";`,
      );
      if (anchored[box]) lines.push(`${indent}  ${quoted(names[box])} [label="", shape=point, style=invis];`);
      waiting.push({ box, depth, closing: true });
      later(children[box + 1], depth + 1);
    }
  }
}

/** The name of a cluster must begin with this word for Graphviz to draw it. */
const cluster = (names: readonly string[], box: number): string => quoted(`cluster_${names[box]}`);

function boxLine(visible: Visible, theme: Theme, names: readonly string[], box: number): string {
  const { fill, stroke } = theme.paints[visible.category[box]];
  const kind = visible.kind[box];
  const shape =
    kind === BoxKind.Stack ? ", peripheries=2" : kind === BoxKind.Stub || kind === BoxKind.Omitted ? ', style="rounded,filled,dashed"' : "";
  const tip = boxLines(visible, box).join("\n");
  return `${quoted(names[box])} [label=${shown(label(visible, box))}, tooltip=${hovered(tip)}, fillcolor="${fill}", color="${stroke}"${shape}];`;
}

/** Title, inlined operands, type, and what the option `label` adds. */
function label(visible: Visible, box: number): string {
  const repeat = visible.repeat[box] > 1 ? ` ×${visible.repeat[box]}` : "";
  const rows = (visible.rows?.[box] ?? []).map((row) => row.join(": "));
  const texts = [visible.title[box] + repeat, ...(visible.notes[box] ?? []), visible.subtitle[box], ...rows];
  return texts
    .filter((text) => text)
    .map(cut)
    .join("\n");
}

function edgeLine(visible: Visible, theme: Theme, names: readonly string[], operands: Int32Array | undefined, e: number): string {
  const source = visible.edgeSource[e];
  const target = visible.edgeTarget[e];
  const details: string[] = [];
  if (visible.open[source] && !isInside(visible, target, source)) details.push(`ltail=${cluster(names, source)}`);
  if (visible.open[target] && !isInside(visible, source, target)) details.push(`lhead=${cluster(names, target)}`);
  if (visible.edgeCountMerged[e] > 1) details.push(`label="×${visible.edgeCountMerged[e]}"`);
  if (operands && operands[e] >= 0) details.push(`headlabel="${operands[e]}"`);
  if (visible.edgeKind[e] !== EdgeKind.Data)
    details.push(
      `style=${visible.edgeKind[e] === EdgeKind.Control ? "dashed" : "dotted"}`,
      `color="${theme.faintEdge}"`,
      "constraint=false",
    );
  return `  ${quoted(names[source])} -> ${quoted(names[target])}${details.length ? ` [${details.join(", ")}]` : ""};`;
}

function isInside(visible: Visible, box: number, frame: number): boolean {
  let at = box;
  while (at >= 0 && at !== frame) at = visible.parent[at];
  return at === frame;
}

const cut = (text: string): string => (text.length <= LONGEST ? text : `${text.slice(0, LONGEST - 1)}…`);

/** Graphviz replaces an HTML entity such as `&lt;` by its character. */
const withoutEntities = (text: string): string => text.replace(/&(?=#?\w+;)/g, "&amp;");

/** A text that Graphviz draws. */
const shown = (text: string): string => quoted(withoutEntities(text));

/** A text of a tooltip, in which Graphviz looks for escapes twice. */
const hovered = (text: string): string => quoted(withoutEntities(text).replaceAll("\\", "\\\\"));

/** A DOT string. A backslash would begin a Graphviz escape (`\N` is the node's name), so it is doubled. */
function quoted(text: string): string {
  const escaped = text
    .replaceAll("\\", "\\\\")
    .replaceAll('"', '\\"')
    .replaceAll("\n", "\\n")
    .replace(/\p{Cc}|\p{Cs}/gu, "\ufffd");
  return `"${escaped}"`;
}
