/**
 * A graph from far away is a map. A group that is too small to look into, or that has no groups inside, is one solid block with its
 * name, in the colours of the boxes inside it, each colour as wide as its share; edges are not drawn. Boxes outside of groups remain specks.
 */
import type { Camera } from "../../core/base/camera";
import { between } from "../../core/base/colour";
import { memoized } from "../../core/base/memoized";
import { type Occupied, Places } from "../../core/base/occupied";
import { CATEGORIES } from "../../core/program/types";
import { frameStyle } from "../../core/scene/style";
import type { Theme } from "../../core/scene/theme";
import { PAINT_SAME, type Scene, Shape } from "../../core/scene/types";
import type { Context } from "./canvasPainter";

/** Below this scale a graph is a map. */
export const MAP = 0.08;
/** A group of fewer square pixels on the screen is not looked into, nor one in which no name has room. */
const LOOK_INTO = 16_000;
const NARROW = 48;

/** A border around a block of fewer pixels would hide its colours. */
const LEAST_BORDERED = 6;
/** Rows of `Theme.paints`; the colours that people chose come after them. */
const PAINTS = PAINT_SAME + 1;
/** Between the fill of a colour and its border: strong enough to be seen in an area, pale enough for a name on it. */
const STRENGTH = 0.45;

/** What is inside the frames of a scene; the same for every frame that is painted. */
export class Contents {
  /** Frames that contain other frames. */
  readonly nests: Uint8Array;
  /** The frames of each box: one in every column that it continues in. */
  private readonly columns = new Map<number, number[]>();
  private readonly colours: number;
  /** The number of a frame's row in `counts`, or -1. */
  private readonly row: Int32Array;
  /** How many boxes of each colour a frame contains. */
  private readonly counts: Float32Array;

  constructor(private readonly scene: Scene) {
    const { boxCount, frameCount, order, parent, shape } = scene;
    this.colours = PAINTS + scene.customs.length;
    this.nests = new Uint8Array(boxCount);
    this.row = new Int32Array(boxCount).fill(-1);
    this.counts = new Float32Array(frameCount * this.colours);
    for (let i = 0; i < frameCount; i++) {
      this.row[order[i]] = i;
      if (parent[order[i]] >= 0) this.nests[parent[order[i]]] = 1;
      const others = this.columns.get(scene.box[order[i]]);
      if (others) others.push(order[i]);
      else this.columns.set(scene.box[order[i]], [order[i]]);
    }
    for (let item = 0; item < boxCount; item++) if (shape[item] !== Shape.Frame && parent[item] >= 0) this.add(item, parent[item]);
    // From the inside out, each frame's contents belong to the frame around it too.
    for (let i = frameCount - 1; i >= 0; i--) {
      const around = parent[order[i]];
      if (around < 0) continue;
      const [from, to] = [i * this.colours, this.row[around] * this.colours];
      for (let colour = 0; colour < this.colours; colour++) this.counts[to + colour] += this.counts[from + colour];
    }
  }

  /** A collapsed group counts as what is inside it. */
  private add(item: number, frame: number): void {
    const { scene, counts } = this;
    const at = this.row[frame] * this.colours;
    const mix = scene.custom[item] < 0 ? scene.mixRow[scene.box[item]] : -1;
    if (mix < 0) counts[at + colourOf(scene, item)]++;
    else
      for (let category = 0; category < CATEGORIES.length; category++)
        counts[at + category] += scene.mixShares[mix * CATEGORIES.length + category];
  }

  /** Is there something to see inside, at this scale? A group in several columns is looked into in all of them or in none: most decide. */
  isOpen(frame: number, scale: number): boolean {
    const { scene, columns, nests } = this;
    const frames = columns.get(scene.box[frame]) ?? [frame];
    const large = frames.filter((each) => nests[each] && isLarge(scene.w[each] * scale, scene.h[each] * scale));
    return nests[frame] === 1 && 2 * large.length > frames.length;
  }

  /** Frames that contain any of these boxes. */
  withAny(marked: Uint8Array): ReadonlySet<number> {
    const { parent } = this.scene;
    const frames = new Set<number>();
    for (let item = 0; item < marked.length; item++) {
      if (marked[item]) for (let frame = parent[item]; frame >= 0 && !frames.has(frame); frame = parent[frame]) frames.add(frame);
    }
    return frames;
  }

