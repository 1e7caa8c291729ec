/** What each graph computes again for the backward half, where a program recomputes what its forward half did not save. */
import { memoized } from "../../base/memoized";
import { calleesFirst } from "../../program/callees";
import { DIRECTION, groupingNamed, RECOMPUTED } from "../../program/names";
import { Forwards } from "../../program/ops";
import { Role } from "../../program/roles";
import type { Traits } from "../traits";

interface Recomputed {
  /** For each graph: how many operations, with those of the graphs that it calls. */
  readonly ops: Int32Array;
  isRecomputed(node: number): boolean;
}

export const recomputedIn = memoized((traits: Traits): Recomputed => {
  const { program, plumbing, small } = traits;
  const { calls, graphCount, graphStart, nodeRole, strings } = program;
  const ops = new Int32Array(graphCount);
  const direction = groupingNamed(program, DIRECTION);
  if (!direction) return { ops, isRecomputed: () => false };
  const { groupCount, groupName, groupParent, nodeGroup } = direction;
  const isMarked = new Uint8Array(groupCount);
  for (let g = 0; g < groupCount; g++)
    if (strings.at(groupName[g]) === RECOMPUTED || (groupParent[g] >= 0 && isMarked[groupParent[g]])) isMarked[g] = 1;
  const isRecomputed = (node: number): boolean => nodeGroup[node] >= 0 && isMarked[nodeGroup[node]] === 1;
  if (!isMarked.includes(1)) return { ops, isRecomputed };
  for (const graph of calleesFirst(program)) {
    for (let n = graphStart[graph]; n < graphStart[graph + 1]; n++) {
      if (isRecomputed(n)) {
        if (nodeRole[n] === Role.Op && plumbing.kind[n] === Forwards.Nothing && !small.is[n]) ops[graph]++;
      } else for (let c = calls.start[n]; c < calls.start[n + 1]; c++) ops[graph] += ops[calls.value[c]];
    }
  }
  return { ops, isRecomputed };
});
