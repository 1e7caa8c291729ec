/** What the page asks about passes: what one pass did, the history of a node, and where it is after another pass. */
import type { PassDiff } from "../../core/program/recording/types";
import { indexOf, type ProgramIndex } from "../../core/program/programIndex";
import type { Passes, PassShown } from "./passes";
import type { HistoryRow, PassFacts } from "./passProtocol";
import type { NodeName } from "./protocol";
import { nodeName } from "./names";

const MOST_LISTED = 60;
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
    const [before, after] = await Promise.all([indexAfter(passes, row.before), indexAfter(passes, pass)]);
    rows.push({
      pass,
      name: row.name,
      kind: step.kind,
      oldCount: step.old.length,
      newCount: step.new.length,
      old: step.old.slice(0, MOST_NAMED).map((each) => nodeName(before, each)),
      new: step.new.slice(0, MOST_NAMED).map((each) => nodeName(after, each)),
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
    added: listed(diff.added, after),
    addedCount: diff.added.length,
    removed: listed(diff.removed, before),
    removedCount: diff.removed.length,
    changed: listed(diff.changed, after).map((node) => ({
      ...node,
      fields: (diff.changes.get(node.node) ?? []).map(({ field }) => field),
    })),
    changedCount: diff.changed.length,
    fusions: fusionRows(diff, before, after),
    fusionCount: diff.fusions.new.length,
    ...rewriteRows(diff, before, after),
  };
}

/** Groups that the compiler reported, not those that comparing found, whose nodes are in the counts of the pass. */
function rewriteRows(diff: PassDiff, before: ProgramIndex, after: ProgramIndex): Pick<PassFacts, "rewrites" | "rewriteCount"> {
  const { old, new: results, evidence, rule } = diff.groups;
  const reported = rule.flatMap((_, i) => (evidence[i] <= LAST_COMPILER_EVIDENCE ? [i] : []));
  const some = (nodes: Int32Array, by: ProgramIndex) => Array.from(nodes.subarray(0, MOST_NAMED), (node) => nodeName(by, node));
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

/** A shown node by the names that it has after another pass. */
export async function namesIn(passes: Passes, shown: PassShown, node: number, to: number): Promise<NodeName[]> {
  const place = passes.placeOf(shown, node);
  const results = await passes.follow({ pass: place.pass, nodes: [place.node] }, to);
  const by = await indexAfter(passes, to);
  return results.slice(0, MOST_LISTED).map((each) => nodeName(by, each));
}
