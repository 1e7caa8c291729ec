/**
 * The camera in the address: a copied link shows the same place at the same size. It is written when the camera has come to rest, and
 * never as a step of its own to go back to.
 */
import { placeOf, roundedPlace } from "../core/base/camera";
import type { Session } from "./session";

/** A camera that has not moved for this long rests. Browsers refuse an address that changes more often than a few times a second. */
const REST_MS = 150;

export class CameraAddress {
  private timer = 0;

  constructor(private readonly session: Session) {}

  /** The camera has moved, or what it would look at first has changed. */
  moved(): void {
    if (this.timer) clearTimeout(this.timer);
    else this.session.idle.change(1);
    this.timer = window.setTimeout(() => this.write(), REST_MS);
  }

  /** Note in the address where the camera is, or is about to be. */
  write(): void {
    this.dispose();
    const { session } = this;
    const { stage, view } = session;
    if (!stage?.shown) return;
    const camera = stage.looksAfresh ? undefined : roundedPlace(placeOf(stage.destination, stage.width, stage.height));
    if (JSON.stringify(camera) !== JSON.stringify(view.camera)) session.note({ ...view, camera });
  }

  dispose(): void {
    if (!this.timer) return;
    clearTimeout(this.timer);
    this.timer = 0;
    this.session.idle.change(-1);
  }
}
