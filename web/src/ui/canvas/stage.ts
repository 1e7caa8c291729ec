/**
 * The canvas: holds the camera, paints only when something changed, and turns gestures into requests. Parts with more
 * than one frame can paint come as pictures from the worker; until one arrives, the last one is stretched.
 */
import type { Theme } from "../../core/scene/theme";
import {
  between,
  type Camera,
  centred,
  clampScale,
  ease,
  fit,
  panBy,
  type Place,
  type Rect,
  roomIn,
  type Size,
  sameSight,
  zoomAt,
} from "../../core/base/camera";
import { fitWhole, initialCamera } from "../../core/view/initial/camera";
import { listen } from "./gestures";
import { freeCorner, type MapCorner, type MapPlace, mapAt } from "./mapCorner";
import { MOTION_MS, type Motion, motionBetween } from "./motion";
import { drawPicture, type Picture, sharp, withMargin } from "./parts";
import { clear, type Emphasis, setCamera, type Sight } from "./scenePainter";
import type { Picked, Shown } from "./shown";

/** A point of the screen, in CSS pixels. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface StageEvents {
  hover(picked: Picked | undefined, x: number, y: number): void;
  click(picked: Picked | undefined, event: { readonly add: boolean; readonly double: boolean; readonly deep: boolean }): void;
  /** The secondary button, or a long press. */
  menu(picked: Picked | undefined, x: number, y: number): void;
  moved(): void;
  leavesWheel(event: WheelEvent): boolean;
  picture(sight: Sight): Promise<ImageBitmap>;
  /** Called when drawing becomes unfinished (1) and when it is finished again (-1). */
  busy(change: 1 | -1): void;
}

/** Boxes and edges that one frame can paint; more come as a picture. */
const MOST_PER_FRAME = 3600;
const CAMERA_MS = 260;

/** A title keeps this distance from the edges of the screen. */
const TITLE_MARGIN = 16;
/** This part of a group that was opened, or of the screen, is visible. */
const LEAST_VISIBLE = 0.5;

interface Flight {
  readonly from: Camera;
  readonly to: Camera;
  readonly start: number;
}

export class Stage {
  camera: Camera = { x: 0, y: 0, scale: 1 };
  width = 1;
  height = 1;
  shown: Shown | undefined;
  theme: Theme;
  emphasis: Emphasis | undefined;
  selected: readonly number[] = [];
  chosenEdge = -1;
  hovered: Picked | undefined;
  hits: Int32Array = new Int32Array(0);
  /** What is to fit into the screen; by default the picture. */
  extent: Rect | undefined;
  /** How often the camera has been moved; not by another room for the same picture. */
  moves = 0;
  /** The system asks for reduced motion. */
  still = false;

  private readonly context: CanvasRenderingContext2D;
  private frame = 0;
  private flight: Flight | undefined;
  /** How the camera was chosen, until somebody moves it: it is chosen again when panels, hints or the legend change the room. */
  private aim: (() => Camera) | undefined;
  /** Chosen with the camera of a new picture; it stays while one moves about in it. */
  private mapCorner: MapCorner = "lower right";
  /** How far hints reach into the picture from its upper left corner. */
  private hint: Size = { width: 0, height: 0 };
  private motion: { readonly what: Motion; readonly start: number; readonly from: Shown; readonly was: Camera } | undefined;
  private whole: Picture | undefined;
  private near: Picture | undefined;
  private asking = false;
  private readonly stop: (() => void)[] = [];

