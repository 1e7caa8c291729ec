/**
 * Display options draw the same things in another way: what is open stays open, and what is on the screen stays near its place. Pressed
 * twice, a toggle gives the picture before it, where the person looked, unless they have moved since.
 */
import { type Place, placeOf } from "../core/base/camera";
import type { Session } from "./session";
import { sameView, type ViewState } from "./state/view";

export class Display {
  /** The state before the last change, where its camera was, and where it is since. */
  private last: { readonly view: ViewState; readonly place: Place; readonly since: Place } | undefined;

  constructor(private readonly session: Session) {}

  async set(view: ViewState): Promise<void> {
    const { session, last } = this;
    const [before, place] = [session.view, this.place];
    if (!place) return;
    const isBack = last && sameView(last.view, view) && isNear(last.since, place);
    await session.follow(view, isBack ? { place: last.place } : { stay: true });
    this.last = this.place && { view: before, place, since: this.place };
  }

  private get place(): Place | undefined {
    const { stage } = this.session;
    return stage && placeOf(stage.destination, stage.width, stage.height);
  }
}

function isNear(a: Place, b: Place): boolean {
  return Math.abs(a.x - b.x) < 1 && Math.abs(a.y - b.y) < 1 && Math.abs(a.scale / b.scale - 1) < 0.01;
}
