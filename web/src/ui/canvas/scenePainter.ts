/**
 * A scene on a canvas: only what the camera sees, and only the detail that can be seen at this size. The same code paints the
 * screen and, in the worker, pictures of parts with too much for one frame.
 */
import { boxTexts, paintBody, paintBox, paintEdge, paintFrame, paintLabel, paintSign, paintTitle } from "../../core/scene/painter";
import { KINDS } from "../../core/scene/labelColumns";
import { boxStyle, edgeColour, frameStyle } from "../../core/scene/style";
import type { Theme } from "../../core/scene/theme";
import { type Scene, type SceneLabel, Shape, type TextRun } from "../../core/scene/types";
import type { Camera } from "../../core/base/camera";
import { between } from "../../core/base/colour";
import { memoized, once } from "../../core/base/memoized";
import { Occupied } from "../../core/base/occupied";
import { CanvasPainter, type Context, LEGIBLE } from "./canvasPainter";
import { blocksOf, Contents, MAP, namedBlocks, paintBlock, placesOf, type Taken } from "./map";
import {
  blockNameSize,
  fontOf,
  frameNameSize,
  type Name,
  nameIn,
  NAMES_ONLY,
  nameSize,
  NAME_MARGIN,
  type NameSizes,
  nameSizes,
} from "./names";
import { paintRegionNames } from "./regionNames";
import { querySpatial, type SpatialData } from "./spatial";

/** A scene with the indexes that painting and picking need. */
export interface Drawable {
  readonly scene: Scene;
  readonly boxIndex: SpatialData;
  readonly edgeIndex: SpatialData;
}

export interface Sight {
  readonly camera: Camera;
  /** CSS pixels. */
  readonly width: number;
  readonly height: number;
  /** Device pixels per CSS pixel. */
  readonly ratio: number;
}

/** What stands out and what is dimmed, by the number of the item or edge in the scene. */
export interface Emphasis {
  /** 0: dimmed. */
  readonly lit: Uint8Array;
  /** 0: dimmed, 1: stands out, 2: as usual. */
  readonly litEdge: Uint8Array;
}

/** Below these scales: square corners and no arrow heads; no borders, and edges without their bends. */
export const PLAIN = 0.26;
export const COARSE = 0.11;
const DIMMED = 0.24;
const MOST_CACHED_TEXTS = 20_000;
/** Among more boxes than this nobody reads a title that a line crosses. */
const MOST_TITLED = 4000;

export class ScenePainter {
  private readonly visibleBoxes: Int32Array;
  private readonly visibleEdges: Int32Array;
  private readonly runs = new Map<number, readonly TextRun[]>();
  private sizes: NameSizes | undefined;
  private contents: Contents | undefined;

  constructor(readonly drawable: Drawable) {
    this.visibleBoxes = new Int32Array(drawable.scene.boxCount);
    this.visibleEdges = new Int32Array(drawable.scene.edgeCount);
  }

  /** Are more boxes and edges visible than this? Painting costs as much as there are. Counting ends there: it is done for every frame. */
  shows({ camera, width, height }: Sight, most: number): boolean {
    const x1 = camera.x + width / camera.scale,
      y1 = camera.y + height / camera.scale;
    const visible = (index: SpatialData, room: Int32Array) => querySpatial(index, camera.x, camera.y, x1, y1, room.subarray(0, most + 1));
    const boxes = visible(this.drawable.boxIndex, this.visibleBoxes);
    return boxes > most || boxes + visible(this.drawable.edgeIndex, this.visibleEdges) > most;
  }

  paint(context: Context, theme: Theme, sight: Sight, emphasis?: Emphasis): void {
    const { scene, boxIndex, edgeIndex } = this.drawable;
    const { camera } = sight;
    const margin = 12 / camera.scale;
    const x0 = camera.x - margin,
      y0 = camera.y - margin;
    const x1 = camera.x + sight.width / camera.scale + margin,
      y1 = camera.y + sight.height / camera.scale + margin;
    const boxes = this.visibleBoxes.subarray(0, querySpatial(boxIndex, x0, y0, x1, y1, this.visibleBoxes));
    const edges = this.visibleEdges.subarray(0, querySpatial(edgeIndex, x0, y0, x1, y1, this.visibleEdges));
    setCamera(context, sight);
    this.items(context, theme, sight, scene, boxes, edges, emphasis, 1);
    this.labels(context, theme, sight, () => true);
  }

