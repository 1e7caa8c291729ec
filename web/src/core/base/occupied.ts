/** Rectangles of a picture, to find those that meet another; each is in all cells of a coarse grid that it touches. No objects: there may be a million. */
import { mix } from "./csr";

const CELL = 64;
/** Numbers of a rectangle: left, top, right, bottom. */
const SIDES = 4;

export class Places {
  private count = 0;
  private sides = new Float64Array(16 * SIDES);
  private owner = new Int32Array(16);
  /** A hash table of cells: the place of each in the grid, and the first of its entries (-1: nobody asked for this cell yet). */
  private cellCount = 0;
  private cellLine = new Int32Array(64);
  private cellColumn = new Int32Array(64);
  private firstEntry = new Int32Array(64).fill(-1);
  /** Entries of cells: a rectangle and the next entry of the same cell. */
  private entryCount = 0;
  private entryPlace = new Int32Array(64);
  private nextEntry = new Int32Array(64);

  /** `owner`: whose rectangle it is, where that matters. */
  add(x: number, y: number, w: number, h: number, owner = -1): void {
    if (this.count === this.owner.length) {
      this.sides = longer(this.sides, new Float64Array(2 * this.sides.length));
      this.owner = longer(this.owner, new Int32Array(2 * this.owner.length));
    }
    const place = this.count++;
    this.sides[place * SIDES] = x;
    this.sides[place * SIDES + 1] = y;
    this.sides[place * SIDES + 2] = x + w;
    this.sides[place * SIDES + 3] = y + h;
    this.owner[place] = owner;
    const [lastLine, lastColumn] = [Math.floor((y + h) / CELL), Math.floor((x + w) / CELL)];
    for (let line = Math.floor(y / CELL); line <= lastLine; line++)
      for (let column = Math.floor(x / CELL); column <= lastColumn; column++) this.enter(line, column, place);
  }

  /** Is there one in this rectangle, of another owner than `except`? */
  meets(x: number, y: number, w: number, h: number, except?: number): boolean {
    const { sides, owner, firstEntry, entryPlace, nextEntry } = this;
    const [lastLine, lastColumn] = [Math.floor((y + h) / CELL), Math.floor((x + w) / CELL)];
    for (let line = Math.floor(y / CELL); line <= lastLine; line++) {
      for (let column = Math.floor(x / CELL); column <= lastColumn; column++) {
        for (let entry = firstEntry[this.slotOf(line, column)]; entry >= 0; entry = nextEntry[entry]) {
          const place = entryPlace[entry];
          const at = place * SIDES;
          if (x < sides[at + 2] && sides[at] < x + w && y < sides[at + 3] && sides[at + 1] < y + h)
            if (except === undefined || owner[place] !== except) return true;
        }
      }
    }
    return false;
  }

  private enter(line: number, column: number, place: number): void {
    if (2 * this.cellCount >= this.firstEntry.length) this.grow();
    if (this.entryCount === this.entryPlace.length) {
      this.entryPlace = longer(this.entryPlace, new Int32Array(2 * this.entryCount));
      this.nextEntry = longer(this.nextEntry, new Int32Array(2 * this.entryCount));
    }
    const slot = this.slotOf(line, column);
    if (this.firstEntry[slot] < 0) {
      this.cellCount++;
      this.cellLine[slot] = line;
      this.cellColumn[slot] = column;
    }
    const entry = this.entryCount++;
    this.entryPlace[entry] = place;
    this.nextEntry[entry] = this.firstEntry[slot];
    this.firstEntry[slot] = entry;
  }

  /** Where a cell is in the table, or where it would be. */
  private slotOf(line: number, column: number): number {
    const { firstEntry, cellLine, cellColumn } = this;
    const mask = firstEntry.length - 1;
    let slot = mix(line, column) & mask;
    while (firstEntry[slot] >= 0 && (cellLine[slot] !== line || cellColumn[slot] !== column)) slot = (slot + 1) & mask;
    return slot;
  }

  private grow(): void {
    const { firstEntry, cellLine, cellColumn } = this;
    const room = 2 * firstEntry.length;
    this.firstEntry = new Int32Array(room).fill(-1);
    this.cellLine = new Int32Array(room);
    this.cellColumn = new Int32Array(room);
    for (let i = 0; i < firstEntry.length; i++) {
      if (firstEntry[i] < 0) continue;
      const slot = this.slotOf(cellLine[i], cellColumn[i]);
      this.firstEntry[slot] = firstEntry[i];
      this.cellLine[slot] = cellLine[i];
      this.cellColumn[slot] = cellColumn[i];
    }
  }
}

function longer<T extends Float64Array | Int32Array>(from: T, to: T): T {
  to.set(from);
  return to;
}

/** Places that are taken, so that no text is written over another. */
export class Occupied extends Places {
  /** Takes a place if it is free, and returns whether it was. */
  take(x: number, y: number, w: number, h: number): boolean {
    if (this.meets(x, y, w, h)) return false;
    this.add(x, y, w, h);
    return true;
  }
}