  constructor(
    readonly canvas: HTMLCanvasElement,
    theme: Theme,
    private readonly events: StageEvents,
  ) {
    this.theme = theme;
    this.context = canvas.getContext("2d", { alpha: false })!;
    // It is told after the frame's other callbacks: a picture of the old size would be seen stretched.
    const observer = new ResizeObserver(() => {
      if (this.resize()) this.paint(performance.now());
    });
    observer.observe(canvas);
    this.stop.push(() => observer.disconnect());
    this.stop.push(
      listen(canvas, {
        pan: (dx, dy) => this.moveTo(panBy(this.camera, dx, dy)),
        zoom: (x, y, factor) => this.moveTo(zoomAt(this.flight?.to ?? this.camera, x, y, factor)),
        hover: (x, y) => this.point(x, y),
        leave: () => this.setHovered(undefined, 0, 0),
        click: (x, y, event) => events.click(this.pick(x, y), event),
        menu: (x, y) => events.menu(this.pick(x, y), x, y),
        rest: () => events.moved(),
        leavesWheel: (event) => events.leavesWheel(event),
      }),
    );
    if (this.resize()) this.draw();
  }

  dispose(): void {
    for (const stop of this.stop) stop();
    if (this.frame) cancelAnimationFrame(this.frame);
    this.whole?.bitmap.close();
    this.near?.bitmap.close();
  }

  get sight(): Sight {
    return { camera: this.camera, width: this.width, height: this.height, ratio: this.ratio };
  }

  /** Where the map of the whole is (minimap.tsx), unless the whole is in sight. */
  get map(): MapPlace | undefined {
    if (!this.shown) return undefined;
    const { w, h } = this.shown.bounds;
    const { scale } = this.camera;
    if (w * scale <= this.width && h * scale <= this.height) return undefined;
    return mapAt(this.mapCorner, { width: w, height: h }, this);
  }

  private placeMap(shown: Shown, camera: Camera): void {
    this.mapCorner = freeCorner(shown, this.selected, camera, this, this.aim ? undefined : this.mapCorner);
  }

  /** The part of the screen that a picture may use. */
  get room(): Size {
    return roomIn(this.width, this.height);
  }

  get moving(): boolean {
    return this.flight !== undefined || this.motion !== undefined;
  }

  /** Show another view. `anchor` is an item that stays where it was on the screen, `title` one whose title does; without them, the camera starts anew. */
  show(
    shown: Shown,
    how: {
      readonly anchor?: { item: number; screen: Rect };
      readonly title?: { item: number; at: Point };
      readonly place?: Place | undefined;
      readonly look?: "fit" | "first";
      /** An item that comes into view; -1: none. */
      readonly reveal?: number;
    },
  ): void {
    const before = this.shown;
    const was = this.camera;
    this.shown = shown;
    this.emphasis = undefined;
    this.hovered = undefined;
    this.chosenEdge = -1;
    this.whole?.bitmap.close();
    this.near?.bitmap.close();
    this.whole = this.near = undefined;
    this.flight = this.endFlight();
    this.motion = this.endMotion();
    const { place, look } = how;
    this.aim = this.extent = undefined;
    if (place) this.aim = () => this.cameraAt(place);
    else if (how.anchor) this.camera = this.anchored(shown, how.anchor.item, how.anchor.screen);
    else if (how.title) this.camera = this.withTitleAt(shown, how.title.item, how.title.at);
    else if (look === "fit") this.aim = () => this.fitted(shown);
    else if (look) this.aim = this.initialAim(shown);
    this.camera = this.aim?.() ?? this.camera;
    const near = how.reveal === undefined || how.reveal < 0 ? undefined : this.cameraOn([how.reveal], false);
    if (near) this.aim = undefined;
    this.placeMap(shown, near ?? this.camera);
    const what = before && !this.still ? motionBetween(before, was, shown, near ?? this.camera, this.width, this.height) : undefined;
    if (what) {
      this.camera = near ?? this.camera;
      this.begin(() => {
        this.motion = { what, start: performance.now(), from: before!, was };
      });
    } else if (near) this.flyTo(near);
    this.draw();
    this.events.moved();
  }

  private initialAim(shown: Shown): () => Camera {
    const named = this.selected.length === 1 ? shown.rect(this.selected[0]) : undefined;
    return () => initialCamera(this.extent ?? shown.bounds, shown.first, shown.scene.direction, this.width, this.height, named, this.hint);
  }

