/** What the page asks about passes: what one pass did, the history of a node, and where it is after another pass. */
import type { PassDiff } from "../../core/program/recording/types";
import type { ProgramData } from "../../core/program/types";
import { memoized } from "../../core/base/memoized";
import { Lookup } from "./nodeLookup";
import type { Passes, PassShown } from "./passes";
import type { HistoryRow, PassFacts } from "./passProtocol";
import type { NodeName } from "./protocol";

const MOST_LISTED = 60;
const MOST_NAMED = 12;
/** The first two kinds of evidence, "rewrite" and "identity", come from the compiler. */
const LAST_COMPILER_EVIDENCE = 1;

const lookupOf = memoized((program: ProgramData) => new Lookup(program));

async function names(passes: Passes, pass: number): Promise<Lookup> {
  const { program } = await passes.program(pass);
  return lookupOf(program);
}

/** What passes did to a node, in order. */
export async function historyOf(passes: Passes, shown: PassShown, node: number): Promise<HistoryRow[]> {
  const place = passes.placeOf(shown, node);
  const rows: HistoryRow[] = [];
  for (const { pass, step } of await passes.history(place.pass, place.node)) {
    const row = passes.rows[pass];
    const [before, after] = await Promise.all([names(passes, row.before), names(passes, pass)]);
    rows.push({
      pass,
      name: row.name,
      kind: step.kind,
      oldCount: step.old.length,
      newCount: step.new.length,
      old: step.old.slice(0, MOST_NAMED).map((each) => before.name(each)),
      new: step.new.slice(0, MOST_NAMED).map((each) => after.name(each)),
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
  const [before, after] = await Promise.all([names(passes, row.before), names(passes, pass)]);
  const listed = (nodes: Int32Array, by: Lookup): NodeName[] => Array.from(nodes.subarray(0, MOST_LISTED), (node) => by.name(node));
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
function rewriteRows(diff: PassDiff, before: Lookup, after: Lookup): Pick<PassFacts, "rewrites" | "rewriteCount"> {
  const { old, new: results, evidence, rule } = diff.groups;
  const reported = rule.flatMap((_, i) => (evidence[i] <= LAST_COMPILER_EVIDENCE ? [i] : []));
  const some = (nodes: Int32Array, by: Lookup) => Array.from(nodes.subarray(0, MOST_NAMED), (node) => by.name(node));
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

function fusionRows(diff: PassDiff, before: Lookup, after: Lookup): PassFacts["fusions"] {
  const { old, new: fusions } = diff.fusions;
  return Array.from(fusions.subarray(0, MOST_LISTED), (node, i) => {
    const parts = old.value.subarray(old.start[i], old.start[i + 1]);
    return { node: after.name(node), count: parts.length, parts: Array.from(parts.subarray(0, MOST_NAMED), (part) => before.name(part)) };
  });
}

/** A shown node by the names that it has after another pass. */
export async function namesIn(passes: Passes, shown: PassShown, node: number, to: number): Promise<NodeName[]> {
  const place = passes.placeOf(shown, node);
  const results = await passes.follow({ pass: place.pass, nodes: [place.node] }, to);
  const by = await names(passes, to);
  return results.slice(0, MOST_LISTED).map((each) => by.name(each));
}
