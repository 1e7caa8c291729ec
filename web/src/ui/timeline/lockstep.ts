/**
 * Keeps before and after at one zoom and in one place. The side that a person moves leads; the other has its camera, moved by the distance
 * between a box and its counterpart, which then are at the same place of both panes. That distance is fixed while one drags, and measured
 * again for each jump and when the camera rests.
 */
import { type Camera, type Rect, sameSight } from "../../core/base/camera";
import { ADDED, REMOVED } from "../../core/program/recording/marks";
import { Shape } from "../../core/scene/types";
import type { Shown } from "../canvas/shown";
import { querySpatial } from "../canvas/spatial";
import type { Stage } from "../canvas/stage";
import type { Session } from "../session";

const REST_MS = 150;
/** Boxes in sight that are looked at, and of the nearest of them those whose counterpart is looked for by name in the whole other program. */
const MOST_IN_SIGHT = 4096;
const MOST_TRIED = 12;

export class Lockstep {
  private leader: Session;
  /** From a place in the first program to that in the second. */
  private apart = { x: 0, y: 0 };
  private pictures: readonly (Shown | undefined)[] = [];
  private readonly moves = new WeakMap<Session, number>();
  private readonly inSight = new Int32Array(MOST_IN_SIGHT);
  private bringing = false;
  private held = false;
  private timer = 0;
  private resting: Session | undefined;
  /** The side whose next picture only follows that of the other, and whether it has come. */
  private led: Session | undefined;
  private came = false;
  private readonly stops: (() => void)[];

  constructor(private readonly sides: readonly [Session, Session]) {
    [this.leader, this.led] = sides;
    this.stops = sides.map((side) => side.onCamera.subscribe(() => this.moved(side)));
  }

  dispose(): void {
    for (const stop of this.stops) stop();
    this.endRest();
    for (const { stage } of this.sides) if (stage) stage.extent = undefined;
  }

  /** A side in which a person has done something leads; the other will be drawn as it is. */
  lead(side: Session): void {
    if (this.held || !this.sides.includes(side)) return;
    this.leader = side;
    this.led = this.follower;
    this.came = false;
  }

  /** While the other side looks for what is selected in this one, its camera may move and leads nowhere. */
  hold(side: Session): void {
    if (!this.sides.includes(side)) return;
    this.leader = side;
    this.held = true;
  }

  release(): void {
    if (!this.held) return;
    this.held = false;
    this.noted();
    this.measure();
    this.bring(true);
  }

  private noted(): void {
    this.pictures = this.sides.map((side) => side.stage?.shown);
    for (const side of this.sides) this.moves.set(side, side.stage?.moves ?? 0);
  }

  private get follower(): Session {
    const [first, second] = this.sides;
    return this.leader === first ? second : first;
  }

  private moved(side: Session): void {
    const { stage } = side;
    if (this.bringing || this.held || !stage || this.sides.some((each) => !each.shown || !each.stage?.shown)) return;
    const byPerson = stage.moves !== this.moves.get(side);
    this.moves.set(side, stage.moves);
    if (this.sides.some((each, i) => each.stage!.shown !== this.pictures[i])) this.begin(side);
    else {
      if (byPerson) this.leader = side;
      const jumps = byPerson && stage.destination !== stage.camera;
      if (jumps) this.measure();
      this.bring(jumps);
      if (byPerson) this.rest();
    }
  }

  /** One side shows another picture. */
  private begin(side: Session): void {
    if (side === this.led) this.came = true;
    else this.leader = side;
    const animated = this.follower.stage!.moving;
    this.bringing = true;
    this.measure();
    // Both fit into what fits, and the middle of that may be another box.
    this.leader.stage!.aimAgain();
    this.measure();
    this.bringing = false;
    this.bring(animated);
    this.noted();
    this.rest();
  }

