/** From the picture of one pass to the next: what stays keeps its order and glides, what changed has its colour. */
import type { CompoundLayout } from "../../core/layout/types";
import { countMarks, MARK_NAMES, markPaints } from "../../core/program/recording/marks";
import { PAINT_ADDED, PAINT_CHANGED, PAINT_REMOVED, PAINT_SAME } from "../../core/scene/types";
import type { Visible } from "../../core/program/types";
import type { PassShown } from "./passes";
import type { Colouring } from "./colours";

interface Drawn {
  readonly visible: Visible;
  readonly layout: CompoundLayout;
  readonly scene: { readonly direction: "TB" | "LR" };
}

/** Places across the flow, which a next layout in the same direction goes on from. */
export function placesAcross({ layout, scene }: Pick<Drawn, "layout" | "scene">, box: Int32Array): Float64Array {
  const across = scene.direction === "LR" ? layout.y : layout.x;
  return Float64Array.from(box, (old) => (old < 0 ? Number.NaN : across[old]));
}

/** For the boxes of the next view. */
export interface Stayed {
  /** The box before that each is, or -1. */
  readonly box: Int32Array;
  /** Where that is now which had this key before, or undefined. */
  locate(key: string): number | undefined;
}

export interface Kept {
  boxes(visible: Visible): Stayed | undefined;
}

/** What a new view can keep of an old one. `mates`: for each new node the old one that it is. */
export function keptFrom({ visible: was }: Drawn, mates: Int32Array | undefined): Kept | undefined {
  if (!mates) return undefined;
  return {
    boxes: (now) => {
      const byKey = new Map(was.key.map((key, box) => [key, box]));
      const box = Int32Array.from(now.key, (key, b) => {
        const node = now.node[b];
        const mate = node >= 0 && now.boxOfNode[node] === b ? mates[node] : -1;
        const old = mate >= 0 ? was.boxOfNode[mate] : -1;
        return old >= 0 && was.node[old] === mate ? old : node >= 0 && mate < 0 ? -1 : (byKey.get(key) ?? -1);
      });
      return {
        box,
        locate: (key) => {
          const node = was.node[byKey.get(key) ?? -1] ?? -1;
          const found = node < 0 ? -1 : mates.indexOf(node);
          return found < 0 || now.boxOfNode[found] < 0 ? undefined : now.boxOfNode[found];
        },
      };
    },
  };
}

const ROWS = [PAINT_SAME, PAINT_ADDED, PAINT_REMOVED, PAINT_CHANGED];

/** Colours of what a pass did, with a legend that counts; undefined where it did nothing. */
export function changeColours(visible: Visible, { marks }: PassShown): (Colouring & { readonly marks: Uint8Array }) | undefined {
  if (!marks) return undefined;
  const counts = countMarks(marks);
  if (counts[0] === marks.length) return undefined;
  const paints = markPaints(visible, marks);
  const legend = [1, 2, 3, 0]
    .filter((mark) => counts[mark] > 0)
    .map((mark) => ({ text: `${MARK_NAMES[mark]} (${counts[mark].toLocaleString("en-US")})`, paint: ROWS[mark] }));
  return { paints, legend, marks: Uint8Array.from(paints, (paint) => Math.max(0, ROWS.indexOf(paint))) };
}