  /** The colours inside a frame with their shares of it, the largest first. */
  shares(frame: number): readonly { readonly colour: number; readonly share: number }[] {
    const at = this.row[frame] * this.colours;
    const counts = Array.from(this.counts.subarray(at, at + this.colours), (count, colour) => ({ count, colour })).filter(
      ({ count }) => count > 0,
    );
    const whole = counts.reduce((sum, { count }) => sum + count, 0);
    return counts.sort((a, b) => b.count - a.count).map(({ count, colour }) => ({ colour, share: count / whole }));
  }
}

/** The colour of a box: a row of `Theme.paints`, or a custom colour after those. */
function colourOf(scene: Scene, item: number): number {
  return scene.custom[item] < 0 ? scene.paint[item] : PAINTS + scene.custom[item];
}

/** Which of these frames (from the outside in) are blocks, and what of the graph is not inside one. */
export function blocksOf(contents: Contents, scene: Scene, scale: number, frames: readonly number[], leaves: readonly number[]): Blocks {
  const covered = new Set<number>();
  const blocks: number[] = [];
  const open: number[] = [];
  for (const frame of frames) {
    if (covered.has(scene.parent[frame])) covered.add(frame);
    else if (contents.isOpen(frame, scale)) open.push(frame);
    else {
      covered.add(frame);
      blocks.push(frame);
    }
  }
  return { blocks, open, rest: covered.size ? leaves.filter((item) => !covered.has(scene.parent[item])) : leaves };
}

function isLarge(width: number, height: number): boolean {
  return width * height >= LOOK_INTO && Math.min(width, height) >= NARROW;
}

/** One block of every group: of a group that continues in further columns, the one in the middle has the name. */
export function namedBlocks(scene: Scene, blocks: readonly number[]): number[] {
  const columns = new Map<number, number[]>();
  for (const item of blocks) {
    const others = columns.get(scene.box[item]);
    if (others) others.push(item);
    else columns.set(scene.box[item], [item]);
  }
  return Array.from(columns.values(), (items) => {
    items.sort((a, b) => scene.x[a] - scene.x[b] || scene.y[a] - scene.y[b]);
    return items[items.length >> 1];
  });
}

/** Where blocks are on the screen; those of a group that continues in further columns have one owner. */
export function placesOf(scene: Scene, blocks: readonly number[], { x, y, scale }: Camera): Places {
  const places = new Places();
  for (const item of blocks)
    places.add((scene.x[item] - x) * scale, (scene.y[item] - y) * scale, scene.w[item] * scale, scene.h[item] * scale, scene.box[item]);
  return places;
}

/** What names on a map keep clear of: other names, and blocks. */
export interface Taken {
  readonly names: Occupied;
  readonly blocks: () => Places;
  /** Names that are beside a block. */
  readonly aside: Set<string>;
}

export interface Blocks {
  readonly blocks: readonly number[];
  /** Frames that are drawn as such. */
  readonly open: readonly number[];
  /** Boxes outside of blocks. */
  readonly rest: readonly number[];
}

/** A block: its colours side by side. */
export function paintBlock(context: Context, theme: Theme, scene: Scene, contents: Contents, frame: number, scale: number): void {
  const [x, y, w, h] = [scene.x[frame], scene.y[frame], scene.w[frame], scene.h[frame]];
  const { stroke } = frameStyle(scene, theme, frame);
  let left = x;
  for (const { colour, share } of contents.shares(frame)) {
    context.fillStyle = blockColours(theme)[colour] ?? scene.customs[colour - PAINTS].fill?.[theme.name] ?? theme.paints[0].fill;
    context.fillRect(left, y, share * w, h);
    left += share * w;
  }
  if (Math.min(w, h) * scale < LEAST_BORDERED) return;
  context.strokeStyle = stroke;
  context.lineWidth = 1 / scale;
  context.strokeRect(x, y, w, h);
}

const blockColours = memoized((theme: Theme): readonly string[] => theme.paints.map(({ fill, stroke }) => between(fill, stroke, STRENGTH)));
