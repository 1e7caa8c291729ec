/** Follows nodes through passes: what they were before, what they are after, and how that is known. */
import { memoized } from "../../base/memoized";
import type { Csr } from "../types";
import { EVIDENCE, type Change, type Evidence, type PassDiff, type PassRow } from "./types";

/** More nodes than this are no longer a history. */
const MOST = 200;
/** For more nodes than this, only what they became is reported, not every change of one of them. */
const FRONTIER = 3;

export interface Step {
  readonly old: readonly number[];
  readonly new: readonly number[];
  readonly kind: StepKind;
  readonly evidence?: Evidence;
  readonly rule?: string;
  readonly place?: string;
  readonly changes: readonly Change[];
}

/** "carried": the pass did nothing to the node; the link through it has its evidence all the same, without naming nodes. */
export type StepKind = "added" | "removed" | "changed" | "fused" | "became" | "undecided" | "carried";

export interface PassStep {
  readonly pass: number;
  readonly step: Step;
}

/**
 * Everything that passes did to a node, from its origin to what became of it. Asks for the diff of one pass after the other (undefined:
 * it changed nothing), because a page has to fetch it while Python already has it.
 */
export function* historyOf(
  rows: readonly Pick<PassRow, "before" | "module">[],
  pass: number,
  node: number,
): Generator<number, PassStep[], PassDiff | undefined> {
  const past: PassStep[] = [];
  let nodes = [node];
  for (let at = pass; nodes.length && rows[at].before >= 0; at = rows[at].before) {
    const diff = yield at;
    if (!diff) continue;
    const old = sourcesOf(diff, nodes);
    const step = stepOf(diff, old, nodes) ?? carried(diff, nodes);
    if (step) past.push({ pass: at, step });
    nodes = old;
  }
  const future: PassStep[] = [];
  nodes = [node];
  for (let at = pass + 1; at < rows.length && nodes.length; at++) {
    if (rows[at].module !== rows[pass].module || rows[at].before < 0) continue;
    const diff = yield at;
    if (!diff) continue;
    const results = resultsOf(diff, nodes);
    const step = stepOf(diff, nodes, results) ?? carried(diff, results);
    if (step) future.push({ pass: at, step });
    nodes = results;
  }
  return [...past.reverse(), ...future];
}

/** What some nodes after a pass were before it. */
export function sourcesOf(diff: PassDiff, nodes: Iterable<number>, most = MOST): number[] {
  const { groupsOfNew, fusionOf } = diffIndexOf(diff);
  const sources = new Set<number>();
  for (const node of nodes) {
    if (diff.counterpart[node] >= 0) sources.add(diff.counterpart[node]);
    for (const group of groupsOfNew.get(node) ?? [])
      if (isDecided(diff, group)) for (const old of row(diff.groups.old, group)) sources.add(old);
    const fusion = fusionOf.get(node);
    if (fusion !== undefined) for (const old of row(diff.fusions.old, fusion)) sources.add(old);
  }
  return [...sources].slice(0, most);
}

/** What some nodes before a pass became. */
export function resultsOf(diff: PassDiff, nodes: Iterable<number>, most = MOST): number[] {
  const { groupsOfOld } = diffIndexOf(diff);
  const results = new Set<number>();
  for (const node of nodes) {
    if (diff.back[node] >= 0) results.add(diff.back[node]);
    for (const group of groupsOfOld.get(node) ?? [])
      if (isDecided(diff, group)) for (const result of row(diff.groups.new, group)) results.add(result);
  }
  return [...results].slice(0, most);
}

/** What the pass did to some nodes (by their numbers before and after), or undefined if nothing. */
export function stepOf(diff: PassDiff, old: readonly number[], now: readonly number[]): Step | undefined {
  if (old.length === 0) return now.length ? (undecided(diff, "old", now) ?? { old, new: now, kind: "added", changes: [] }) : undefined;
  if (now.length === 0) return undecided(diff, "new", old) ?? { old, new: now, kind: "removed", changes: [] };
  const fused = fusing(diff, old, now);
  if (fused) return fused;
  const all = old.length === 1 ? resultsOf(diff, old) : now;
  if (old.length === 1 && all.length > 1)
    return { old, new: all, kind: "became", ...evidenceFor(diff, all), changes: changesOf(diff, now) };
  const touched = now.filter((node) => diff.changes.has(node) || diff.rule.has(node) || joins(diff, node) || isRenamed(diff, node));
  const went = old.filter((node) => resultsOf(diff, [node]).length === 0);
  if (touched.length === 0 && went.length === 0) return undefined;
  const changes = changesOf(diff, touched);
  const pairs = went.length === 0 && touched.every((node) => diff.counterpart[node] >= 0 && !joins(diff, node));
  if (!pairs)
    return {
      old: touched.length ? sourcesOf(diff, touched) : went,
      new: touched,
      kind: touched.length ? "became" : "removed",
      ...evidenceFor(diff, touched),
      changes,
    };
  return now.length > FRONTIER
    ? undefined
    : {
        old: touched.map((node) => diff.counterpart[node]),
        new: touched,
        kind: changes.length || touched.some((node) => diff.rule.has(node)) ? "changed" : "became",
        ...evidenceFor(diff, touched),
        changes,
      };
}

