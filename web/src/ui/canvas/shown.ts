/** A view as the page holds it: the engine's answer, with its texts unpacked when they are read. */
import { EdgeKind } from "../../core/program/types";
import { type Scene, Shape } from "../../core/scene/types";
import { LabelColumns } from "../../core/scene/labelColumns";
import { findText, type PackedTexts, textAt, textCount } from "../../core/text/packedTexts";
import { NOTE_BREAK, type ViewResult } from "../engine/protocol";
import { type Drawable, ScenePainter } from "./scenePainter";
import { querySpatial } from "./spatial";
import type { Rect } from "../../core/base/camera";

/** Behaves like a list of texts, but slices each out of the packed text when it is read. */
function lazily<T>(packed: PackedTexts, read: (text: string) => T): readonly T[] {
  return new Proxy([] as T[], {
    get(target, name, receiver) {
      const index = typeof name === "string" ? Number(name) : Number.NaN;
      if (Number.isInteger(index)) return read(textAt(packed, index));
      return name === "length" ? textCount(packed) : Reflect.get(target, name, receiver);
    },
  });
}

const same = (text: string) => text;
const notes = (text: string) => (text === "" ? undefined : text.split(NOTE_BREAK));

/** Height of a frame's title line. */
const TITLE_ROOM = 30;

/** A box by its body, by the triangle that expands it, or (for a frame) by the empty space inside. */
export type Picked =
  | { readonly kind: "box"; readonly item: number; readonly part: "chevron" | "body" | "room" }
  | { readonly kind: "edge"; readonly edge: number };

export class Shown implements Drawable {
  readonly scene: Scene;
  readonly boxIndex;
  readonly edgeIndex;
  readonly painter: ScenePainter;
  private readonly items = new Map<string, number>();
  private readonly near = new Int32Array(4096);

  constructor(readonly result: ViewResult) {
    const { keys, titles, subtitles, noteTexts, labels, ...columns } = result.scene;
    this.scene = {
      ...columns,
      key: lazily(keys, same),
      title: lazily(titles, same),
      subtitle: lazily(subtitles, same),
      notes: lazily(noteTexts, notes),
      labels: new LabelColumns(labels),
    };
    this.boxIndex = result.boxIndex;
    this.edgeIndex = result.edgeIndex;
    this.painter = new ScenePainter(this);
  }

  get bounds(): Rect {
    return { x: 0, y: 0, w: this.scene.width, h: this.scene.height };
  }

  rect(item: number): Rect {
    const { x, y, w, h } = this.scene;
    return { x: x[item], y: y[item], w: w[item], h: h[item] };
  }

  /** Where the title of a box begins: its first text, or its corner. */
  titleAt(item: number): { readonly x: number; readonly y: number } {
    const run = this.painter.texts(item)[0];
    const { x, y } = this.scene;
    return run ? { x: run.x - (run.anchor === "middle" ? run.width / 2 : 0), y: run.y } : { x: x[item], y: y[item] };
  }

  /** Where the graph begins. */
  get first(): Rect | undefined {
    const { outline, open } = this.result;
    const leaf = outline.find((box) => open[box] === 0);
    return leaf === undefined ? undefined : this.rect(leaf);
  }

  /** Does a node have its own box, or that of its counterpart in the repeat that is drawn? */
  hasBoxFor(node: number): boolean {
    const { boxOfNode, node: nodeOf, folded } = this.result;
    const box = boxOfNode[node] ?? -1;
    return box >= 0 && (nodeOf[box] === node || (!folded[node] && !this.scene.expandable[this.scene.box[box]]));
  }

  keyOf(item: number): string {
    return this.scene.key[this.scene.box[item]];
  }

  /** The box with this key, or -1. Looked for in the text of all keys: a table of a million keys would block the page. */
  find(key: string): number {
    const item = this.items.get(key) ?? findText(this.result.scene.keys, key);
    this.items.set(key, item);
    return item;
  }

  /** Remembers a box number, which then needs no lookup. */
  remember(key: string, item: number): void {
    this.items.set(key, item);
  }

  /** Edges at an item; those of boxes inside an open frame are not included. */
  edgesOf(item: number): Int32Array {
    return this.result.incidentEdge.subarray(this.result.incidentStart[item], this.result.incidentStart[item + 1]);
  }

  /** The boxes that an edge joins, also where it is cut because they are in different columns. */
  endsOf(edge: number): { readonly source: number; readonly target: number } {
    const { scene, result } = this;
    const { source, target } = result.ends ?? {};
    const number = scene.edge[edge];
    return { source: source?.[number] ?? scene.edgeSource[edge], target: target?.[number] ?? scene.edgeTarget[edge] };
  }

  /** What is at a point: on a map its block, else the innermost box, else an edge within reach, else the enclosing frame. */
  pick(x: number, y: number, scale: number): Picked | undefined {
    const { scene } = this;
    const block = this.painter.blockAmong(this.framesAt(x, y), scale);
    if (block !== undefined) return { kind: "box", item: block, part: "body" };
    const count = querySpatial(this.boxIndex, x, y, x, y, this.near);
    let best = -1;
    for (let i = 0; i < count; i++) {
      const item = this.near[i];
      const leaf = scene.shape[item] !== Shape.Frame;
      if (best < 0 || leaf || scene.depth[item] > scene.depth[best]) best = item;
      if (leaf) break;
    }
    const onLeaf = best >= 0 && scene.shape[best] !== Shape.Frame;
    if (!onLeaf && !(best >= 0 && this.onTitle(best, x, y))) {
      const edge = this.pickEdge(x, y, 5 / scale);
      if (edge >= 0) return { kind: "edge", edge };
    }
    if (best < 0) return undefined;
    const part = this.onChevron(best, x, y) ? "chevron" : onLeaf || y < scene.y[best] + TITLE_ROOM ? "body" : "room";
    return { kind: "box", item: best, part };
  }

