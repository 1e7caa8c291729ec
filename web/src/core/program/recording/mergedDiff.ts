/**
 * Before and after in one program: everything that exists after a pass, and what was removed as ghosts. A ghost is where it was,
 * takes its values from what its operands became, and has control edges (which carry nothing) to its former users. Where the place of
 * an operand has a meaning and one is in another graph now, the others have control edges, too. A ghost calls what it called only while
 * that graph exists: one of another name that has its nodes now was never called by it.
 */
import { filledColumn, nodeColumns } from "../columns";
import { type MetricData, withRatios } from "../metrics";
import { Forwards, joinedOps } from "../ops";
import { isChange } from "../names";
import { NO_OPERAND } from "../parameters";
import { isArgument } from "../roles";
import type { Csr, Csr2, LaneData, Looks, ProgramData, StringTable } from "../types";
import { isReplaced } from "./history";
import { mergedGrouping, renumbered } from "./mergedGroupings";
import type { PassDiff } from "./types";

export interface Overlay {
  readonly program: ProgramData;
  /** The node after and the node before of each node; -1: none. */
  readonly after: Int32Array;
  readonly before: Int32Array;
}

export function overlay(before: ProgramData, after: ProgramData, diff: PassDiff): Overlay {
  return new Merging(before, after, diff).result();
}

class Merging {
  private readonly ghosts: Int32Array;
  /** A graph after (-1: removed) with all graphs before whose nodes are in it now: inlined bodies come with their ghosts. */
  private readonly graphs: { readonly after: number; readonly before: number[] }[] = [];
  /** The merged graph of each graph before. */
  private readonly graphOfBefore: Int32Array;
  private readonly afterOf: number[] = [];
  private readonly beforeOf: number[] = [];
  private readonly graphStart: number[] = [0];
  private readonly numberOfAfter: Int32Array;
  private readonly numberOfGhost: Int32Array;
  private readonly stringShift: number;
  private readonly typeShift: number;
  private readonly opShift: number;

  constructor(
    private readonly old: ProgramData,
    private readonly now: ProgramData,
    private readonly diff: PassDiff,
  ) {
    this.ghosts = ghostsOf(diff);
    this.graphOfBefore = this.pairGraphs();
    this.numberOfAfter = new Int32Array(now.nodeCount).fill(-1);
    this.numberOfGhost = new Int32Array(old.nodeCount).fill(-1);
    const shared = old.strings === now.strings;
    this.stringShift = shared ? 0 : now.strings.length;
    this.typeShift = shared && old.types === now.types ? 0 : now.types.text.length;
    this.opShift = shared && old.ops === now.ops ? 0 : now.ops.name.length;
    for (const graph of this.graphs) this.placeGraph(graph);
  }

  result(): Overlay {
    const { now, old } = this;
    const after = Int32Array.from(this.afterOf),
      before = Int32Array.from(this.beforeOf);
    const strings = this.stringShift === 0 ? now.strings : joined(now.strings, old.strings);
    const renamed: string[] = [];
    const graphAt = this.graphOfMerged();
    const merged = now.groupings.map((grouping) => mergedGrouping(now, old, grouping, { after, before, graphAt, shift: this.stringShift }));
    const program: ProgramData = {
      name: now.name,
      ...(this.ghosts.includes(1) ? { hasGhosts: true } : {}),
      entry: now.entry,
      strings: joined(strings, { length: renamed.length, at: (index) => renamed[index] }),
      graphCount: this.graphs.length,
      graphStart: Int32Array.from(this.graphStart),
      graphName: Int32Array.from(this.graphs, ({ after, before }) =>
        after >= 0 ? now.graphName[after] : this.shift(old.graphName[before[0]]),
      ),
      graphOutputs: this.outputs(),
      nodeCount: after.length,
      ...nodeColumns((name, kind) =>
        filledColumn(kind, after.length, (i) => {
          if (after[i] >= 0) return now[name][after[i]];
          const number = old[name][before[i]];
          return kind === "text" ? this.shift(number) : kind === "op" ? number + this.opShift : number;
        }),
      ),
      nodeId: this.ids(strings.length, renamed),
      outputs: this.rows((push) => (node, ghost) => {
        if (node >= 0) each(now.outputs, node, (i) => push(now.outputs.value[i]));
        else each(old.outputs, ghost, (i) => push(old.outputs.value[i] + this.typeShift));
      }),
      outputNames: this.rows((push) => (node, ghost) => {
        if (node >= 0) each(now.outputNames, node, (i) => push(now.outputNames.value[i]));
        else each(old.outputNames, ghost, (i) => push(this.shift(old.outputNames.value[i])));
      }),
      inputs: this.inputs(),
      calls: this.rows((push) => (node, ghost, number) => {
        if (node >= 0) each(now.calls, node, (i) => push(now.calls.value[i]));
        else
          each(old.calls, ghost, (i) => {
            const called = old.calls.value[i];
            const graph = this.graphOfBefore[called];
            if (graph !== graphAt[number] && this.nameOf(graph) === old.strings.at(old.graphName[called])) push(graph);
          });
      }),
      control: this.control(),
      links: this.links(),
      types:
        this.typeShift === 0
          ? now.types
          : {
              text: concat(
                now.types.text,
                old.types.text.map((text) => text + this.stringShift),
              ),
              dtype: concat(
                now.types.dtype,
                old.types.dtype.map((text) => text + this.stringShift),
              ),
              layout: concat(
                now.types.layout,
                old.types.layout.map((text) => text + this.stringShift),
              ),
              rank: concat(now.types.rank, old.types.rank),
              kind: Uint8Array.from([...now.types.kind, ...old.types.kind]),
              bytes: Float64Array.from([...now.types.bytes, ...old.types.bytes]),
              elements: Float64Array.from([...now.types.elements, ...old.types.elements]),
            },
      ops: this.opShift === 0 ? now.ops : joinedOps(now.ops, old.ops, this.stringShift),
      groupings: merged.map(({ grouping }) => grouping),
      nodePlace: this.places(after, before),
      metrics: this.metrics(after, before),
      notes: now.notes,
      results: now.results,
      summary: renumbered(now.summary, merged),
      looks: this.looks(),
      device: now.device,
      lane: this.lane(),
      derivatives: { ...old.derivatives, ...now.derivatives },
      details: (node) => (after[node] >= 0 ? now.details(after[node]) : old.details(before[node])),
      ownLine: (node) => (after[node] >= 0 ? now.ownLine(after[node]) : old.ownLine(before[node])),
      findAttribute: (key, test) => this.marks((program) => program.findAttribute(key, test)),
      findAttributes: (test) => this.marks((program) => program.findAttributes(test)),
      findSource: (test) => this.marks((program) => program.findSource(test)),
    };
    return { program, after, before };
  }

