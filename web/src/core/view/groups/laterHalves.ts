import { BACKWARD, DIRECTION, groupingNamed, RECOMPUTED, UPDATE } from "../../program/names";
import type { ProgramData } from "../../program/types";

/** Is a node of the backward half or of the update? Both read every weight again. */
export function laterHalves(program: ProgramData): (node: number) => boolean {
  const direction = groupingNamed(program, DIRECTION);
  if (!direction) return () => false;
  const isLater = Uint8Array.from(direction.groupName, (name) =>
    [RECOMPUTED, BACKWARD, UPDATE].includes(program.strings.at(name)) ? 1 : 0,
  );
  for (let g = 0; g < direction.groupCount; g++) if (direction.groupParent[g] >= 0 && isLater[direction.groupParent[g]]) isLater[g] = 1;
  return (node) => direction.nodeGroup[node] >= 0 && isLater[direction.nodeGroup[node]] === 1;
}
