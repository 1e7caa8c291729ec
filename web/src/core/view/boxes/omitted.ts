/** Neighbours that a part of a graph omits: a small box at each place, with their number. */

import { BoxKind, EdgeKind } from "../../program/types";
import type { OmittedCounts } from "../edges/connect";
import type { Edges } from "../edges/edges";
import type { Placement } from "./placement";
import { plural } from "./texts";

export function showOmitted(placement: Placement, edges: Edges, omitted: OmittedCounts): void {
  const { boxes, instances } = placement;
  const root = instances[0];
  const before = new Map<number, number>();
  const after = new Map<number, number>();
  let total = 0;
  for (let n = root.first; n < root.first + root.count; n++) {
    const box = root.place(n);
    if (box < 0) continue;
    total += omitted.before[n] + omitted.after[n];
    if (omitted.before[n] > 0) before.set(box, (before.get(box) ?? 0) + omitted.before[n]);
    if (omitted.after[n] > 0) after.set(box, (after.get(box) ?? 0) + omitted.after[n]);
  }
  for (const [counts, side] of [
    [before, "in"],
    [after, "out"],
  ] as const) {
    for (const [box, count] of counts) {
      const more = boxes.add(BoxKind.Omitted, boxes.parent[box], `o:${side}:${boxes.key[box]}`, -1, -1);
      boxes.title[more] = `+${count} hidden`;
      const edge = side === "in" ? edges.add(EdgeKind.Data, more, box, -1, -1, 0) : edges.add(EdgeKind.Data, box, more, -1, -1, 0);
      edges.merged[edge] = count;
    }
  }
  if (total > 0) placement.remarks.push(`${plural(total, "neighbour")} not shown.`);
}