  /** The labels of edges that can be seen. */
  private labels(context: Context, theme: Theme, { camera, width, height }: Sight, wanted: (kind: SceneLabel["kind"]) => boolean): void {
    if (camera.scale < NAMES_ONLY) return;
    const { scene } = this.drawable;
    const margin = 12 / camera.scale;
    const x1 = camera.x + width / camera.scale + margin,
      y1 = camera.y + height / camera.scale + margin;
    const painter = new CanvasPainter(context, camera.scale);
    const { x, y, kind } = scene.labels.columns;
    for (let i = 0; i < x.length; i++) {
      const isSeen = x[i] >= camera.x - margin && x[i] <= x1 && y[i] >= camera.y - margin && y[i] <= y1;
      if (isSeen && wanted(KINDS[kind[i]])) paintLabel(scene, theme, i, painter);
    }
  }

  /** Paints these boxes and edges of a scene: this painter's scene, or a copy with its boxes moved (an animation). */
  items(
    context: Context,
    theme: Theme,
    sight: Sight,
    scene: Scene,
    boxes: ArrayLike<number> & Iterable<number>,
    edges: Int32Array,
    emphasis: Emphasis | undefined,
    edgeOpacity: number,
    opacity?: (item: number) => number,
  ): void {
    const { scale } = sight.camera;
    const painter = new CanvasPainter(context, scale);
    painter.plain = scale < PLAIN;
    const frames: number[] = [];
    const leaves: number[] = [];
    for (const item of boxes) (scene.shape[item] === Shape.Frame ? frames : leaves).push(item);
    frames.sort((a, b) => scene.depth[a] - scene.depth[b]);
    if (scale < MAP) {
      this.map(context, theme, sight, scene, frames, leaves, emphasis, opacity);
      return;
    }
    for (const item of frames) {
      context.globalAlpha = opacity ? opacity(item) : 1;
      paintFrame(scene, theme, item, painter);
    }
    if (edgeOpacity > 0) this.edges(context, theme, scale, edges, painter, emphasis, edgeOpacity);
    const near = scale >= NAMES_ONLY;
    const moved = scene !== this.drawable.scene;
    const occupied = new Occupied();
    const names = near ? [] : this.frameNames(scene, frames, sight, occupied);
    if (scale < COARSE) specks(context, theme, scene, leaves, emphasis, 1.25 / (scale * sight.ratio));
    else {
      for (const item of leaves) {
        context.globalAlpha = (opacity ? opacity(item) : 1) * (emphasis && emphasis.lit[item] === 0 ? DIMMED : 1);
        if (near) paintBox(scene, theme, item, painter, moved ? undefined : this.texts(item));
        else {
          paintBody(scene, theme, item, painter);
          this.boxName(context, theme, scene, item, sight, occupied);
        }
      }
    }
    for (const item of near ? frames : []) {
      context.globalAlpha = opacity ? opacity(item) : 1;
      paintTitle(scene, theme, item, painter, moved ? undefined : this.texts(item));
    }
    for (const name of names) {
      context.globalAlpha = opacity ? opacity(name.item) : 1;
      paintFrameName(context, theme, scene, name, sight);
    }
    context.globalAlpha = 1;
  }

  /** The graph from far away. */
  private map(
    context: Context,
    theme: Theme,
    sight: Sight,
    scene: Scene,
    frames: readonly number[],
    leaves: readonly number[],
    emphasis: Emphasis | undefined,
    opacity?: (item: number) => number,
  ): void {
    const { scale } = sight.camera;
    this.contents ??= new Contents(this.drawable.scene);
    const { blocks, open, rest } = blocksOf(this.contents, scene, scale, frames, leaves);
    const painter = new CanvasPainter(context, scale);
    painter.plain = true;
    for (const item of open) {
      context.globalAlpha = opacity ? opacity(item) : 1;
      paintFrame(scene, theme, item, painter);
    }
    specks(context, theme, scene, rest, emphasis, 1.25 / (scale * sight.ratio));
    const lit = emphasis && this.contents.withAny(emphasis.lit);
    for (const item of blocks) {
      context.globalAlpha = (opacity ? opacity(item) : 1) * (lit && !lit.has(item) ? DIMMED : 1);
      paintBlock(context, theme, scene, this.contents, item, scale);
    }
    const taken: Taken = { names: new Occupied(), blocks: once(() => placesOf(scene, blocks, sight.camera)), aside: new Set() };
    const names = [
      ...namedBlocks(scene, blocks).map((item) => this.blockName(scene, item, sight, taken)),
      ...this.frameNames(scene, open, sight, taken.names),
    ];
    for (const name of names) {
      if (!name) continue;
      context.globalAlpha = opacity ? opacity(name.item) : 1;
      paintFrameName(context, theme, scene, name, sight);
    }
    paintRegionNames(context, theme, scene, sight, taken.names);
    setCamera(context, sight);
    context.globalAlpha = 1;
  }

