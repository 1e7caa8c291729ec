/** Rectangles of a picture, to find those that meet another; each is in all cells of a coarse grid that it touches. */
import type { Rect } from "./camera";

const CELL = 64;
/** More cells side by side than any picture has. */
const COLUMNS = 2 ** 24;

export class Places<Place extends Rect> {
  private readonly cells = new Map<number, Place[]>();

  add(place: Place): void {
    const { x, y, w, h } = place;
    for (let line = Math.floor(y / CELL); line <= Math.floor((y + h) / CELL); line++) {
      for (let column = Math.floor(x / CELL); column <= Math.floor((x + w) / CELL); column++) {
        const places = this.cells.get(line * COLUMNS + column);
        if (places) places.push(place);
        else this.cells.set(line * COLUMNS + column, [place]);
      }
    }
  }

  /** Is there one in this rectangle that counts? */
  meets(x: number, y: number, w: number, h: number, counts?: (place: Place) => boolean): boolean {
    for (let line = Math.floor(y / CELL); line <= Math.floor((y + h) / CELL); line++) {
      for (let column = Math.floor(x / CELL); column <= Math.floor((x + w) / CELL); column++) {
        for (const other of this.cells.get(line * COLUMNS + column) ?? [])
          if (x < other.x + other.w && other.x < x + w && y < other.y + other.h && other.y < y + h && (!counts || counts(other)))
            return true;
      }
    }
    return false;
  }
}

/** Places that are taken, so that no text is written over another. */
export class Occupied extends Places<Rect> {
  /** Takes a place if it is free, and returns whether it was. */
  take(x: number, y: number, w: number, h: number): boolean {
    if (this.meets(x, y, w, h)) return false;
    this.add({ x, y, w, h });
    return true;
  }
}