  private fitted(shown: Shown): Camera {
    return fitWhole(this.extent ?? shown.bounds, this.width, this.height, this.hint);
  }

  /** The page has changed around the picture, and hints reach this far into it: a picture that fits stays clear of them. */
  settle(hint: Size): void {
    if (this.resize()) this.draw();
    if (hint.width === this.hint.width && hint.height === this.hint.height) return;
    this.hint = hint;
    this.aimAgain();
    this.draw();
  }

  aimAgain(): void {
    if (!this.aim) return;
    this.flight = this.endFlight();
    this.camera = this.aim();
    const { motion, shown } = this;
    if (shown) this.placeMap(shown, this.camera);
    const what = motion && shown ? motionBetween(motion.from, motion.was, shown, this.camera, this.width, this.height) : undefined;
    if (motion) this.motion = what ? { ...motion, what } : this.endMotion();
    this.events.moved();
  }

  private cameraAt({ x, y, scale }: Place): Camera {
    return centred(x, y, clampScale(scale), this.width, this.height);
  }

  /** Where the camera is going, or where it is. */
  get destination(): Camera {
    return this.flight?.to ?? this.camera;
  }

  /** Is the camera where it would be in a newly opened picture? */
  get isInitial(): boolean {
    return this.shown !== undefined && sameSight(this.destination, this.initialAim(this.shown)(), this.width, this.height);
  }

  /** Return to a place, or (without one) to where a newly opened picture begins. */
  returnTo(place: Place | undefined): void {
    if (!this.shown) return;
    const aim = place ? () => this.cameraAt(place) : this.initialAim(this.shown);
    this.flyTo(aim());
    this.aim = aim;
  }

  /** The camera under which a box is where it was. */
  anchored(shown: Shown, item: number, screen: Rect): Camera {
    const { scale } = this.camera;
    const rect = shown.rect(item);
    return { x: rect.x + rect.w / 2 - (screen.x + screen.w / 2) / scale, y: rect.y - screen.y / scale, scale };
  }

  /** Where the title of an item is. */
  titleOnScreen(shown: Shown, item: number): Point {
    return this.onScreen({ ...shown.titleAt(item), w: 0, h: 0 });
  }

  /**
   * The camera under which a title is at a point: the one that was clicked, so a group opens under the pointer and closes there. A title
   * that was off screen comes back to its edge, and a group that would be mostly off screen moves in as far as its title allows.
   */
  private withTitleAt(shown: Shown, item: number, { x, y }: Point): Camera {
    const { scale } = this.camera;
    const [title, rect] = [shown.titleAt(item), shown.rect(item)];
    const inside = (value: number, most: number) => Math.max(TITLE_MARGIN, Math.min(most - TITLE_MARGIN, value));
    const left = inside(x, this.width) - (title.x - rect.x) * scale;
    const visible = this.width - Math.max(0, left);
    const missing = Math.max(0, LEAST_VISIBLE * Math.min(this.width, rect.w * scale) - visible);
    const at = { x: Math.max(TITLE_MARGIN, inside(x, this.width) - missing), y: inside(y, this.height) };
    return { x: title.x - at.x / scale, y: title.y - at.y / scale, scale };
  }

  onScreen(rect: Rect, { x, y, scale } = this.camera): Rect {
    return { x: (rect.x - x) * scale, y: (rect.y - y) * scale, w: rect.w * scale, h: rect.h * scale };
  }

  moveTo(camera: Camera): void {
    this.aim = undefined;
    this.moves++;
    this.flight = this.endFlight();
    this.camera = camera;
    this.draw();
    this.events.moved();
  }

  flyTo(camera: Camera): void {
    if (this.still) {
      this.moveTo(camera);
      return;
    }
    const from = this.camera;
    this.aim = undefined;
    this.moves++;
    this.flight = this.endFlight();
    this.begin(() => {
      this.flight = { from, to: camera, start: performance.now() };
    });
    this.draw();
  }