  /** Which of these frames, from the outside in, is a block of the map at this scale. */
  blockAmong(frames: readonly number[], scale: number): number | undefined {
    if (scale >= MAP) return undefined;
    this.contents ??= new Contents(this.drawable.scene);
    return blocksOf(this.contents, this.drawable.scene, scale, frames, []).blocks[0];
  }

  /**
   * The name of a block on a map is in its middle, upright in one that is too narrow for it, else beside it: never over another block. Of
   * a group that continues in further columns, it may be over those. Of blocks with one name, one has it `aside`.
   */
  private blockName(scene: Scene, item: number, sight: Sight, { names, blocks, aside }: Taken): FrameName | undefined {
    const { x, y, scale } = sight.camera;
    const width = scene.w[item] * scale,
      height = scene.h[item] * scale;
    const size = blockNameSize(height);
    const whole = size ? nameIn(this.texts(item), size, Number.POSITIVE_INFINITY) : undefined;
    if (!whole) return undefined;
    const line = size * 1.3;
    const [middle, centre] = [(scene.x[item] - x) * scale + width / 2, (scene.y[item] - y) * scale + height / 2];
    const put = (name: Name, left: number, upright = false) => {
      const top = upright ? centre - name.width / 2 : centre - line / 2 + 1;
      const [w, h] = upright ? [line, name.width] : [name.width, line];
      return names.take(left - 2, top - 1, w + 4, h + 2) ? { item, name, size, left, top, upright } : undefined;
    };
    const isClear = (left: number) =>
      left >= 0 &&
      left + whole.width <= sight.width &&
      !blocks().meets(left - 2, centre - line / 2, whole.width + 4, line, scene.box[item]);
    if (whole.width + 8 <= width || isClear(middle - whole.width / 2)) return put(whole, middle - whole.width / 2);
    if (line <= width && whole.width + 8 <= height) return put(whole, middle - line / 2, true);
    const away = width / 2 + 4;
    const beside = aside.has(whole.text) ? undefined : [middle + away, middle - away - whole.width].find(isClear);
    const name = beside === undefined ? undefined : put(whole, beside);
    if (name) aside.add(whole.text);
    return name;
  }

  /** When zoomed out, a box shows only its name, unless a frame's name is there. */
  private boxName(context: Context, theme: Theme, scene: Scene, item: number, { camera }: Sight, occupied: Occupied): void {
    const { scale } = camera;
    this.sizes ??= nameSizes(this.drawable.scene, (each) => this.texts(each));
    const size = nameSize(this.sizes, scene.shape[item], scale);
    if (size * scale < LEGIBLE) return;
    const name = nameIn(this.texts(item), size, scene.w[item] - 2 * NAME_MARGIN);
    if (!name) return;
    const left = scene.x[item] + (scene.w[item] - name.width) / 2,
      middle = scene.y[item] + scene.h[item] / 2;
    if (occupied.meets((left - camera.x) * scale, (middle - size / 2 - camera.y) * scale, name.width * scale, size * scale)) return;
    const { text, accent } = boxStyle(scene, theme, item);
    paintName(context, name, size, left, middle + size * 0.35, text, accent);
  }

  /** When zoomed out, a frame shows its name at a fixed size on the screen, if it is large enough and no other name is there. */
  private frameName(scene: Scene, item: number, { camera: { x, y, scale } }: Sight, occupied: Occupied): FrameName | undefined {
    const width = scene.w[item] * scale,
      height = scene.h[item] * scale;
    if (width < 34 || height < 22) return undefined;
    const size = frameNameSize(scale);
    const name = nameIn(this.texts(item), size, width - 8);
    if (!name) return undefined;
    const [left, top] = [(scene.x[item] - x) * scale + 4, (scene.y[item] - y) * scale + 2];
    return occupied.take(left - 2, top - 1, name.width + 4, size * 1.3) ? { item, name, size, left, top, upright: false } : undefined;
  }

