/**
 * The camera in the address: a copied link shows the same place at the same zoom. It is written when the camera has stopped, and
 * is never a separate step of the history.
 */
import { placeOf, roundedPlace } from "../core/base/camera";
import type { Session } from "./session";

/** A camera that has not moved for this long has stopped. Browsers refuse more than a few changes of the address per second. */
const REST_MS = 150;

export class CameraAddress {
  private timer = 0;

  constructor(private readonly session: Session) {}

  /** The camera has moved, or where it would start has changed. */
  moved(): void {
    if (this.timer) clearTimeout(this.timer);
    else if (this.isWritten) return;
    else this.session.idle.change(1);
    this.timer = window.setTimeout(() => this.write(), REST_MS);
  }

  /** Whether the camera is where it starts and the address says so: the usual case after a picture is drawn, and not worth a wait. */
  private get isWritten(): boolean {
    const { stage, view } = this.session;
    return stage?.shown !== undefined && stage.isInitial && view.camera === undefined;
  }

  /** Writes into the address where the camera is, or where it is going. */
  write(): void {
    this.dispose();
    const { session } = this;
    const { stage, view } = session;
    if (!stage?.shown) return;
    const camera = stage.isInitial ? undefined : roundedPlace(placeOf(stage.destination, stage.width, stage.height));
    if (JSON.stringify(camera) !== JSON.stringify(view.camera)) session.note({ ...view, camera });
  }

  dispose(): void {
    if (!this.timer) return;
    clearTimeout(this.timer);
    this.timer = 0;
    this.session.idle.change(-1);
  }
}
