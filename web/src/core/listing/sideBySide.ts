/**
 * Before and after a pass as two columns of lines. A node after the pass is next to its counterpart, wherever that was; a node that is
 * gone is next to what replaced it, or where it was. What was copied into several
 * fusions is repeated next to each, and marked as copied after the first. Runs of lines that did not change are folded.
 */
import { isDecided } from "../program/recording/history";
import type { PassDiff } from "../program/recording/types";
import { indexOf } from "../program/programIndex";
import type { Csr, ProgramData } from "../program/types";

export const ROW_KINDS = ["same", "added", "removed", "changed", "became", "copied"] as const;
export type RowKind = (typeof ROW_KINDS)[number];

/** A line of both programs, of one of them (the other is -1), or `folded` lines that did not change. */
export interface TextRow {
  readonly kind: RowKind;
  readonly before: number;
  readonly after: number;
}

/** The rows of one graph: of the program after the pass, or of the program before it if it is gone. */
export interface GraphRows {
  readonly name: string;
  readonly after: boolean;
  readonly rows: readonly TextRow[];
  readonly changed: boolean;
}

export function sideBySide(before: ProgramData, after: ProgramData, diff: PassDiff): GraphRows[] {
  return new Aligner(before, after, diff).graphs();
}

/** Lines around a change that are shown with it. */
const CONTEXT = 2;

/** Rows from `first` up to `end`, or a fold of that many rows. */
export interface Stretch {
  readonly first: number;
  readonly end: number;
  readonly folded: boolean;
}

/** What is shown of a graph at first: changes with some context. */
export function stretches(rows: readonly TextRow[], context = CONTEXT): Stretch[] {
  const parts: { first: number; end: number; folded: boolean }[] = [];
  const shown = new Uint8Array(rows.length);
  rows.forEach(({ kind }, at) => {
    if (kind !== "same") shown.fill(1, Math.max(0, at - context), at + context + 1);
  });
  rows.forEach((_, at) => {
    const last = parts[parts.length - 1];
    if (last && last.folded === !shown[at]) last.end = at + 1;
    else parts.push({ first: at, end: at + 1, folded: !shown[at] });
  });
  // A fold takes a line itself.
  for (const part of parts) part.folded &&= part.end - part.first > 1;
  return parts;
}

class Aligner {
  /** For each node after the pass, nodes that are gone and are shown right before it; the last one, next to it. */
  private readonly beside = new Map<number, number[]>();
  private readonly placed: Uint8Array;
  /** Nodes that were shown beside what they became. */
  private readonly shown = new Set<number>();
  private readonly changed: Uint8Array;

  constructor(
    private readonly old: ProgramData,
    private readonly now: ProgramData,
    private readonly diff: PassDiff,
  ) {
    this.placed = Uint8Array.from(diff.back, (counterpart) => (counterpart >= 0 ? 1 : 0));
    this.changed = new Uint8Array(now.nodeCount);
    for (const node of diff.changed) this.changed[node] = 1;
    const { groups, fusions } = diff;
    for (let group = 0; group < groups.rule.length; group++) {
      if (isDecided(diff, group)) this.put(row(groups.old, group), row(groups.new, group).at(-1));
    }
    for (const [fusion, node] of fusions.new.entries()) this.put(row(fusions.old, fusion), node, true);
  }

  /** Members of a fusion have counterparts in its body, and are shown beside the fusion as well. */
  private put(nodes: Int32Array, beside: number | undefined, again = false): void {
    if (beside === undefined || this.beside.has(beside)) return;
    const list = Array.from(nodes).filter((node) => again || !this.placed[node]);
    for (const node of list) this.placed[node] = 1;
    if (list.length) this.beside.set(beside, list);
  }

  graphs(): GraphRows[] {
    const { old, now } = this;
    const ghosts = this.ghosts();
    const graphs: GraphRows[] = [];
    for (let graph = 0; graph < now.graphCount; graph++) {
      const rows: TextRow[] = [];
      for (const node of ghosts.first.get(graph) ?? []) rows.push({ kind: "removed", before: node, after: -1 });
      for (let node = now.graphStart[graph]; node < now.graphStart[graph + 1]; node++) {
        this.addNode(rows, node);
        for (const ghost of ghosts.behind.get(node) ?? []) rows.push({ kind: "removed", before: ghost, after: -1 });
      }
      graphs.push({ name: indexOf(now).graphName(graph), after: true, rows, changed: rows.some(({ kind }) => kind !== "same") });
    }
    for (const [graph, nodes] of ghosts.graphs) {
      const rows = nodes.map((node): TextRow => ({ kind: "removed", before: node, after: -1 }));
      graphs.push({ name: indexOf(old).graphName(graph), after: false, rows, changed: true });
    }
    return graphs;
  }

  private addNode(rows: TextRow[], node: number): void {
    const counterpart = this.diff.counterpart[node];
    const gone = this.beside.get(node);
    const first = gone?.filter((old) => !this.shown.has(old)) ?? [];
    for (const old of gone ?? []) if (this.shown.has(old)) rows.push({ kind: "copied", before: old, after: -1 });
    for (const old of first) this.shown.add(old);
    if (counterpart >= 0) {
      for (const old of first) rows.push({ kind: "became", before: old, after: -1 });
      rows.push({ kind: this.changed[node] ? "changed" : "same", before: counterpart, after: node });
    } else if (gone) {
      for (const old of first.slice(0, -1)) rows.push({ kind: "became", before: old, after: -1 });
      rows.push({ kind: "became", before: first.at(-1) ?? -1, after: node });
    } else rows.push({ kind: "added", before: -1, after: node });
  }

  /** Where the nodes are shown that are gone without a trace: behind the one that they were behind, or first in their graph. */
  private ghosts(): { behind: Map<number, number[]>; first: Map<number, number[]>; graphs: Map<number, number[]> } {
    const { old, now, diff } = this;
    const graphNow = indexOf(now).graphOf;
    const behind = new Map<number, number[]>(),
      first = new Map<number, number[]>(),
      graphs = new Map<number, number[]>();
    for (let graph = 0; graph < old.graphCount; graph++) {
      const home = this.homeOf(graph);
      let anchor = -1;
      for (let node = old.graphStart[graph]; node < old.graphStart[graph + 1]; node++) {
        const result = diff.back[node];
        if (result >= 0 && graphNow[result] === home) anchor = result;
        if (this.placed[node]) continue;
        if (home < 0) push(graphs, graph, node);
        else if (anchor < 0) push(first, home, node);
        else push(behind, anchor, node);
      }
    }
    return { behind, first, graphs };
  }

  /** The graph after the pass in which most nodes of a graph are, or -1. */
  private homeOf(graph: number): number {
    const { old, now, diff } = this;
    const graphNow = indexOf(now).graphOf;
    const votes = new Map<number, number>();
    for (let node = old.graphStart[graph]; node < old.graphStart[graph + 1]; node++) {
      const result = diff.back[node];
      if (result >= 0) votes.set(graphNow[result], (votes.get(graphNow[result]) ?? 0) + 1);
    }
    return [...votes].reduce((best, vote) => (vote[1] > best[1] ? vote : best), [-1, 0])[0];
  }
}

function push(lists: Map<number, number[]>, key: number, value: number): void {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}

const row = ({ start, value }: Csr, at: number): Int32Array => value.subarray(start[at], start[at + 1]);