  private rest(): void {
    this.endRest();
    this.leader.idle.change(1);
    const { leader } = this;
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      if (this.came) this.led = undefined;
      this.measure();
      this.bring(true);
      leader.idle.change(-1);
    }, REST_MS);
    this.resting = leader;
  }

  private endRest(): void {
    if (!this.timer) return;
    clearTimeout(this.timer);
    this.timer = 0;
    this.resting?.idle.change(-1);
  }

  /** Brings the follower to where the leader is, or is going. */
  private bring(smoothly: boolean): void {
    const { leader, follower } = this;
    const [from, to] = [leader.stage, follower.stage];
    if (this.held || !from?.shown || !to?.shown) return;
    const { x, y, scale } = from.destination;
    const way = this.sides[0] === leader ? 1 : -1;
    const camera: Camera = { x: x + way * this.apart.x, y: y + way * this.apart.y, scale };
    if (sameSight(to.destination, camera, to.width, to.height)) return;
    this.bringing = true;
    if (smoothly) to.flyTo(camera);
    else to.moveTo(camera);
    this.moves.set(follower, to.moves);
    this.bringing = false;
  }

  /** Measures how far a box of the leader is from its counterpart; without one, that stays as it was. */
  private measure(): void {
    const [from, to] = [this.leader.stage, this.follower.stage];
    if (!from?.shown || !to?.shown) return;
    const pair = this.pair(from, to);
    if (pair) {
      const [a, b] = [from.shown.rect(pair[0]), to.shown.rect(pair[1])];
      const way = this.sides[0] === this.leader ? 1 : -1;
      this.apart = { x: way * (b.x + b.w / 2 - a.x - a.w / 2), y: way * (b.y - a.y) };
    }
    // Of two different graphs, each is fitted by itself.
    const [{ view: one, graphName }, { view: two, graphName: other }] = this.sides;
    const alike = one.graph === two.graph || graphName === other;
    const [first, second] = this.sides.map((side) => side.stage!.shown!.bounds);
    const { x, y } = this.apart;
    this.sides[0].stage!.extent = alike ? union(first, { ...second, x: second.x - x, y: second.y - y }) : undefined;
    this.sides[1].stage!.extent = alike ? union(second, { ...first, x: first.x + x, y: first.y + y }) : undefined;
  }

  /** The selected box, that under the pointer, or the one nearest to the middle that the other side has, too, and its counterpart. */
  private pair(from: Stage, to: Stage): readonly [number, number] | undefined {
    const [a, b] = [from.shown!, to.shown!];
    const camera = from.destination;
    const { scale } = camera;
    const sight = { x: camera.x, y: camera.y, w: from.width / scale, h: from.height / scale };
    const [selected, other] = [from.selected.at(-1), to.selected.at(-1)];
    if (selected !== undefined && other !== undefined && overlaps(a.rect(selected), sight)) return [selected, other];
    const count = querySpatial(a.boxIndex, sight.x, sight.y, sight.x + sight.w, sight.y + sight.h, this.inSight);
    const away = (item: number) => {
      const { x, y, w, h } = a.rect(item);
      return Math.hypot(x + w / 2 - sight.x - sight.w / 2, y + h / 2 - sight.y - sight.h / 2);
    };
    const near = [...this.inSight.subarray(0, count)]
      .filter((item) => isOwn(a, item))
      .map((item) => ({ item, away: away(item) }))
      .sort((one, two) => one.away - two.away)
      .slice(0, MOST_TRIED)
      .map(({ item }) => item);
    const { hovered } = from;
    if (hovered?.kind === "box" && isOwn(a, hovered.item) && overlaps(a.rect(hovered.item), sight)) near.unshift(hovered.item);
    for (const item of near) {
      const found = b.find(a.keyOf(item));
      if (found >= 0 && isOwn(b, found)) return [item, found];
    }
    return undefined;
  }
}

/** A box that is no frame around others, and that may be on the other side, too. */
function isOwn({ scene, result }: Shown, item: number): boolean {
  const mark = result.marks?.[item];
  return scene.shape[item] !== Shape.Frame && mark !== ADDED && mark !== REMOVED;
}

function overlaps(a: Rect, b: Rect): boolean {
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}

function union(a: Rect, b: Rect): Rect {
  const [x, y] = [Math.min(a.x, b.x), Math.min(a.y, b.y)];
  return { x, y, w: Math.max(a.x + a.w, b.x + b.w) - x, h: Math.max(a.y + a.h, b.y + b.h) - y };
}
