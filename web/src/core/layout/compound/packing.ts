/** A rectangle to place; `pinned` ones come first, side by side, because their ends lie on the frame. */
export interface Parcel {
  readonly width: number;
  readonly height: number;
  readonly pinned: boolean;
}

/** The distance of parts that are not pinned from the first and the last line. */
export interface Margin {
  readonly top: number;
  readonly bottom: number;
}

export interface Packed {
  readonly x: Float64Array;
  readonly y: Float64Array;
  readonly width: number;
  readonly height: number;
}

/** Wider than high, like a screen. */
const ASPECT = 1.6;
/** No wider than a screen at half size: what is longer can be set in columns. */
const WIDE = 3200;

/**
 * Places unconnected parts so that the whole is about as wide as a screen: shelves as high as their tallest part, filled
 * column by column. Tall parts come first, unless the order is to be kept; equals keep their order.
 */
export function packParcels(parcels: readonly Parcel[], gap: number, margin: Margin = { top: 0, bottom: 0 }, keepsOrder = false): Packed {
  const x = new Float64Array(parcels.length);
  const y = new Float64Array(parcels.length);
  let rowWidth = 0;
  let rowHeight = 0;
  let area = 0;
  const free: number[] = [];
  for (let i = 0; i < parcels.length; i++) {
    const p = parcels[i];
    if (!p.pinned) {
      free.push(i);
      area += (p.width + gap) * (p.height + gap);
      continue;
    }
    x[i] = rowWidth;
    rowWidth += p.width + gap;
    rowHeight = Math.max(rowHeight, p.height);
  }
  if (free.length === 0) return { x, y, width: Math.max(0, rowWidth - gap), height: rowHeight };
  if (!keepsOrder) free.sort((a, b) => parcels[b].height - parcels[a].height || a - b);
  let targetWidth = Math.min(rowHeight > 0 ? area / rowHeight : Math.sqrt(area * ASPECT), WIDE);
  for (const i of free) targetWidth = Math.max(targetWidth, parcels[i].width);

  let shelfTop = 0;
  let shelfHeight = 0;
  let columnLeft = 0;
  let columnWidth = 0;
  let columnBottom = 0;
  let width = 0;
  for (const i of free) {
    const p = parcels[i];
    const fitsBelow = columnWidth > 0 && columnBottom + p.height <= shelfTop + shelfHeight && p.width <= columnWidth * 1.2;
    if (!fitsBelow) {
      columnLeft += columnWidth > 0 ? columnWidth + gap : 0;
      columnWidth = 0;
      columnBottom = shelfTop;
      if (columnLeft > 0 && columnLeft + p.width > targetWidth) {
        shelfTop += shelfHeight + gap;
        shelfHeight = 0;
        columnLeft = 0;
        columnBottom = shelfTop;
      }
      shelfHeight = Math.max(shelfHeight, p.height);
    }
    x[i] = rowWidth + columnLeft;
    y[i] = margin.top + columnBottom;
    columnWidth = Math.max(columnWidth, p.width);
    columnBottom += p.height + gap;
    width = Math.max(width, columnLeft + columnWidth);
  }
  return { x, y, width: rowWidth + width, height: Math.max(rowHeight, margin.top + shelfTop + shelfHeight + margin.bottom) };
}