  fit(): void {
    if (this.shown) this.flyTo(this.fitted(this.shown));
  }

  zoomBy(factor: number): void {
    this.flyTo(zoomAt(this.flight?.to ?? this.camera, this.width / 2, this.height / 2, factor));
  }

  /** Bring items into view, closer if they are too small to read. */
  reveal(items: readonly number[], closer: boolean): void {
    const camera = this.cameraOn(items, closer);
    if (camera) this.flyTo(camera);
  }

  /** The camera that brings items into view; undefined: they are. */
  private cameraOn(items: readonly number[], closer: boolean): Camera | undefined {
    if (!this.shown || items.length === 0) return undefined;
    const rects = items.map((item) => this.shown!.rect(item));
    const x = Math.min(...rects.map((r) => r.x)),
      y = Math.min(...rects.map((r) => r.y));
    const rect = { x, y, w: Math.max(...rects.map((r) => r.x + r.w)) - x, h: Math.max(...rects.map((r) => r.y + r.h)) - y };
    const on = this.onScreen(rect);
    const { width, height } = this.room;
    const inside = on.x >= 0 && on.y >= 0 && on.x + on.w <= (this.width + width) / 2 && on.y + on.h <= height;
    const scale = clampScale(closer ? 1 : Math.max(this.camera.scale, 0.75));
    if (inside && !this.isBelowMap(on) && !closer && this.camera.scale >= 0.5) return undefined;
    return fit(rect, this.width, this.height, scale);
  }

  private isBelowMap(on: Rect): boolean {
    const { map } = this;
    return map !== undefined && on.x < map.x + map.w && on.y < map.y + map.h && on.x + on.w > map.x && on.y + on.h > map.y;
  }

  /** Paint at the next frame. */
  draw(): void {
    if (this.frame) return;
    this.events.busy(1);
    this.frame = requestAnimationFrame((now) => {
      this.frame = 0;
      this.paint(now);
      this.events.busy(-1);
    });
  }

  pick(x: number, y: number): Picked | undefined {
    return this.shown?.pick(this.camera.x + x / this.camera.scale, this.camera.y + y / this.camera.scale, this.camera.scale);
  }

  private get ratio(): number {
    return window.devicePixelRatio || 1;
  }

  private begin(start: () => void): void {
    this.events.busy(1);
    start();
  }

  private endMotion(): undefined {
    if (this.motion) this.events.busy(-1);
    return undefined;
  }

  private endFlight(): undefined {
    if (this.flight) this.events.busy(-1);
    return undefined;
  }

  /** Takes the size that the page gives the canvas. Is it another one than that of the picture on it? */
  private resize(): boolean {
    const { clientWidth, clientHeight } = this.canvas;
    if (clientWidth === 0 || clientHeight === 0) return false;
    if (clientWidth !== this.width || clientHeight !== this.height) {
      if (this.width > 1) this.camera = panBy(this.camera, (clientWidth - this.width) / 2, 0);
      this.width = clientWidth;
      this.height = clientHeight;
      this.aimAgain();
      // The address has the middle of the room.
      this.events.moved();
    }
    return this.canvas.width !== this.pixels.w || this.canvas.height !== this.pixels.h;
  }

  private get pixels(): { readonly w: number; readonly h: number } {
    return { w: Math.round(this.width * this.ratio), h: Math.round(this.height * this.ratio) };
  }

  private point(x: number, y: number): void {
    if (this.moving) return;
    const picked = this.pick(x, y);
    // The space inside a group is most of the screen: only its title reacts to the pointer.
    this.setHovered(picked?.kind === "box" && picked.part === "room" ? undefined : picked, x, y);
  }

  private setHovered(picked: Picked | undefined, x: number, y: number): void {
    const before = this.hovered;
    const same =
      before?.kind === picked?.kind &&
      (before?.kind === "box"
        ? before.item === (picked as typeof before).item && before.part === (picked as typeof before).part
        : before?.kind === "edge"
          ? before.edge === (picked as typeof before).edge
          : true);
    this.hovered = picked;
    this.canvas.style.cursor = picked ? "pointer" : "";
    this.events.hover(picked, x, y);
    if (!same) this.draw();
  }

