/** Places that are taken, so that no text is written over another; each is in all cells of a coarse grid that it touches. */
import type { Rect } from "./camera";

const CELL = 64;
/** More cells side by side than any picture has. */
const COLUMNS = 2 ** 24;

export class Occupied {
  private readonly cells = new Map<number, Rect[]>();

  /** Takes a place if it is free, and returns whether it was. */
  take(x: number, y: number, w: number, h: number): boolean {
    if (this.meets(x, y, w, h)) return false;
    this.add({ x, y, w, h });
    return true;
  }

  add(place: Rect): void {
    const { x, y, w, h } = place;
    for (let line = Math.floor(y / CELL); line <= Math.floor((y + h) / CELL); line++) {
      for (let column = Math.floor(x / CELL); column <= Math.floor((x + w) / CELL); column++) {
        const places = this.cells.get(line * COLUMNS + column);
        if (places) places.push(place);
        else this.cells.set(line * COLUMNS + column, [place]);
      }
    }
  }

  meets(x: number, y: number, w: number, h: number): boolean {
    for (let line = Math.floor(y / CELL); line <= Math.floor((y + h) / CELL); line++) {
      for (let column = Math.floor(x / CELL); column <= Math.floor((x + w) / CELL); column++) {
        for (const other of this.cells.get(line * COLUMNS + column) ?? [])
          if (x < other.x + other.w && other.x < x + w && y < other.y + other.h && other.y < y + h) return true;
      }
    }
    return false;
  }
}
