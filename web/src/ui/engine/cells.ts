/** Groups and nodes of a graph as panels list them: their names, and which boxes of the picture they are. */
import { cellName } from "../../core/metrics/cellNames";
import { repeatsAt } from "../../core/metrics/values";
import type { ProgramIndex } from "../../core/program/programIndex";
import type { Grouping, Visible } from "../../core/program/types";
import { ModuleRows } from "./modules";
import type { CellPlace } from "./costProtocol";

export class Cells {
  private readonly rows: ModuleRows;

  constructor(
    readonly index: ProgramIndex,
    readonly grouping: Grouping,
  ) {
    const groups = Int32Array.from({ length: grouping.groupCount }, (_, g) => g);
    this.rows = new ModuleRows(index, grouping, undefined, groups, (row) => row);
  }

  /** What a cell is, and where it is in a picture that is grouped by `shown`; the graph itself has neither a group nor a node. */
  cell(group: number, node: number, shown: Grouping | undefined): CellPlace {
    const place = node >= 0 ? { node, level: 0 } : group < 0 ? undefined : this.rows.place(group, shown);
    return {
      ...(place ?? { node: -1, level: 0 }),
      key: keyOf(group, node),
      name: cellName(this.index, this.grouping, { group, node }),
      isGroup: node < 0,
    };
  }

  /** Keys of the cells that contain a node, the innermost first. */
  ofNode(node: number): string[] {
    return [keyOf(-1, node), ...this.ofGroup(this.grouping.nodeGroup[node])];
  }

  /** Keys of the cells that contain a box that is not a node's, for each of the repeats of a stack. */
  ofBox(visible: Visible, box: number, shown: Grouping | undefined): string[][] {
    const repeats = repeatsAt(this.index.program, visible, box);
    if (repeats.length === 0) return [this.ofGroup(this.rows.rowOf(visible, box, shown))];
    return repeats.map(({ group, node }) => (node >= 0 ? this.ofNode(node) : this.ofGroup(this.rows.rowAt(group, -1, shown))));
  }

  private ofGroup(group: number): string[] {
    return this.around(group).map((each) => keyOf(each, -1));
  }

  /** A group and those around it, from the inside out. */
  private around(group: number): number[] {
    const groups: number[] = [];
    for (let g = group; g >= 0; g = this.grouping.groupParent[g]) groups.push(g);
    return groups;
  }
}

/** The keys of a group, of a node, and of the whole graph. */
function keyOf(group: number, node: number): string {
  return node >= 0 ? `n${node}` : group >= 0 ? `g${group}` : "";
}

export function groupOf(key: string): number {
  return /^g\d{1,9}$/.test(key) ? Number(key.slice(1)) : -1;
}
