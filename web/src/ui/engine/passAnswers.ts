/** What the page asks about passes: what one pass did, the history of a node, and where it is after another pass. */
import { isReplaced, resultsOf, sourcesOf } from "../../core/program/recording/history";
import { EVIDENCE, type ModuleChanges, type PassDiff } from "../../core/program/recording/types";
import { indexOf, type ProgramIndex } from "../../core/program/programIndex";
import { type Found, touches } from "../../core/search/passes";
import type { Passes, PassShown } from "./passes";
import type { HistoryRow, ModuleChangesRow, OpChanges, PassFacts } from "./passProtocol";
import type { NodeName } from "./protocol";
import { nodeName } from "./names";

const MOST_LISTED = 60;
/** Fields of a change that say that a node is in another scope or graph. */
const MOVING: ReadonlySet<string> = new Set(["scope", "graph"]);
const MOST_NAMED = 12;
/** The first two kinds of evidence, "rewrite" and "identity", come from the compiler. */
const LAST_COMPILER_EVIDENCE = 1;

async function indexAfter(passes: Passes, pass: number): Promise<ProgramIndex> {
  const { program } = await passes.program(pass);
  return indexOf(program);
}

/** What passes did to a node, in order. */
export async function historyOf(passes: Passes, shown: PassShown, node: number): Promise<HistoryRow[]> {
  const place = passes.placeOf(shown, node);
  const rows: HistoryRow[] = [];
  for (const { pass, step } of await passes.history(place.pass, place.node)) {
    const row = passes.rows[pass];
    const names = step.kind !== "carried"; // a pass that did nothing to the node is not read for its names
    const [before, after] = names ? await Promise.all([indexAfter(passes, row.before), indexAfter(passes, pass)]) : [];
    rows.push({
      pass,
      name: row.name,
      kind: step.kind,
      oldCount: step.old.length,
      newCount: step.new.length,
      old: before ? step.old.slice(0, MOST_NAMED).map((each) => nodeName(before, each)) : [],
      new: after ? step.new.slice(0, MOST_NAMED).map((each) => nodeName(after, each)) : [],
      changes: step.changes,
      ...(step.evidence ? { evidence: step.evidence } : {}),
      ...(step.rule ? { rule: step.rule } : {}),
      ...(step.place ? { place: step.place } : {}),
    });
  }
  return rows;
}

/** What a pass did: lists to read, with counts where they are cut. */
export async function passFacts(passes: Passes, pass: number): Promise<PassFacts | undefined> {
  const diff = await passes.diff(pass);
  const row = passes.rows[pass];
  if (!diff) return undefined;
  const [before, after] = await Promise.all([indexAfter(passes, row.before), indexAfter(passes, pass)]);
  const listed = (nodes: Int32Array, by: ProgramIndex): NodeName[] =>
    Array.from(nodes.subarray(0, MOST_LISTED), (node) => nodeName(by, node));
  return {
    pass,
    basis: diff.basis,
    entry: [entrySize(before), entrySize(after)],
    byModule: diff.byModule.map((each) => moduleRow(each, before, after)),
    byOp: opChanges(diff, before, after),
    added: listed(diff.added, after),
    addedCount: diff.added.length,
    removed: listed(diff.removed, before),
    removedCount: diff.removed.length,
    changed: listed(diff.changed, after).map((node) => ({
      ...node,
      fields: (diff.changes.get(node.node) ?? []).map(({ field }) => field),
    })),
    changedCount: diff.changed.length,
    movedCount: [...diff.changes.values()].filter((changes) => changes.some(({ field }) => MOVING.has(field))).length,
    fusions: fusionRows(diff, before, after),
    fusionCount: diff.fusions.new.length,
    ...rewriteRows(diff, before, after),
    ...replacedRows(diff, before, after),
  };
}

function entrySize({ program: { entry, graphStart } }: ProgramIndex): number {
  return graphStart[entry + 1] - graphStart[entry];
}

function moduleRow(changes: ModuleChanges, before: ProgramIndex, after: ProgramIndex): ModuleChangesRow {
  const { place, what, inside, removed } = changes;
  const node = firstAfter(changes);
  const first = node === undefined ? nodeName(before, removed[0]) : nodeName(after, node);
  return { place, what, inside, first, after: node !== undefined };
}

/** The first of the nodes that exist after the pass. */
function firstAfter({ added, changed }: ModuleChanges): number | undefined {
  return added[0] ?? changed[0];
}

/** The node of the shown program that its pass changed first, or -1. */
export async function firstChange(passes: Passes, { pass, mode, overlay }: PassShown): Promise<number> {
  const diff = await passes.diff(pass);
  const rows = diff?.byModule ?? [];
  const row = rows.find((each) => (firstAfter(each) !== undefined) === (mode !== "before")) ?? rows[0];
  if (!diff || !row) return -1;
  const after = firstAfter(row);
  if (after === undefined) return overlay ? overlay.before.indexOf(row.removed[0]) : mode === "before" ? row.removed[0] : -1;
  return overlay ? overlay.after.indexOf(after) : mode === "before" ? diff.counterpart[after] : after;
}