  /** Titles of frames above lines that have just crossed them. */
  private titlesAgain(context: Context, theme: Theme, sight: Sight): void {
    const { scene, boxIndex } = this.drawable;
    const { x, y, scale } = sight.camera;
    if (scale < MAP) return;
    const room = this.visibleBoxes.subarray(0, MOST_TITLED);
    const count = querySpatial(boxIndex, x, y, x + sight.width / scale, y + sight.height / scale, room);
    if (count === MOST_TITLED) return;
    const frames = [...room.subarray(0, count)]
      .filter((item) => scene.shape[item] === Shape.Frame)
      .sort((a, b) => scene.depth[a] - scene.depth[b]);
    // A painter of its own: that of the highlight draws thicker lines and no small text, and remembers the font that it has set.
    const painter = new CanvasPainter(context, scale);
    if (scale >= NAMES_ONLY) for (const item of frames) paintTitle(scene, theme, item, painter, this.texts(item));
    else for (const name of this.frameNames(scene, frames, sight, new Occupied())) paintFrameName(context, theme, scene, name, sight);
  }

  private frameNames(scene: Scene, frames: readonly number[], sight: Sight, occupied: Occupied): FrameName[] {
    return frames.map((item) => this.frameName(scene, item, sight, occupied)).filter((name) => name !== undefined);
  }

  /** Draws these edges and box borders again in the colour of the selection, above everything but texts. */
  highlight(context: Context, theme: Theme, sight: Sight, items: Iterable<number>, edges: Iterable<number>, strong: boolean): void {
    setCamera(context, sight);
    const { scale } = sight.camera;
    const { scene } = this.drawable;
    const painter = new CanvasPainter(context, strong ? scale / 2 : scale / 1.5);
    const accented: Theme = { ...theme, edge: theme.selection, faintEdge: theme.selection };
    for (const edge of edges) paintEdge(scene, accented, edge, painter);
    painter.flush();
    this.titlesAgain(context, theme, sight);
    this.labels(context, theme, sight, (kind) => kind !== "operand"); // what the lines have just crossed
    for (const item of items) {
      context.strokeStyle = theme.selection;
      context.globalAlpha = strong ? 0.18 : 0.1;
      context.lineWidth = (strong ? 7 : 5) / Math.max(0.5, scale);
      outline(context, scene, item, 0, scale);
      context.globalAlpha = 1;
      context.lineWidth = Math.max(strong ? 2 : 1.4, (strong ? 2 : 1.4) / scale);
      outline(context, scene, item, 0, scale);
      paintSign(scene, theme, item, painter); // what the border has just crossed
    }
  }

  /** Dashed rings around what a search matches; dots where boxes are too small for rings. */
  matches(context: Context, theme: Theme, sight: Sight, items: Iterable<number>): void {
    setCamera(context, sight);
    const { camera, width, height } = sight;
    const { scale } = camera;
    const { scene } = this.drawable;
    const { x, y, w, h } = scene;
    const x1 = camera.x + width / scale,
      y1 = camera.y + height / scale;
    const speck = 4 / scale;
    context.strokeStyle = context.fillStyle = theme.match;
    context.lineWidth = Math.max(2.2, 1.6 / scale);
    context.setLineDash([6 / scale, 3 / scale]);
    for (const item of items) {
      if (x[item] > x1 || y[item] > y1 || x[item] + w[item] < camera.x || y[item] + h[item] < camera.y) continue;
      if (h[item] * scale < 6) context.fillRect(x[item] + w[item] / 2 - speck / 2, y[item] + h[item] / 2 - speck / 2, speck, speck);
      else outline(context, scene, item, 2.5, scale);
    }
    context.setLineDash([]);
  }

  /** The texts of an item, cached because the next frame needs them again. */
  texts(item: number): readonly TextRun[] {
    let runs = this.runs.get(item);
    if (!runs) {
      if (this.runs.size >= MOST_CACHED_TEXTS) this.runs.clear();
      runs = boxTexts(this.drawable.scene, item);
      this.runs.set(item, runs);
    }
    return runs;
  }

  private edges(
    context: Context,
    theme: Theme,
    scale: number,
    edges: Int32Array,
    painter: CanvasPainter,
    emphasis: Emphasis | undefined,
    opacity: number,
  ): void {
    const { scene } = this.drawable;
    const accented: Theme = { ...theme, edge: theme.selection, faintEdge: theme.selection };
    const coarse = scale < COARSE;
    for (const pass of emphasis ? [0, 2, 1] : [2]) {
      context.globalAlpha = opacity * (pass === 0 ? DIMMED : coarse ? farOpacity(scale, edges.length) : 1);
      const colours = pass === 1 ? accented : theme;
      for (const edge of edges) {
        if (emphasis && emphasis.litEdge[edge] !== pass) continue;
        if (coarse)
          painter.curve(
            ...straightened(scene, edge),
            (pass === 1 ? undefined : edgeColour(scene, theme, edge)) ?? colours.edge,
            1,
            "solid",
          );
        else paintEdge(scene, colours, edge, painter);
      }
      painter.flush();
    }
    context.globalAlpha = 1;
  }
}

