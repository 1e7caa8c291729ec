/** A query over all passes of a recording: which of them touched what it matches, and where that is to be found. */
import { indexOf } from "../program/programIndex";
import type { PassDiff, PassRow } from "../program/recording/types";
import { isArgument } from "../program/roles";
import type { ProgramData } from "../program/types";
import type { Query } from "./query";
import { runQuery } from "./search";

/** What a query finds in one program. */
export interface Found {
  readonly nodes: ReadonlySet<number>;
  /** The same with the users of arguments: passes do nothing to a parameter itself, but to what takes it. */
  readonly concerned: ReadonlySet<number>;
}

export function findIn(program: ProgramData, query: Query): Found {
  const nodes = new Set(runQuery(program, query).nodes);
  const concerned = new Set(nodes);
  const { users } = indexOf(program);
  for (const node of nodes) {
    if (!isArgument(program.nodeRole[node])) continue;
    for (let i = users.start[node]; i < users.start[node + 1]; i++) concerned.add(users.value[i]);
  }
  return { nodes, concerned };
}

/** Did a pass add, change or remove something that the query is about? */
export function touches({ byModule, groups }: PassDiff, before: Found, after: Found): boolean {
  const any = (nodes: Int32Array, among: ReadonlySet<number>) => nodes.some((node) => among.has(node));
  return (
    byModule.some(
      ({ added, changed, removed }) => any(added, after.concerned) || any(changed, after.concerned) || any(removed, before.concerned),
    ) || any(groups.old.value, before.nodes)
  );
}

/** What a query finds after a pass. */
export interface PassMatches {
  readonly pass: number;
  readonly touched: boolean;
  readonly count: number;
  /** The first few nodes that were not there before the pass. */
  readonly ids: readonly string[];
  /** Are there more of them? */
  readonly more: boolean;
}

const MOST_IDS = 8;

/** One row per pass. Asks for programs and diffs one by one; equal programs are searched once. */
export function searchPasses(
  rows: readonly Pick<PassRow, "before" | "content">[],
  query: Query,
  program: (pass: number) => ProgramData,
  diff: (pass: number) => PassDiff | undefined,
): PassMatches[] {
  const cache = new Map<number, { found: Found; ids: ReadonlySet<string> }>();
  const after = (pass: number): { found: Found; ids: ReadonlySet<string> } => {
    const { content } = rows[pass];
    const cached = cache.get(content);
    if (cached) return cached;
    const data = program(pass);
    const found = findIn(data, query);
    const answer = { found, ids: new Set(Array.from(found.nodes, (node) => indexOf(data).id(node))) };
    cache.set(content, answer);
    return answer;
  };
  return rows.map((row, pass) => {
    const { found, ids } = after(pass);
    const before = row.before >= 0 ? after(row.before) : undefined;
    const what = before && rows[row.before].content !== row.content ? diff(pass) : undefined;
    const fresh = [...ids].filter((id) => !before?.ids.has(id));
    const touched = !!what && touches(what, before!.found, found);
    return { pass, touched, count: found.nodes.size, ids: fresh.slice(0, MOST_IDS), more: fresh.length > MOST_IDS };
  });
}