function opChanges(diff: PassDiff, before: ProgramIndex, after: ProgramIndex): OpChanges[] {
  const rows = new Map<string, { op: string; added: number; removed: number; changed: number }>();
  const count = (nodes: Int32Array, by: ProgramIndex, kind: "added" | "removed" | "changed") => {
    for (const node of nodes) {
      const op = by.op(node);
      const row = rows.get(op) ?? { op, added: 0, removed: 0, changed: 0 };
      row[kind]++;
      rows.set(op, row);
    }
  };
  for (const { added, removed, changed } of diff.byModule) {
    count(added, after, "added");
    count(removed, before, "removed");
    count(changed, after, "changed");
  }
  const total = ({ added, removed, changed }: OpChanges) => added + removed + changed;
  return [...rows.values()].sort((a, b) => total(b) - total(a));
}

/** Groups that the compiler reported, not those that comparing found, whose nodes are in the counts of the pass. */
function rewriteRows(diff: PassDiff, before: ProgramIndex, after: ProgramIndex): Pick<PassFacts, "rewrites" | "rewriteCount"> {
  const { old, new: results, evidence, rule } = diff.groups;
  const reported = rule.flatMap((_, i) => (evidence[i] <= LAST_COMPILER_EVIDENCE ? [i] : []));
  return {
    rewriteCount: reported.length,
    rewrites: reported.slice(0, MOST_LISTED).map((i) => {
      const to = results.value.subarray(results.start[i], results.start[i + 1]);
      // Of several that became one, the last is its counterpart, and the group has the others.
      const counterpart = to.length === 1 ? diff.counterpart[to[0]] : -1;
      const from = Int32Array.from([...old.value.subarray(old.start[i], old.start[i + 1]), ...(counterpart >= 0 ? [counterpart] : [])]);
      return { old: some(from, before), oldCount: from.length, new: some(to, after), newCount: to.length, rule: rule[i] };
    }),
  };
}

function some(nodes: Int32Array, by: ProgramIndex): NodeName[] {
  return Array.from(nodes.subarray(0, MOST_NAMED), (node) => nodeName(by, node));
}

/** What is in the place of nodes that are gone. */
function replacedRows(diff: PassDiff, before: ProgramIndex, after: ProgramIndex): Pick<PassFacts, "replaced" | "replacedCount"> {
  const { old, new: results, evidence } = diff.groups;
  const replaced = Array.from(evidence.keys()).filter((i) => isReplaced(diff, i));
  return {
    replacedCount: replaced.length,
    replaced: replaced.slice(0, MOST_LISTED).map((i) => {
      const from = old.value.subarray(old.start[i], old.start[i + 1]),
        to = results.value.subarray(results.start[i], results.start[i + 1]);
      const decided = EVIDENCE[evidence[i]] === "slot";
      return { old: some(from, before), oldCount: from.length, new: some(to, after), newCount: to.length, decided };
    }),
  };
}

function fusionRows(diff: PassDiff, before: ProgramIndex, after: ProgramIndex): PassFacts["fusions"] {
  const { old, new: fusions } = diff.fusions;
  return Array.from(fusions.subarray(0, MOST_LISTED), (node, i) => {
    const parts = old.value.subarray(old.start[i], old.start[i + 1]);
    return {
      node: nodeName(after, node),
      count: parts.length,
      parts: Array.from(parts.subarray(0, MOST_NAMED), (part) => nodeName(before, part)),
    };
  });
}

/** Passes of the module that changed what these shown nodes were before, or became. */
export async function touchingNodes(passes: Passes, shown: PassShown, nodes: readonly number[]): Promise<number[]> {
  const places = nodes.map((node) => passes.placeOf(shown, node));
  const at = places.reduce((latest, { pass }) => Math.max(latest, pass), -1);
  const start = places.filter(({ pass }) => pass === at).map(({ node }) => node);
  const found = (of: readonly number[]): Found => ({ nodes: new Set(of), concerned: new Set(of) });
  const touched: number[] = [];
  let diff: PassDiff | undefined;
  for (let pass = at, after = start; pass >= 0 && after.length; pass = passes.rows[pass].before) {
    diff = await passes.diff(pass);
    if (!diff) break;
    const before = sourcesOf(diff, after, Number.POSITIVE_INFINITY);
    if (touches(diff, found(before), found(after))) touched.unshift(pass);
    after = before;
  }
  let before = start;
  for (const pass of passes.following(at)) {
    diff = before.length ? await passes.diff(pass) : undefined;
    if (!diff) break;
    const after = resultsOf(diff, before, Number.POSITIVE_INFINITY);
    if (touches(diff, found(before), found(after))) touched.push(pass);
    before = after;
  }
  return touched;
}

/** A shown node by the names that it has after another pass. */
export async function namesIn(passes: Passes, shown: PassShown, node: number, to: number): Promise<NodeName[]> {
  const place = passes.placeOf(shown, node);
  const results = await passes.follow({ pass: place.pass, nodes: [place.node] }, to);
  const by = await indexAfter(passes, to);
  return results.slice(0, MOST_LISTED).map((each) => nodeName(by, each));
}