  /** What was removed has no numbers: they would be added to groups that still exist. */
  private metrics(after: Int32Array, before: Int32Array): MetricData[] {
    const { metrics } = this.now;
    const plain = metrics
      .filter(({ ratio }) => !ratio)
      .map((metric) => {
        const lost = isChange(metric) ? this.old.metrics.find(({ name }) => name === metric.name)?.values : undefined;
        const number = (node: number, i: number) => (node >= 0 ? metric.values[node] : (lost?.[before[i]] ?? Number.NaN));
        return { ...metric, values: Float64Array.from(after, number) };
      });
    return withRatios(metrics, plain);
  }

  /** Ids; a ghost whose name is used by another node gets a new name. */
  private ids(firstNew: number, renamed: string[]): Int32Array {
    const { now, old } = this;
    const ids = new Int32Array(this.afterOf.length);
    for (let g = 0; g < this.graphs.length; g++) {
      const used = new Set<string>();
      for (let i = this.graphStart[g]; i < this.graphStart[g + 1]; i++)
        if (this.afterOf[i] >= 0) used.add(now.strings.at(now.nodeId[this.afterOf[i]]));
      for (let i = this.graphStart[g]; i < this.graphStart[g + 1]; i++) {
        ids[i] = this.afterOf[i] >= 0 ? now.nodeId[this.afterOf[i]] : this.shift(old.nodeId[this.beforeOf[i]]);
        if (this.afterOf[i] >= 0) continue;
        const name = old.strings.at(old.nodeId[this.beforeOf[i]]);
        let id = used.has(name) ? `${name} (before)` : name;
        for (let more = 2; used.has(id); more++) id = `${name} (before, ${more})`;
        used.add(id);
        if (id !== name) ids[i] = firstNew + renamed.push(id) - 1;
      }
    }
    return ids;
  }

  private nameOf(graph: number): string {
    const { after, before } = this.graphs[graph];
    return after >= 0 ? this.now.strings.at(this.now.graphName[after]) : this.old.strings.at(this.old.graphName[before[0]]);
  }

  private shift(text: number): number {
    return text < 0 ? text : text + this.stringShift;
  }

  /** Graphs are paired by name, else by where their nodes went; one with only ghosts stays as it was. */
  private pairGraphs(): Int32Array {
    const { old, now, diff } = this;
    for (let g = 0; g < now.graphCount; g++) this.graphs.push({ after: g, before: [] });
    const byName = new Map(Array.from(now.graphName, (name, g) => [now.strings.at(name), g]));
    const graphOfNode = new Int32Array(now.nodeCount);
    for (let g = 0; g < now.graphCount; g++) graphOfNode.fill(g, now.graphStart[g], now.graphStart[g + 1]);
    return Int32Array.from({ length: old.graphCount }, (_, g) => {
      let pair = g === old.entry ? now.entry : (byName.get(old.strings.at(old.graphName[g])) ?? -1);
      for (let node = old.graphStart[g]; pair < 0 && node < old.graphStart[g + 1]; node++)
        if (diff.back[node] >= 0) pair = graphOfNode[diff.back[node]];
      if (pair < 0) return this.graphs.push({ after: -1, before: [g] }) - 1;
      this.graphs[pair].before.push(g);
      return pair;
    });
  }

