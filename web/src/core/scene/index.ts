export { buildScene } from "./build";
export { isThread } from "./cuts";
export { measure } from "./measure";
export * from "./paint";
export { inOnePiece, type Placed } from "./placed";
export { type Paint, THEMES, type Theme } from "./theme";
export { boxTooltip, edgeTooltip } from "./tooltips";
export * from "./types";
export { wrap } from "./wrap";