/** A frame's name and its place in screen pixels. */
interface FrameName {
  readonly item: number;
  readonly name: Name;
  readonly size: number;
  readonly left: number;
  readonly top: number;
  /** Read from below upwards. */
  readonly upright: boolean;
}

/** Drawn in screen pixels: letters thousands of units high that are scaled down again would be misplaced. */
function paintFrameName(
  context: Context,
  theme: Theme,
  scene: Scene,
  { item, name, size, left, top, upright }: FrameName,
  sight: Sight,
): void {
  const { fill, secondary, accent } = frameStyle(scene, theme, item);
  const { ratio } = sight;
  if (upright) context.setTransform(0, -ratio, ratio, 0, left * ratio, (top + name.width) * ratio);
  else context.setTransform(ratio, 0, 0, ratio, left * ratio, top * ratio);
  context.fillStyle = fill;
  context.globalAlpha *= 0.82;
  context.fillRect(-2, -1, name.width + 4, size * 1.3);
  context.globalAlpha /= 0.82;
  paintName(context, name, size, 0, size, secondary, accent);
  setCamera(context, sight);
}

function paintName(context: Context, name: Name, size: number, left: number, baseline: number, colour: string, accent: string): void {
  context.font = fontOf(size, name.bold);
  context.fillStyle = colour;
  context.fillText(name.text, left, baseline);
  if (!name.times) return;
  context.font = fontOf(size, true);
  context.fillStyle = accent;
  context.fillText(name.times, left + name.timesAt, baseline);
}

const line = new Float64Array(8);

/** An edge as one straight line from start to end, for when its bends are smaller than a pixel. */
function straightened(scene: Scene, edge: number): [Float64Array, number, number] {
  const { curve, curveStart } = scene;
  const first = curveStart[edge],
    last = curveStart[edge + 1] - 1;
  if (last - first > 6) return [curve, first, last + 1];
  line[0] = line[2] = curve[2 * first];
  line[1] = line[3] = curve[2 * first + 1];
  line[4] = line[6] = curve[2 * last];
  line[5] = line[7] = curve[2 * last + 1];
  return [line, 0, 4];
}

/** Boxes too small for borders, in their category's colour, stronger than its fill, so that the structure of the graph shows. */
function specks(
  context: Context,
  theme: Theme,
  scene: Scene,
  leaves: readonly number[],
  emphasis: Emphasis | undefined,
  least: number,
): void {
  const colours = speckColours(theme);
  let current = -1;
  context.globalAlpha = 1;
  for (const item of leaves) {
    if (emphasis) context.globalAlpha = emphasis.lit[item] === 0 ? DIMMED : 1;
    if (scene.custom[item] >= 0) {
      context.fillStyle = boxStyle(scene, theme, item).fill;
      current = -1;
    } else if (scene.paint[item] !== current) {
      current = scene.paint[item];
      context.fillStyle = colours[current];
    }
    context.fillRect(scene.x[item], scene.y[item], Math.max(scene.w[item], least), Math.max(scene.h[item], least));
  }
  context.globalAlpha = 1;
}

function outline(context: Context, scene: Scene, item: number, out: number, scale: number): void {
  const shape = scene.shape[item];
  const x = scene.x[item] - out,
    y = scene.y[item] - out,
    w = scene.w[item] + 2 * out,
    h = scene.h[item] + 2 * out;
  context.beginPath();
  if (scale < COARSE) context.rect(x, y, w, h);
  else context.roundRect(x, y, w, h, (shape === Shape.Pill ? h / 2 : shape === Shape.Frame ? 10 : 6) + out / 2);
  context.stroke();
}

export function setCamera(context: Context, { camera, ratio }: Sight): void {
  const scale = camera.scale * ratio;
  context.setTransform(scale, 0, 0, scale, -camera.x * scale, -camera.y * scale);
}

export function clear(context: Context, colour: string, width: number, height: number): void {
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.globalAlpha = 1;
  context.fillStyle = colour;
  context.fillRect(0, 0, width, height);
}

/** Very many lines on a small screen would merge into solid grey. */
function farOpacity(scale: number, edges: number): number {
  return Math.max(0.16, Math.min(0.9, (800 / (edges + 1)) * (0.4 + scale / COARSE)));
}

const speckColours = memoized((theme: Theme): readonly string[] => theme.paints.map(({ fill, stroke }) => between(fill, stroke, 0.7)));