  private placeGraph({ after, before }: { readonly after: number; readonly before: readonly number[] }): void {
    const { old, now, diff, ghosts } = this;
    const first = after < 0 ? 0 : now.graphStart[after],
      end = after < 0 ? 0 : now.graphStart[after + 1];
    const behind = new Map<number, number[]>();
    for (const graph of before) {
      let anchor = -1;
      for (let node = old.graphStart[graph]; node < old.graphStart[graph + 1]; node++) {
        const counterpart = diff.back[node];
        if (counterpart >= first && counterpart < end) anchor = counterpart;
        if (!ghosts[node]) continue;
        const list = behind.get(anchor);
        if (list) list.push(node);
        else behind.set(anchor, [node]);
      }
    }
    const putGhosts = (at: number) => {
      for (const ghost of behind.get(at) ?? []) {
        this.numberOfGhost[ghost] = this.afterOf.push(-1) - 1;
        this.beforeOf.push(ghost);
      }
    };
    putGhosts(-1);
    for (let node = first; node < end; node++) {
      this.numberOfAfter[node] = this.afterOf.push(node) - 1;
      this.beforeOf.push(diff.counterpart[node]);
      putGhosts(node);
    }
    this.graphStart.push(this.afterOf.length);
  }

  /** The number in the merged program of a node of the program before, or -1. */
  private numberOfBefore(node: number): number {
    if (this.numberOfGhost[node] >= 0) return this.numberOfGhost[node];
    return this.diff.back[node] >= 0 ? this.numberOfAfter[this.diff.back[node]] : -1;
  }

  /** The same, if it is in the same graph. */
  private numberInGraph(node: number, graph: number): number {
    const number = this.numberOfBefore(node);
    return number >= this.graphStart[graph] && number < this.graphStart[graph + 1] ? number : -1;
  }

  /** Operands of a call that exists after the pass belong to parameters that exist, not to removed ones. */
  private places(after: Int32Array, before: Int32Array): Int32Array {
    const { now, old } = this;
    const graphAt = this.graphOfMerged();
    return Int32Array.from(after, (node, i) => {
      if (node >= 0) return now.nodePlace[node];
      return isArgument(old.nodeRole[before[i]]) && this.graphs[graphAt[i]].after >= 0 ? NO_OPERAND : old.nodePlace[before[i]];
    });
  }

  private links(): Csr2 {
    const { old, now } = this;
    const extra: number[] = [];
    const rows = this.rows((push) => (node, ghost) => {
      const from = node >= 0 ? now.links : old.links;
      each(from, node >= 0 ? node : ghost, (i) => {
        const other = node >= 0 ? this.numberOfAfter[from.extra[i]] : this.numberOfBefore(from.extra[i]);
        if (other < 0) return;
        push(node >= 0 ? from.value[i] : this.shift(from.value[i]));
        extra.push(other);
      });
    });
    return { ...rows, extra: Int32Array.from(extra) };
  }

  private lane(): LaneData | undefined {
    const { lane } = this.now;
    return lane && { ...lane, node: lane.node.map((node) => (node < 0 ? -1 : this.numberOfAfter[node])) };
  }

  private looks(): Looks | undefined {
    const { old, now } = this;
    const ghosts = (old.looks?.nodes ?? []).flatMap(([node, look]) =>
      this.numberOfGhost[node] >= 0 ? [[this.numberOfGhost[node], look] as const] : [],
    );
    if (!now.looks && ghosts.length === 0) return undefined;
    const { nodes = [], groups = [], overlays = [] } = now.looks ?? {};
    return {
      nodes: [...nodes.map(([node, look]) => [this.numberOfAfter[node], look] as const), ...ghosts],
      groups,
      overlays: overlays.map((overlay) => ({
        ...overlay,
        edges: overlay.edges.map(([from, to, words]) => [this.numberOfAfter[from], this.numberOfAfter[to], words] as const),
      })),
    };
  }

  /** Marks of both programs as marks of the merged one; undefined if one of them does not know. */
  private marks(find: (program: ProgramData) => Uint8Array | undefined): Uint8Array | undefined {
    const now = find(this.now),
      old = find(this.old);
    return now && old && Uint8Array.from(this.afterOf, (node, i) => (node >= 0 ? now[node] : old[this.beforeOf[i]]));
  }