/** The link through a pass that did nothing to some nodes, which its weakest evidence describes. */
function carried(diff: PassDiff, nodes: readonly number[]): Step | undefined {
  const evidence = weakest(diff, nodes);
  return evidence && { old: [], new: [], kind: "carried", evidence, changes: [] };
}

/** Nodes without a counterpart, of which the candidates are known: those before (`old`) of nodes after, or those after of nodes before. */
function undecided(diff: PassDiff, side: "old" | "new", nodes: readonly number[]): Step | undefined {
  const { groupsOfOld, groupsOfNew } = diffIndexOf(diff);
  const groups = side === "old" ? groupsOfNew : groupsOfOld;
  const candidates = [...new Set(nodes.flatMap((node) => (groups.get(node) ?? []).flatMap((group) => [...row(diff.groups[side], group)])))];
  if (candidates.length === 0) return undefined;
  const [old, now] = side === "old" ? [candidates, nodes] : [nodes, candidates];
  return { old, new: now, kind: "undecided", evidence: "undecided", changes: [] };
}

/** Does a group say what became of its nodes, and not only name candidates? */
export const isDecided = ({ groups }: PassDiff, group: number): boolean => EVIDENCE[groups.evidence[group]] !== "undecided";

/** Does a group say what is in the place of nodes that are gone? */
export const isReplaced = ({ groups }: PassDiff, group: number): boolean =>
  EVIDENCE[groups.evidence[group]] === "slot" || EVIDENCE[groups.evidence[group]] === "undecided";

/** Was a node recognized although its name is another? The link is a step of its history, because it can be wrong. */
function isRenamed(diff: PassDiff, node: number): boolean {
  return diff.byName && diff.counterpart[node] >= 0 && diff.evidence[node] > EVIDENCE.indexOf("name");
}

/** Did several nodes become this one? A copy of one old node does not count: it is that node again. */
function joins(diff: PassDiff, node: number): boolean {
  const { groups, counterpart } = diff;
  return (diffIndexOf(diff).groupsOfNew.get(node) ?? []).some(
    (g) =>
      isDecided(diff, g) &&
      (groups.old.start[g + 1] - groups.old.start[g] >= 2 ||
        EVIDENCE[groups.evidence[g]] === "rewrite" ||
        EVIDENCE[groups.evidence[g]] === "slot" ||
        counterpart[node] >= 0),
  );
}

/**
 * The fusions that these nodes are, or are in, now. A producer may be copied into many fusions: only those with the nodes themselves
 * count; for several, which of the old nodes went into them, and where else those are.
 */
function fusing(diff: PassDiff, old: readonly number[], now: readonly number[]): Step | undefined {
  const { old: rows, new: fusions } = diff.fusions;
  const { fusionOf, bodies } = diffIndexOf(diff);
  const inside = new Set<number>();
  const outside: number[] = [];
  for (const node of now) {
    const fusion = fusionOf.get(node) ?? bodies.at(node);
    if (fusion === undefined) outside.push(node);
    else inside.add(fusion);
  }
  if (inside.size === 0) return undefined;
  const members = new Set<number>();
  for (const fusion of inside) for (const member of row(rows, fusion)) members.add(member);
  const stayed = outside.filter((node) => sourcesOf(diff, [node]).some((source) => members.has(source)));
  const results = [...stayed, ...[...inside].sort((a, b) => a - b).map((fusion) => fusions[fusion])];
  return {
    old: results.length === 1 ? [...members] : old.filter((node) => members.has(node)),
    new: results,
    kind: "fused",
    evidence: weakest(diff, inBodies(diff, inside, members)),
    ...evidenceFor(diff, now),
    changes: changesOf(diff, now),
  };
}

