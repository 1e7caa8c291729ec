/** Which rows of the module table and which boxes of the picture belong together. */
import { type Grouping, ROLES, type Visible } from "../../core/program/types";
import { depthOf } from "../../core/view/groups/grouping";
import type { ProgramIndex } from "../../core/program/programIndex";
import type { ModulePlace } from "./protocol";

/** `graph` is the one whose modules these are; all graphs if it is undefined. `groupOf` gives the group of `grouping` that a row describes, or -1. */
export class ModuleRows {
  private readonly rowOfGroup = new Map<number, number>();
  private nodes: Int32Array | undefined;

  constructor(
    private readonly index: ProgramIndex,
    private readonly grouping: Grouping,
    private readonly graph: number | undefined,
    rows: Int32Array,
    private readonly groupOf: (row: number) => number,
  ) {
    for (const row of rows) if (groupOf(row) >= 0) this.rowOfGroup.set(groupOf(row), row);
  }

  private get first(): number {
    return this.graph === undefined ? 0 : this.index.program.graphStart[this.graph];
  }

  private get end(): number {
    return this.graph === undefined ? this.index.program.nodeCount : this.index.program.graphStart[this.graph + 1];
  }

  /** Where a row appears in a picture that is grouped by `shown`. */
  place(row: number, shown: Grouping | undefined): ModulePlace | undefined {
    const group = this.groupOf(row);
    this.nodes ??= this.firstNodes();
    const node = group < 0 ? -1 : this.nodes[group];
    if (node < 0 || !shown) return undefined;
    const deeper = depthOf(shown, shown.nodeGroup[node]) - depthOf(this.grouping, this.grouping.nodeGroup[node]);
    return { node, level: depthOf(this.grouping, group) + Math.max(0, deeper) };
  }

  /** The row of the module that a box is, or else of the innermost one around it. */
  rowOf(visible: Visible, box: number, shown: Grouping | undefined): number {
    return box < 0 ? -1 : this.rowAt(visible.group[box], visible.node[box], shown);
  }

  /** The row of a group of the shown grouping, or of the module of a node, or else of the innermost one around it. */
  rowAt(group: number, node: number, shown: Grouping | undefined): number {
    if (!shown) return -1;
    for (let g = node >= 0 ? this.grouping.nodeGroup[node] : this.here(group, shown); g >= 0; g = this.grouping.groupParent[g]) {
      const row = this.rowOfGroup.get(g);
      if (row !== undefined) return row;
    }
    return -1;
  }

  /** The counterpart of a group of the shown grouping in ours: the same group, or the one as far above their first node. */
  private here(group: number, shown: Grouping): number {
    if (shown === this.grouping || group < 0) return group;
    for (let n = this.first; n < this.end; n++) {
      let above = 0,
        g = shown.nodeGroup[n];
      for (; g >= 0 && g !== group; g = shown.groupParent[g]) above++;
      if (g !== group) continue;
      let counterpart = this.grouping.nodeGroup[n];
      for (; above > 0 && counterpart >= 0; above--) counterpart = this.grouping.groupParent[counterpart];
      return counterpart;
    }
    return -1;
  }

  /** A node of each group (an operation, where it has one), or -1. */
  private firstNodes(): Int32Array {
    const { program } = this.index;
    const first = new Int32Array(this.grouping.groupCount).fill(-1);
    for (const isOp of [true, false]) {
      for (let n = this.first; n < this.end; n++) {
        if ((ROLES[program.nodeRole[n]] === "op") !== isOp) continue;
        for (let g = this.grouping.nodeGroup[n]; g >= 0 && first[g] < 0; g = this.grouping.groupParent[g]) first[g] = n;
      }
    }
    return first;
  }
}
