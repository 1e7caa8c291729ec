export { boxTexts } from "./boxText";
export { buildScene } from "./build";
export { measure } from "./measure";
export * from "./paint";
export { type Paint, THEMES, type Theme } from "./theme";
export { boxTooltip, edgeTooltip } from "./tooltips";
export * from "./types";
