/** Following nodes through passes: what they were before, what they are after, and what was told about it on the way. */
import type { ProgramData } from "../types";
import { EVIDENCE, type Change, type Evidence, type PassDiff } from "./types";

/** A frontier that grows beyond this is not a history any more. */
const MOST = 200;
/** Of so many nodes together it is told what they became, and not every change of one of them. */
const FRONTIER = 3;

export interface Step {
  readonly old: readonly number[];
  readonly new: readonly number[];
  readonly kind: "added" | "removed" | "changed" | "fused" | "became";
  readonly evidence?: Evidence;
  readonly rule?: string;
  readonly place?: string;
  readonly changes: readonly Change[];
}

/** What some nodes after a pass were before it. */
export function sourcesOf(diff: PassDiff, nodes: Iterable<number>): number[] {
  const found = new Set<number>();
  for (const node of nodes) {
    if (diff.counterpart[node] >= 0) found.add(diff.counterpart[node]);
    for (const old of partners(diff.groups.new, diff.groups.old, node)) found.add(old);
    diff.fusions.new.forEach((fusion, i) => {
      if (fusion === node)
        for (let at = diff.fusions.old.start[i]; at < diff.fusions.old.start[i + 1]; at++) found.add(diff.fusions.old.value[at]);
    });
  }
  return [...found].slice(0, MOST);
}

/** What some nodes before a pass became. */
export function resultsOf(diff: PassDiff, nodes: Iterable<number>): number[] {
  const found = new Set<number>();
  for (const node of nodes) {
    if (diff.back[node] >= 0) found.add(diff.back[node]);
    for (const made of partners(diff.groups.old, diff.groups.new, node)) found.add(made);
  }
  return [...found].slice(0, MOST);
}

/** What the pass did to some nodes (by their numbers before and after), or undefined if nothing. `after`: the program then, where the pass made fusions. */
export function stepOf(diff: PassDiff, old: readonly number[], made: readonly number[], after?: ProgramData): Step | undefined {
  if (old.length === 0) return made.length ? { old, new: made, kind: "added", changes: [] } : undefined;
  if (made.length === 0) return { old, new: made, kind: "removed", changes: [] };
  const fused = after && fusing(diff, old, made, after);
  if (fused) return fused;
  const all = old.length === 1 ? resultsOf(diff, old) : made;
  if (old.length === 1 && all.length > 1) return { old, new: all, kind: "became", ...told(diff, all), changes: changesOf(diff, made) };
  const touched = made.filter((node) => diff.changes.has(node) || diff.rule.has(node) || joins(diff, node));
  const went = old.filter((node) => resultsOf(diff, [node]).length === 0);
  if (touched.length === 0 && went.length === 0) return undefined;
  const changes = changesOf(diff, touched);
  const pairs = went.length === 0 && touched.every((node) => diff.counterpart[node] >= 0 && !joins(diff, node));
  if (!pairs)
    return {
      old: touched.length ? sourcesOf(diff, touched) : went,
      new: touched,
      kind: touched.length ? "became" : "removed",
      ...told(diff, touched),
      changes,
    };
  return made.length > FRONTIER
    ? undefined
    : { old: touched.map((node) => diff.counterpart[node]), new: touched, kind: "changed", ...told(diff, touched), changes };
}

/** Is it what several became? A copy of one old node is not: it is that node once more. */
function joins({ groups, counterpart }: PassDiff, node: number): boolean {
  for (let g = 0; g + 1 < groups.new.start.length; g++) {
    if (groups.old.start[g + 1] - groups.old.start[g] < 2 && EVIDENCE[groups.evidence[g]] !== "rewrite" && counterpart[node] < 0) continue;
    for (let i = groups.new.start[g]; i < groups.new.start[g + 1]; i++) if (groups.new.value[i] === node) return true;
  }
  return false;
}

/**
 * The fusions that these nodes are, or are in, now. A producer may be copied into many fusions: only those count where the nodes
 * themselves are, and of several it is told which of the old nodes went into them, and where else those are.
 */
function fusing(diff: PassDiff, old: readonly number[], made: readonly number[], after: ProgramData): Step | undefined {
  const { old: rows, new: fusions } = diff.fusions;
  const fusionOf = new Map<number, number>();
  fusions.forEach((fusion, i) => {
    for (let at = after.calls.start[fusion]; at < after.calls.start[fusion + 1]; at++) fusionOf.set(after.calls.value[at], i);
  });
  const itself = new Map(Array.from(fusions, (fusion, i) => [fusion, i]));
  const found = new Set<number>();
  const outside: number[] = [];
  for (const node of made) {
    const fusion = itself.get(node) ?? fusionOf.get(graphOf(after, node));
    if (fusion === undefined) outside.push(node);
    else found.add(fusion);
  }
  if (found.size === 0) return undefined;
  const members = new Set<number>();
  for (const i of found) for (let at = rows.start[i]; at < rows.start[i + 1]; at++) members.add(rows.value[at]);
  const stayed = outside.filter((node) => sourcesOf(diff, [node]).some((source) => members.has(source)));
  const now = [...stayed, ...[...found].sort((a, b) => a - b).map((i) => fusions[i])];
  return {
    old: now.length === 1 ? [...members] : old.filter((node) => members.has(node)),
    new: now,
    kind: "fused",
    ...told(diff, made),
    changes: changesOf(diff, made),
  };
}

function graphOf({ graphStart }: ProgramData, node: number): number {
  let low = 0,
    high = graphStart.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (graphStart[middle] <= node) low = middle;
    else high = middle;
  }
  return low;
}

function changesOf(diff: PassDiff, nodes: readonly number[]): Change[] {
  return nodes.flatMap((node) => diff.changes.get(node) ?? []);
}

function told(diff: PassDiff, nodes: readonly number[]): { evidence?: Evidence; rule?: string; place?: string } {
  for (const node of nodes) {
    const { start, value } = diff.groups.new;
    for (let g = 0; g + 1 < start.length; g++) {
      for (let i = start[g]; i < start[g + 1]; i++)
        if (value[i] === node) return withPlace(diff, EVIDENCE[diff.groups.evidence[g]], diff.groups.rule[g]);
    }
    if (diff.counterpart[node] >= 0) return withPlace(diff, EVIDENCE[diff.evidence[node]], diff.rule.get(node) ?? "");
  }
  return {};
}

function withPlace(diff: PassDiff, evidence: Evidence, rule: string): { evidence: Evidence; rule?: string; place?: string } {
  const place = diff.places[rule];
  return { evidence, ...(rule ? { rule } : {}), ...(place ? { place } : {}) };
}

interface Rows {
  readonly start: Int32Array;
  readonly value: Int32Array;
}

/** Everything in the rows of `there` that stand beside rows of `here` with the node in them. */
function partners(here: Rows, there: Rows, node: number): number[] {
  const found: number[] = [];
  for (let row = 0; row + 1 < here.start.length; row++) {
    for (let i = here.start[row]; i < here.start[row + 1]; i++) {
      if (here.value[i] === node) for (let at = there.start[row]; at < there.start[row + 1]; at++) found.push(there.value[at]);
    }
  }
  return found;
}
