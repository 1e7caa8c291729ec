/** What lanes make of the pointer and the wheel. */

/** A pointer that moved less than this, in pixels, has clicked. */
export const STILL = 4;
/** One turn of the wheel. */
export const ZOOM = 1.3;