  private paint(now: number): void {
    const { context, theme, shown, pixels } = this;
    if (this.canvas.width !== pixels.w || this.canvas.height !== pixels.h)
      Object.assign(this.canvas, { width: pixels.w, height: pixels.h });
    if (this.flight) {
      const t = (now - this.flight.start) / CAMERA_MS;
      this.camera = between(this.flight.from, this.flight.to, ease(Math.max(0, Math.min(1, t))), this.width, this.height);
      if (t >= 1) this.flight = this.endFlight();
      this.events.moved();
    }
    clear(context, theme.background, this.canvas.width, this.canvas.height);
    if (!shown) return;
    const { sight } = this;
    if (this.motion) {
      const t = (now - this.motion.start) / MOTION_MS;
      const { what } = this.motion;
      const { scene, edgeOpacity, opacity } = what.at(Math.max(0, t));
      setCamera(context, sight);
      shown.painter.items(context, theme, sight, scene, what.boxes, what.edges, undefined, edgeOpacity, opacity);
      if (t >= 1) {
        this.motion = this.endMotion();
        // What the page draws over the graph has waited for it to stand still.
        this.events.moved();
      }
      this.draw();
      return;
    }
    if (shown.painter.shows(sight, MOST_PER_FRAME)) this.paintPictures(sight, shown);
    else shown.painter.paint(context, theme, sight, this.emphasis);
    if (this.hits.length) shown.painter.matches(context, theme, sight, this.hits);
    this.paintHighlights(sight, shown);
    if (this.moving) this.draw();
  }

  private paintHighlights(sight: Sight, shown: Shown): void {
    const { context, theme, hovered, selected } = this;
    if (hovered?.kind === "box") shown.painter.highlight(context, theme, sight, [hovered.item], shown.edgesOf(hovered.item), false);
    else if (hovered?.kind === "edge") shown.painter.highlight(context, theme, sight, [], [hovered.edge], false);
    if (this.chosenEdge >= 0) shown.painter.highlight(context, theme, sight, [], [this.chosenEdge], true);
    if (selected.length) {
      const edges = selected.flatMap((item) => [...shown.edgesOf(item)]);
      shown.painter.highlight(context, theme, sight, selected, edges, true);
    }
  }

  /** Too much for one frame: draws the whole as a stretched picture, over it the last picture of this region, and asks for a better one. */
  private paintPictures(sight: Sight, shown: Shown): void {
    const { context } = this;
    if (this.whole) drawPicture(context, sight, this.whole);
    if (this.near) drawPicture(context, sight, this.near);
    const fresh =
      this.near !== undefined && sharp(this.near, sight) && this.near.emphasis === this.emphasis && this.near.theme === this.theme;
    if (!fresh && !this.asking) void this.askPicture(shown);
  }

  private async askPicture(shown: Shown): Promise<void> {
    this.asking = true;
    this.events.busy(1);
    const { theme, emphasis } = this;
    const first = this.whole === undefined;
    const sight = first ? this.wholeSight(shown) : withMargin(this.flight ? { ...this.sight, camera: this.flight.to } : this.sight);
    try {
      const bitmap = await this.events.picture(sight);
      if (this.shown !== shown) bitmap.close();
      else {
        const picture = { bitmap, sight, theme, emphasis };
        if (first) this.whole = picture;
        else {
          this.near?.bitmap.close();
          this.near = picture;
        }
      }
    } catch {
      // The view was replaced while its picture was being drawn.
    } finally {
      this.asking = false;
      if (this.shown === shown) this.draw();
      this.events.busy(-1);
    }
  }

  private wholeSight(shown: Shown): Sight {
    return withMargin({ ...this.sight, camera: fit(shown.bounds, this.width, this.height) });
  }
}
