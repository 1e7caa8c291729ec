/**
 * How a scene is drawn, in one place. A painter only knows rectangles, curves, triangles and text; SVG, PDF and the page's canvas
 * are painters. The page itself calls `paintFrame`, `paintEdge` and `paintBox` for what is on screen.
 */
import { BoxKind, CATEGORIES, EdgeKind } from "../program/types";
import { textWidth } from "../text/measure";
import { boxTexts, SMALL, STACK_STEP, TINY, titlePlate } from "./boxText";
import { HEAD_HALF } from "./curves";
import { NO_SWATCH, SWATCH, TEXT_AT } from "./legend";
import { boxStyle, edgeColour, frameStyle } from "./style";
import type { Theme } from "./theme";
import { PAINT_ADDED, PAINT_CHANGED, PAINT_REMOVED, type Scene, Shape, type TextRun } from "./types";

export { boxTexts };

const BAR_INSET = 9;
const BAR_HEIGHT = 2;
const BAR_FOOT = 6;
const BAR_GAP = 1;

/** What a pass did to a box, by its paint: a sign tells it without colour. */
const SIGNS: Readonly<Record<number, string>> = { [PAINT_ADDED]: "+", [PAINT_REMOVED]: "−", [PAINT_CHANGED]: "~" };
const SIGN_RADIUS = 7;
const SIGN_SIZE = 12;

export type Dash = "solid" | "dotted" | "dashed";
export type Part = "frame" | "edge" | "box" | "title" | "label" | "legend";

/** Colours are "#RRGGBB"; an empty colour is not drawn. */
export interface Painter {
  /** What follows until `end` belongs to this frame, edge, box … (its number in the scene). */
  begin(part: Part, index: number): void;
  end(): void;
  rect(x: number, y: number, w: number, h: number, radius: number, fill: string, stroke: string, width: number, dash: Dash): void;
  /** Points from … to-1 of `curve`: a start, then three per cubic. */
  curve(curve: Float64Array, from: number, to: number, stroke: string, width: number, dash: Dash): void;
  triangle(x0: number, y0: number, x1: number, y1: number, x2: number, y2: number, fill: string): void;
  text(run: TextRun, colour: string): void;
}

/** The whole picture, back to front: frames, links, edges, titles over the edges, boxes, labels, legend. */
export function paintScene(scene: Scene, theme: Theme, painter: Painter): void {
  for (let i = 0; i < scene.frameCount; i++) paintFrame(scene, theme, scene.order[i], painter);
  for (const links of [true, false]) {
    for (let e = 0; e < scene.edgeCount; e++) if ((scene.edgeKind[e] === EdgeKind.Link) === links) paintEdge(scene, theme, e, painter);
  }
  for (let i = 0; i < scene.frameCount; i++) paintTitle(scene, theme, scene.order[i], painter);
  for (let i = scene.frameCount; i < scene.boxCount; i++) paintBox(scene, theme, scene.order[i], painter);
  for (let i = 0; i < scene.labels.length; i++) paintLabel(scene, theme, i, painter);
  paintLegend(scene, theme, painter);
}

export function paintFrame(scene: Scene, theme: Theme, item: number, painter: Painter): void {
  painter.begin("frame", item);
  const { fill, stroke } = frameStyle(scene, theme, item);
  const { x, y, w, h } = scene;
  if (scene.repeat[scene.box[item]] > 1) {
    for (let card = 2; card > 0; card--) {
      const off = card * STACK_STEP;
      painter.rect(x[item] + off, y[item] - off, w[item], h[item], 10, fill, stroke, 1, "solid");
    }
  }
  painter.rect(x[item], y[item], w[item], h[item], 10, fill, stroke, 1, "solid");
  painter.end();
}

/** A frame's title line, on a background that hides passing edges. */
export function paintTitle(
  scene: Scene,
  theme: Theme,
  item: number,
  painter: Painter,
  runs: readonly TextRun[] = boxTexts(scene, item),
): void {
  const plate = titlePlate(scene, item, runs);
  if (!plate) return;
  painter.begin("title", item);
  const style = frameStyle(scene, theme, item);
  painter.rect(plate.x, plate.y, plate.w, plate.h, 4, style.fill, "", 0, "solid");
  for (const run of runs) painter.text(run, style[run.colour]);
  painter.end();
}

