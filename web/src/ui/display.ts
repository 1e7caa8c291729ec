/**
 * Display options draw the same things in another way: what is open stays open, and what is on the screen stays near its place. Pressed
 * twice, a toggle gives the picture before it, where the person looked, unless they have moved since.
 */
import { type Place, placeOf } from "../core/base/camera";
import type { AddressOption } from "../core/program/options";
import type { CameraMove } from "./cameraMove";
import type { Session } from "./session";
import { sameView, type ViewState } from "./state/view";

export class Display {
  /** The last change: the states before and after it, where the camera was before, and where it is since. */
  private last: { readonly before: ViewState; readonly after: ViewState; readonly place: Place; readonly since: Place } | undefined;

  constructor(private readonly session: Session) {}

  /** Sets an option by way of `view`; if the last change set it, and nothing else has changed since, it is taken back as a whole. */
  async toggle(name: AddressOption, view: ViewState, move?: CameraMove): Promise<void> {
    const { last, session } = this;
    const isUndone = last && last.before[name] !== session.view[name] && sameView(last.after, session.view);
    const { selection, query, panes, panels, camera } = session.view;
    await this.set(isUndone ? { ...last.before, selection, query, panes, panels, camera } : view, move);
  }

  async set(view: ViewState, move: CameraMove = { stay: true }): Promise<void> {
    const { session, last } = this;
    const [before, place] = [session.view, this.place];
    if (!place) return;
    const isBack = last && sameView(last.before, view) && isNear(last.since, place);
    const drawn = session.follow(view, isBack ? { place: last.place } : move);
    const { changes } = session;
    await drawn;
    if (changes === session.changes) this.last = this.place && { before, after: session.view, place, since: this.place };
  }

  private get place(): Place | undefined {
    const { stage } = this.session;
    return stage && placeOf(stage.destination, stage.width, stage.height);
  }
}

function isNear(a: Place, b: Place): boolean {
  return Math.abs(a.x - b.x) < 1 && Math.abs(a.y - b.y) < 1 && Math.abs(a.scale / b.scale - 1) < 0.01;
}
