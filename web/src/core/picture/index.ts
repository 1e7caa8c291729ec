export { findKeys, matchKeys, stayedBoxes } from "./continuity";
export { choose, compose, draw } from "./draw";
export {
  type Arrangement,
  type DrawContext,
  FILE,
  type Picture,
  type PictureRequest,
  SCREEN,
  SEEN,
  type Stayed,
} from "./types";
