/** Boxes and edges with their final places: the layout as it is, or broken into columns (wrap.ts). The input of `buildScene`. */
import { upTo } from "../base/arrays";
import type { CompoundLayout } from "../layout/types";
import type { Visible } from "../program/types";
import { type LabelColumns, NO_LABELS } from "./labelColumns";

export interface Placed {
  readonly width: number;
  readonly height: number;
  /** Box items: the view's boxes by number, then further items of frames that continue in another column. */
  readonly box: Int32Array;
  readonly parent: Int32Array;
  readonly x: Float64Array;
  readonly y: Float64Array;
  readonly w: Float64Array;
  readonly h: Float64Array;
  /** Edge items: the view's edge, and the box items that it joins (-1: it ends at a label). */
  readonly edge: Int32Array;
  readonly edgeSource: Int32Array;
  readonly edgeTarget: Int32Array;
  readonly points: Float64Array;
  readonly pointStart: Int32Array;
  readonly labels: LabelColumns;
}

/** The layout as it is. */
export function unwrapped(visible: Visible, layout: CompoundLayout): Placed {
  return {
    width: layout.width,
    height: layout.height,
    box: upTo(visible.boxCount),
    parent: visible.parent,
    x: layout.x,
    y: layout.y,
    w: layout.w,
    h: layout.h,
    edge: upTo(visible.edgeCount),
    edgeSource: visible.edgeSource,
    edgeTarget: visible.edgeTarget,
    points: layout.points,
    pointStart: layout.pointStart,
    labels: NO_LABELS,
  };
}

/** The depth of each box. Parents may come before or after their children. */
export function depths(parent: Int32Array): Int32Array {
  const depth = new Int32Array(parent.length).fill(-1);
  const trail: number[] = [];
  for (let start = 0; start < parent.length; start++) {
    let box = start;
    while (box >= 0 && depth[box] < 0) {
      trail.push(box);
      box = parent[box];
    }
    let level = box < 0 ? 0 : depth[box] + 1;
    while (trail.length) depth[trail.pop()!] = level++;
  }
  return depth;
}