export function paintEdge(scene: Scene, theme: Theme, e: number, painter: Painter): void {
  const from = scene.curveStart[e];
  const to = scene.curveStart[e + 1];
  if (to === from) return;
  painter.begin("edge", e);
  const kind = scene.edgeKind[e];
  const kindColour =
    kind === EdgeKind.Data || kind === EdgeKind.Carried || kind === EdgeKind.Overlay
      ? theme.edge
      : kind === EdgeKind.Control
        ? theme.faintEdge
        : theme.linkEdge;
  const colour = kindColour === theme.selection ? kindColour : (edgeColour(scene, theme, e) ?? kindColour);
  const dash = kind === EdgeKind.Data || kind === EdgeKind.Overlay ? "solid" : kind === EdgeKind.Control ? "dotted" : "dashed";
  painter.curve(scene.curve, from, to, colour, scene.edgeWidth[e], dash);
  paintHead(scene, e, colour, painter);
  painter.end();
}

function paintHead(scene: Scene, e: number, colour: string, painter: Painter): void {
  const tipX = scene.tip[2 * e];
  const tipY = scene.tip[2 * e + 1];
  if (Number.isNaN(tipX)) return;
  const end = 2 * (scene.curveStart[e + 1] - 1);
  const baseX = scene.curve[end];
  const baseY = scene.curve[end + 1];
  const length = Math.hypot(tipX - baseX, tipY - baseY) || 1;
  const half = HEAD_HALF + (scene.edgeWidth[e] - 1) * 0.6;
  const acrossX = (-(tipY - baseY) / length) * half;
  const acrossY = ((tipX - baseX) / length) * half;
  painter.triangle(tipX, tipY, baseX + acrossX, baseY + acrossY, baseX - acrossX, baseY - acrossY, colour);
}

/** `runs` may come from a painter that caches them between frames. */
export function paintBox(
  scene: Scene,
  theme: Theme,
  item: number,
  painter: Painter,
  runs: readonly TextRun[] = boxTexts(scene, item),
): void {
  painter.begin("box", item);
  paintBody(scene, theme, item, painter);
  paintMix(scene, theme, item, painter);
  const style = boxStyle(scene, theme, item);
  for (const run of runs) {
    const unit = run.size / TINY;
    if (run.pill) {
      const { fill, stroke } = theme.pill;
      painter.rect(run.x - 6 * unit, run.y - 11.5 * unit, run.width + 12 * unit, 16 * unit, 8 * unit, fill, stroke, 1, "solid");
    }
    painter.text(run, run.pill ? theme[run.colour] : style[run.colour]);
  }
  painter.end();
}

/** A thin bar at the bottom of a collapsed group: which kinds of work are inside, and how much of each. */
function paintMix(scene: Scene, theme: Theme, item: number, painter: Painter): void {
  const row = scene.mixRow[scene.box[item]];
  if (row < 0) return;
  const stack = scene.shape[item] === Shape.Stack ? 2 * STACK_STEP : 0;
  const whole = scene.w[item] - stack - 2 * BAR_INSET;
  let x = scene.x[item] + BAR_INSET;
  for (let category = 0; category < CATEGORIES.length; category++) {
    const share = scene.mixShares[row * CATEGORIES.length + category];
    if (share <= 0) continue;
    const gap = share * whole > 2 * BAR_GAP ? BAR_GAP : 0;
    painter.rect(
      x,
      scene.y[item] + scene.h[item] - BAR_FOOT,
      share * whole - gap,
      BAR_HEIGHT,
      1,
      theme.paints[category].stroke,
      "",
      0,
      "solid",
    );
    x += share * whole;
  }
}

/** The shape with its sign, but without its text (which the page omits when zoomed far out). */
export function paintBody(scene: Scene, theme: Theme, item: number, painter: Painter): void {
  paintShape(scene, theme, item, painter);
  paintSign(scene, theme, item, painter);
}