/** The nodes in the bodies of fusions that some old nodes became: a new fusion has no counterpart, and its evidence is theirs. */
function inBodies(diff: PassDiff, fusions: Iterable<number>, members: ReadonlySet<number>): number[] {
  const { bodies } = diffIndexOf(diff);
  return [...fusions].flatMap((fusion) =>
    bodies.nodesOf(fusion).filter((node) => sourcesOf(diff, [node]).some((source) => members.has(source))),
  );
}

/** The least certain evidence of the links of some nodes. */
function weakest(diff: PassDiff, nodes: readonly number[]): Evidence | undefined {
  const { groupsOfNew } = diffIndexOf(diff);
  let least = -1;
  for (const node of nodes) {
    if (diff.counterpart[node] >= 0) least = Math.max(least, diff.evidence[node]);
    for (const group of groupsOfNew.get(node) ?? []) if (isDecided(diff, group)) least = Math.max(least, diff.groups.evidence[group]);
  }
  return EVIDENCE[least];
}

function changesOf(diff: PassDiff, nodes: readonly number[]): Change[] {
  return nodes.flatMap((node) => diff.changes.get(node) ?? []);
}

function evidenceFor(diff: PassDiff, nodes: readonly number[]): { evidence?: Evidence; rule?: string; place?: string } {
  const { groupsOfNew } = diffIndexOf(diff);
  for (const node of nodes) {
    const group = groupsOfNew.get(node)?.find((each) => isDecided(diff, each));
    if (group !== undefined) return withPlace(diff, EVIDENCE[diff.groups.evidence[group]], diff.groups.rule[group]);
    if (diff.counterpart[node] >= 0) return withPlace(diff, EVIDENCE[diff.evidence[node]], diff.rule.get(node) ?? "");
  }
  return {};
}

function withPlace(diff: PassDiff, evidence: Evidence, rule: string): { evidence: Evidence; rule?: string; place?: string } {
  const place = diff.places[rule];
  return { evidence, ...(rule ? { rule } : {}), ...(place ? { place } : {}) };
}

/** Where nodes are in a diff. */
interface DiffIndex {
  readonly groupsOfOld: ReadonlyMap<number, readonly number[]>;
  readonly groupsOfNew: ReadonlyMap<number, readonly number[]>;
  /** The fusion that a node is. */
  readonly fusionOf: ReadonlyMap<number, number>;
  readonly bodies: Bodies;
}

const diffIndexOf = memoized(
  (diff: PassDiff): DiffIndex => ({
    groupsOfOld: rowsWith(diff.groups.old),
    groupsOfNew: rowsWith(diff.groups.new),
    fusionOf: new Map(Array.from(diff.fusions.new, (node, fusion) => [node, fusion])),
    bodies: new Bodies(diff.fusions.bodies),
  }),
);

/** The rows that contain each number. */
function rowsWith(rows: Csr): Map<number, number[]> {
  const rowsOf = new Map<number, number[]>();
  for (let r = 0; r + 1 < rows.start.length; r++) {
    for (const value of row(rows, r)) {
      const list = rowsOf.get(value);
      if (list) list.push(r);
      else rowsOf.set(value, [r]);
    }
  }
  return rowsOf;
}

/** The graphs that fusions call, as ranges of nodes. */
class Bodies {
  private readonly ranges: readonly { readonly first: number; readonly last: number; readonly fusion: number }[];

  constructor(private readonly bodies: Csr) {
    const ranges: { first: number; last: number; fusion: number }[] = [];
    for (let fusion = 0; fusion + 1 < bodies.start.length; fusion++) {
      const ends = row(bodies, fusion);
      for (let i = 0; i < ends.length; i += 2) ranges.push({ first: ends[i], last: ends[i + 1], fusion });
    }
    this.ranges = ranges.sort((a, b) => a.first - b.first);
  }

  /** The nodes in the body of a fusion. */
  nodesOf(fusion: number): number[] {
    const ends = row(this.bodies, fusion);
    const nodes: number[] = [];
    for (let i = 0; i < ends.length; i += 2) for (let node = ends[i]; node < ends[i + 1]; node++) nodes.push(node);
    return nodes;
  }

  /** The fusion whose body a node is in. */
  at(node: number): number | undefined {
    let low = 0,
      high = this.ranges.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.ranges[middle].first <= node) low = middle + 1;
      else high = middle;
    }
    const range = this.ranges[low - 1];
    return range && node < range.last ? range.fusion : undefined;
  }
}

const row = ({ start, value }: Csr, at: number): Int32Array => value.subarray(start[at], start[at + 1]);
