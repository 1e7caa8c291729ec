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
  /** The last change: the states before and after it, where the camera was before, and how often it had been moved after. */
  private last: { readonly before: ViewState; readonly after: ViewState; readonly place: Place; readonly moves: number } | undefined;

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
    const { view: before, stage } = session;
    if (!stage) return;
    const place = placeOf(stage.destination, stage.width, stage.height);
    const isBack = last && sameView(last.before, view) && last.moves === stage.moves;
    const drawn = session.follow(view, isBack ? { place: last.place } : move);
    const { changes } = session;
    await drawn;
    if (changes === session.changes) this.last = { before, after: session.view, place, moves: stage.moves };
  }
}