/** What a pass did to a box, as a sign in a small disc on its corner. */
export function paintSign(scene: Scene, theme: Theme, item: number, painter: Painter): void {
  const sign = scene.custom[item] < 0 ? SIGNS[scene.paint[item]] : undefined;
  if (!sign) return;
  const [x, y, colour] = [scene.x[item] + 2, scene.y[item] + 2, theme.paints[scene.paint[item]].stroke];
  painter.rect(x - SIGN_RADIUS, y - SIGN_RADIUS, 2 * SIGN_RADIUS, 2 * SIGN_RADIUS, SIGN_RADIUS, colour, theme.background, 1, "solid");
  const width = textWidth(sign, SIGN_SIZE, true);
  painter.text({ x, y: y + 4.2, text: sign, size: SIGN_SIZE, bold: true, colour: "text", anchor: "middle", width }, theme.background);
}

function paintShape(scene: Scene, theme: Theme, item: number, painter: Painter): void {
  const { fill, stroke: plain } = boxStyle(scene, theme, item);
  const stroke = [plain, theme.selection, theme.text][scene.emphasis[item]];
  const x = scene.x[item];
  const y = scene.y[item];
  const w = scene.w[item];
  const h = scene.h[item];
  const kind = scene.kind[scene.box[item]];
  const isRemoved = scene.paint[item] === PAINT_REMOVED;
  const isDashed = isRemoved || kind === BoxKind.Stub || kind === BoxKind.Omitted;
  switch (scene.shape[item]) {
    case Shape.Stack:
      for (let card = 2; card >= 0; card--) {
        painter.rect(
          x + card * STACK_STEP,
          y + (2 - card) * STACK_STEP,
          w - 2 * STACK_STEP,
          h - 2 * STACK_STEP,
          7,
          fill,
          stroke,
          1,
          isRemoved ? "dashed" : "solid",
        );
      }
      return;
    case Shape.Pill:
      painter.rect(x, y, w, h, h / 2, fill, stroke, 1, isDashed ? "dashed" : "solid");
      return;
    default:
      painter.rect(x, y, w, h, 6, fill, stroke, scene.emphasis[item] ? 2.4 : 1.2, isRemoved ? "dashed" : "solid");
  }
}

export function paintLabel(scene: Scene, theme: Theme, index: number, painter: Painter): void {
  const label = scene.labels.at(index);
  painter.begin("label", index);
  const width = textWidth(label.text, TINY);
  if (label.kind === "cut") {
    const wide = Math.max(16, width + 8);
    painter.rect(label.x - wide / 2, label.y - 8, wide, 16, 8, theme.panel, theme.edge, 1, "solid");
  } else if (label.kind === "count") {
    const ground = label.ground === undefined || label.ground < 0 ? theme.background : frameStyle(scene, theme, label.ground).fill;
    painter.rect(label.x - width / 2 - 3, label.y - 6.5, width + 6, 13, 4, ground, "", 0, "solid");
  }
  painter.text(
    { x: label.x, y: label.y + 3.4, text: label.text, size: TINY, bold: false, colour: "secondary", anchor: "middle", width },
    theme.secondary,
  );
  painter.end();
}

function paintLegend(scene: Scene, theme: Theme, painter: Painter): void {
  for (let i = 0; i < scene.legend.length; i++) {
    const { text, paint, shade, x, y } = scene.legend[i];
    painter.begin("legend", i);
    if (shade) painter.rect(x, y, SWATCH, SWATCH, 3, shade[theme.name], theme.faintEdge, 1, "solid");
    else if (paint !== NO_SWATCH) painter.rect(x, y, SWATCH, SWATCH, 3, theme.paints[paint].fill, theme.paints[paint].stroke, 1.2, "solid");
    const at = paint === NO_SWATCH && !shade ? x : x + TEXT_AT;
    const width = textWidth(text, SMALL);
    painter.text({ x: at, y: y + 8.8, text, size: SMALL, bold: false, colour: "secondary", anchor: "start", width }, theme.secondary);
    painter.end();
  }
}