  /** Frames that contain a point, from the outside in. */
  framesAt(x: number, y: number): number[] {
    const count = querySpatial(this.boxIndex, x, y, x, y, this.near);
    const frames = [...this.near.subarray(0, count)].filter((item) => this.scene.shape[item] === Shape.Frame);
    return frames.sort((a, b) => this.scene.depth[a] - this.scene.depth[b]);
  }

  private onTitle(item: number, x: number, y: number): boolean {
    const runs = this.painter.texts(item);
    const last = runs.at(-1);
    return y < this.scene.y[item] + TITLE_ROOM && last !== undefined && x < last.x + last.width + 8;
  }

  /** The triangle before a group's name: a click on it expands or collapses the group. */
  private onChevron(item: number, x: number, y: number): boolean {
    const box = this.scene.box[item];
    if (!this.scene.expandable[box] && !this.result.open[box]) return false;
    const run = this.painter.texts(item)[0];
    return run !== undefined && x < run.x + run.width + 4 && x > run.x - 12 && Math.abs(y - run.y + 4) < 12;
  }

  private pickEdge(x: number, y: number, reach: number): number {
    const count = querySpatial(this.edgeIndex, x - reach, y - reach, x + reach, y + reach, this.near);
    let best = -1,
      nearest = reach;
    for (let i = 0; i < count; i++) {
      const away = this.distance(this.near[i], x, y);
      if (away < nearest) {
        nearest = away;
        best = this.near[i];
      }
    }
    return best;
  }

  /** The distance from a point to an edge's curve, by its chords. */
  private distance(edge: number, x: number, y: number): number {
    const { curve, curveStart } = this.scene;
    let least = Infinity;
    for (let p = curveStart[edge]; p + 3 < curveStart[edge + 1]; p += 3) {
      let px = curve[2 * p],
        py = curve[2 * p + 1];
      for (let step = 1; step <= 8; step++) {
        const t = step / 8,
          u = 1 - t;
        const qx =
          u * u * u * curve[2 * p] + 3 * u * u * t * curve[2 * p + 2] + 3 * u * t * t * curve[2 * p + 4] + t * t * t * curve[2 * p + 6];
        const qy =
          u * u * u * curve[2 * p + 1] + 3 * u * u * t * curve[2 * p + 3] + 3 * u * t * t * curve[2 * p + 5] + t * t * t * curve[2 * p + 7];
        least = Math.min(least, distanceToSegment(x, y, px, py, qx, qy));
        px = qx;
        py = qy;
      }
    }
    return least;
  }

  /** The neighbour that an arrow key leads to: along the flow by edges, across it by position. */
  neighbour(item: number, way: "forward" | "back" | "left" | "right"): number {
    const { scene } = this;
    if (way === "forward" || way === "back") {
      let best = -1;
      for (const edge of this.edgesOf(item)) {
        if (scene.edgeKind[edge] !== EdgeKind.Data) continue;
        const { source, target } = this.endsOf(edge);
        const [from, other] = way === "forward" ? [source, target] : [target, source];
        if (from !== item || other === item) continue;
        if (best < 0 || this.distanceBetween(item, other) < this.distanceBetween(item, best)) best = other;
      }
      return best >= 0 ? best : this.sibling(item, way);
    }
    const along = scene.direction === "TB";
    const cx = scene.x[item] + scene.w[item] / 2,
      cy = scene.y[item] + scene.h[item] / 2;
    const reach = 4000;
    const sign = way === "right" ? 1 : -1;
    const box = along
      ? [sign > 0 ? cx : cx - reach, scene.y[item], sign > 0 ? cx + reach : cx, scene.y[item] + scene.h[item]]
      : [scene.x[item], sign > 0 ? cy : cy - reach, scene.x[item] + scene.w[item], sign > 0 ? cy + reach : cy];
    const count = querySpatial(this.boxIndex, box[0], box[1], box[2], box[3], this.near);
    let best = -1;
    for (let i = 0; i < count; i++) {
      const other = this.near[i];
      if (other === item || scene.shape[other] === Shape.Frame) continue;
      const ahead = along ? scene.x[other] + scene.w[other] / 2 - cx : scene.y[other] + scene.h[other] / 2 - cy;
      if (ahead * sign <= 0) continue;
      if (best < 0 || this.distanceBetween(item, other) < this.distanceBetween(item, best)) best = other;
    }
    return best;
  }

  /** Where no edge continues: the first box inside an open group, else the next box of the same group. */
  private sibling(item: number, way: "forward" | "back"): number {
    const { outline, outlineDepth } = this.result;
    const row = outline.indexOf(item);
    if (way === "forward" && outlineDepth[row + 1] > outlineDepth[row]) return outline[row + 1];
    const step = way === "forward" ? 1 : -1;
    for (let i = row + step; i >= 0 && i < outline.length && outlineDepth[i] >= outlineDepth[row]; i += step)
      if (outlineDepth[i] === outlineDepth[row]) return outline[i];
    return -1;
  }

  private distanceBetween(a: number, b: number): number {
    const { x, y, w, h } = this.scene;
    return Math.abs(x[a] + w[a] / 2 - x[b] - w[b] / 2) + Math.abs(y[a] + h[a] / 2 - y[b] - h[b] / 2);
  }
}

function distanceToSegment(x: number, y: number, ax: number, ay: number, bx: number, by: number): number {
  const dx = bx - ax,
    dy = by - ay;
  const t = Math.max(0, Math.min(1, ((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy || 1)));
  return Math.hypot(x - ax - t * dx, y - ay - t * dy);
}
