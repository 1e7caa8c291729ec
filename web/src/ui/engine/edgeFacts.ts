/** What the details panel shows about an edge: its ends, and which values of the program it carries. */
import type { Scene } from "../../core/scene/types";
import { EdgeKind, type Visible } from "../../core/program/types";
import { MOST_LISTED, nodesIn } from "./facts";
import type { ProgramIndex } from "../../core/program/programIndex";
import type { EdgeFacts } from "./protocol";
import { nodeName } from "./names";

const KINDS = {
  [EdgeKind.Data]: "data",
  [EdgeKind.Control]: "control",
  [EdgeKind.Link]: "link",
  [EdgeKind.Carried]: "carried",
  [EdgeKind.Overlay]: "overlay",
} as const;

export function edgeFacts(index: ProgramIndex, visible: Visible, scene: Scene, edge: number): EdgeFacts | undefined {
  const number = scene.edge[edge];
  if (number === undefined) return undefined;
  const from = visible.edgeSource[number],
    to = visible.edgeTarget[number];
  const kind = KINDS[scene.edgeKind[edge] as EdgeKind];
  const nodes = kind === "data" || kind === "carried" ? carried(index, visible, from, to) : [];
  const end = (box: number) => ({ key: scene.key[box], title: scene.title[box] });
  return {
    from: end(from),
    to: end(to),
    kind,
    values: nodes.slice(0, MOST_LISTED).map((node) => nodeName(index, node)),
    total: nodes.length,
    bytes: nodes.reduce((sum, node) => sum + index.bytes(node), 0),
  };
}

/** Nodes visible in one box whose values are used by nodes visible in the other, each once; a stub counts as its node. */
function carried(index: ProgramIndex, visible: Visible, from: number, to: number): number[] {
  const { inputs, nodeCount } = index.program;
  const inFrom = nodesIn(visible, from, nodeCount),
    inTo = nodesIn(visible, to, nodeCount);
  if (visible.node[from] >= 0) inFrom[visible.node[from]] = 1;
  const nodes = new Set<number>();
  for (let n = 0; n < nodeCount; n++) {
    if (!inTo[n]) continue;
    for (let i = inputs.start[n]; i < inputs.start[n + 1]; i++) if (inFrom[inputs.value[i]]) nodes.add(inputs.value[i]);
  }
  if (nodes.size === 0 && visible.node[from] >= 0) nodes.add(visible.node[from]);
  return [...nodes];
}