  private rows(fill: (push: (value: number) => void) => (after: number, before: number, number: number) => void): Csr {
    const start = new Int32Array(this.afterOf.length + 1);
    const value: number[] = [];
    const put = fill((number) => value.push(number));
    for (let i = 0; i < this.afterOf.length; i++) {
      put(this.afterOf[i], this.beforeOf[i], i);
      start[i + 1] = value.length;
    }
    return { start, value: Int32Array.from(value) };
  }

  private inputs(): Csr2 {
    const { old, now } = this;
    const extra: number[] = [];
    const graphAt = this.graphOfMerged();
    const rows = this.rows((push) => (node, ghost, number) => {
      if (node >= 0) {
        each(now.inputs, node, (i) => {
          push(this.numberOfAfter[now.inputs.value[i]]);
          extra.push(now.inputs.extra[i]);
        });
        return;
      }
      if (this.losesPlaces(ghost, graphAt[number])) return;
      each(old.inputs, ghost, (i) => {
        const from = this.numberInGraph(old.inputs.value[i], graphAt[number]);
        if (from < 0) return;
        push(from);
        extra.push(old.inputs.extra[i]);
      });
    });
    return { ...rows, extra: Int32Array.from(extra) };
  }

  /** Does a ghost tell its operands apart by their places (a tuple, a call), and lack one of them? */
  private losesPlaces(ghost: number, graph: number): boolean {
    const { calls, inputs, nodeOp, ops } = this.old;
    if (ops.forwards[nodeOp[ghost]] === Forwards.Nothing && calls.start[ghost + 1] === calls.start[ghost]) return false;
    for (let i = inputs.start[ghost]; i < inputs.start[ghost + 1]; i++) if (this.numberInGraph(inputs.value[i], graph) < 0) return true;
    return false;
  }

  private control(): Csr {
    const { old, now, numberOfGhost } = this;
    const graphAt = this.graphOfMerged();
    return this.rows((push) => (node, before, number) => {
      if (node >= 0) each(now.control, node, (i) => push(this.numberOfAfter[now.control.value[i]]));
      if (node < 0 && this.losesPlaces(before, graphAt[number])) {
        each(old.inputs, before, (i) => {
          const from = this.numberInGraph(old.inputs.value[i], graphAt[number]);
          if (from >= 0) push(from);
        });
      }
      if (node < 0 || before < 0) return;
      each(old.inputs, before, (i) => {
        const ghost = numberOfGhost[old.inputs.value[i]];
        if (ghost >= 0 && graphAt[ghost] === graphAt[number]) push(ghost);
      });
    });
  }

  private graphOfMerged(): Int32Array {
    const of = new Int32Array(this.afterOf.length);
    for (let g = 0; g < this.graphs.length; g++) of.fill(g, this.graphStart[g], this.graphStart[g + 1]);
    return of;
  }

  private outputs(): Csr2 {
    const { now, old } = this;
    const start = new Int32Array(this.graphs.length + 1);
    const value: number[] = [],
      extra: number[] = [];
    this.graphs.forEach(({ after, before }, g) => {
      const from = after >= 0 ? now.graphOutputs : old.graphOutputs;
      each(from, after >= 0 ? after : before[0], (i) => {
        const node = after >= 0 ? this.numberOfAfter[from.value[i]] : this.numberInGraph(from.value[i], g);
        if (node < 0) return;
        value.push(node);
        extra.push(from.extra[i]);
      });
      start[g + 1] = value.length;
    });
    return { start, value: Int32Array.from(value), extra: Int32Array.from(extra) };
  }
}

/** 1 for nodes before without a counterpart after: removed, or part of something else. */
function ghostsOf(diff: PassDiff): Int32Array {
  const copied = new Set<number>();
  const { old, new: results } = diff.groups;
  for (let g = 0; g + 1 < old.start.length; g++) {
    const result = results.start[g] < results.start[g + 1] ? results.value[results.start[g]] : -1;
    // Beside a pair, a group is what became part of it, which is gone; so is what was replaced.
    if (isReplaced(diff, g)) continue;
    if (old.start[g + 1] - old.start[g] === 1 && result >= 0 && diff.counterpart[result] < 0) copied.add(old.value[old.start[g]]);
  }
  return Int32Array.from(diff.back, (counterpart, node) => (counterpart < 0 && !copied.has(node) ? 1 : 0));
}

function each(rows: Csr, row: number, visit: (at: number) => void): void {
  for (let i = rows.start[row]; i < rows.start[row + 1]; i++) visit(i);
}

function concat(a: Int32Array, b: Int32Array): Int32Array {
  const both = new Int32Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}

function joined(a: StringTable, b: StringTable): StringTable {
  return { length: a.length + b.length, at: (index) => (index < a.length ? a.at(index) : b.at(index - a.length)) };
}
