/** Where names are on the screen, so that no name is drawn over another. Grouping by rows of pixels keeps each lookup short. */

interface Plate {
  readonly x0: number;
  readonly y0: number;
  readonly x1: number;
  readonly y1: number;
}

const ROW = 16;

export class Plates {
  private readonly rows = new Map<number, Plate[]>();

  /** Takes the place if it is free, and returns whether it was. */
  take(x: number, y: number, w: number, h: number): boolean {
    if (this.meets(x, y, w, h)) return false;
    const plate = { x0: x, y0: y, x1: x + w, y1: y + h };
    for (let row = Math.floor(y / ROW); row <= Math.floor(plate.y1 / ROW); row++) {
      const others = this.rows.get(row);
      if (others) others.push(plate);
      else this.rows.set(row, [plate]);
    }
    return true;
  }

  meets(x: number, y: number, w: number, h: number): boolean {
    for (let row = Math.floor(y / ROW); row <= Math.floor((y + h) / ROW); row++) {
      for (const { x0, y0, x1, y1 } of this.rows.get(row) ?? []) if (x < x1 && x + w > x0 && y < y1 && y + h > y0) return true;
    }
    return false;
  }
}
