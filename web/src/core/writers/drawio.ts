/**
 * draw.io (diagrams.net) XML of a scene: every box is a cell inside the cell of its group, and every edge is connected to its ends, so
 * that a picture can be edited further. It is not compressed, and labels are plain text, never HTML.
 */
import { BoxKind, EdgeKind } from "../program/types";
import { boxTexts } from "../scene/boxText";
import { boxStyle, edgeColour, frameStyle } from "../scene/style";
import type { Theme } from "../scene/theme";
import { type Scene, type SceneLabel, Shape } from "../scene/types";
import { readableNames } from "./readableNames";
import { escapeXml } from "./svg";

export interface DrawioOptions {
  readonly title?: string;
}

/** The layer that contains everything; cell 0 is the root of the model. */
const LAYER = "1";
const CHEVRONS = new Set(["▸", "▾"]);
/** Where on an edge the number of an operand is: 1 is the end. */
const AT_HEAD = 0.8;

export function sceneToDrawio(scene: Scene, theme: Theme, { title = "program" }: DrawioOptions): string {
  const names = readableNames(scene);
  const labels = new Map<number, SceneLabel[]>();
  for (const label of scene.labels) labels.set(label.edge, [...(labels.get(label.edge) ?? []), label]);
  const lines = [
    `<mxfile host="opscope">`,
    `<diagram name="${attribute(title)}" id="${attribute(title)}">`,
    `<mxGraphModel grid="0" page="0" background="${theme.background}">`,
    "<root>",
    `<mxCell id="0"/>`,
    `<mxCell id="${LAYER}" parent="0"/>`,
  ];
  for (const item of scene.order) lines.push(boxCell(scene, theme, names, item));
  for (let e = 0; e < scene.edgeCount; e++) lines.push(...edgeCells(scene, theme, labels.get(e) ?? [], e));
  lines.push("</root>", "</mxGraphModel>", "</diagram>", "</mxfile>", "");
  return lines.join("\n");
}

/** A box with its name as data, placed in its frame. */
function boxCell(scene: Scene, theme: Theme, names: readonly string[], item: number): string {
  const parent = scene.parent[item];
  const [x, y] = [scene.x[item] - (parent < 0 ? 0 : scene.x[parent]), scene.y[item] - (parent < 0 ? 0 : scene.y[parent])];
  const geometry = `<mxGeometry x="${n(x)}" y="${n(y)}" width="${n(scene.w[item])}" height="${n(scene.h[item])}" as="geometry"/>`;
  const style = styleText(boxLook(scene, theme, item));
  return (
    `<object id="b${item}" label="${attribute(labelOf(scene, item))}" name="${attribute(names[scene.box[item]])}">` +
    `<mxCell style="${style}" vertex="1" parent="${parent < 0 ? LAYER : `b${parent}`}">${geometry}</mxCell></object>`
  );
}

/** The lines of a box as every picture shows them, without the triangles that nobody can click here. */
function labelOf(scene: Scene, item: number): string {
  const lines = new Map<number, string[]>();
  for (const { y, text } of boxTexts(scene, item)) if (!CHEVRONS.has(text)) lines.set(y, [...(lines.get(y) ?? []), text]);
  return [...lines.values()].map((texts) => texts.join(" ")).join("\n");
}

type Look = Readonly<Record<string, string | number>>;

function boxLook(scene: Scene, theme: Theme, item: number): Look {
  const shape = scene.shape[item];
  const frame = shape === Shape.Frame;
  const { fill, stroke, text } = (frame ? frameStyle : boxStyle)(scene, theme, item);
  const kind = scene.kind[scene.box[item]];
  return {
    rounded: 1,
    absoluteArcSize: 1,
    arcSize: shape === Shape.Pill ? n(scene.h[item]) : frame ? 20 : 12,
    fillColor: fill || "none",
    strokeColor: scene.emphasis[item] ? theme.selection : stroke || "none",
    strokeWidth: scene.emphasis[item] ? 2.4 : 1,
    fontColor: text,
    fontSize: Math.round((shape === Shape.Pill ? 10 : 11) * (scene.growth?.[scene.box[item]] ?? 1)),
    ...(kind === BoxKind.Stub || kind === BoxKind.Omitted ? { dashed: 1 } : {}),
    ...(frame ? { container: 1, collapsible: 0, fontStyle: 1, align: "left", verticalAlign: "top", spacingLeft: 10 } : {}),
  };
}

/** An edge from box to box along its own way, with its count as label and the number of its operand at the head. */
function edgeCells(scene: Scene, theme: Theme, labels: readonly SceneLabel[], e: number): string[] {
  const { curve, curveStart, edgeSource, edgeTarget } = scene;
  const [from, to] = [curveStart[e], curveStart[e + 1] - 1];
  if (to <= from) return [];
  const head = !Number.isNaN(scene.tip[2 * e]);
  const start = portOf(scene, edgeSource[e], curve[2 * from], curve[2 * from + 1]);
  const end = portOf(scene, edgeTarget[e], head ? scene.tip[2 * e] : curve[2 * to], head ? scene.tip[2 * e + 1] : curve[2 * to + 1]);
  const kind = scene.edgeKind[e];
  const plain = kind === EdgeKind.Control ? theme.faintEdge : kind === EdgeKind.Link ? theme.linkEdge : theme.edge;
  const count = labels.find((label) => label.kind === "count")?.text ?? "";
  const style = styleText({
    edgeStyle: "none",
    rounded: 1,
    strokeColor: edgeColour(scene, theme, e) ?? plain,
    strokeWidth: n(scene.edgeWidth[e]),
    fontColor: theme.secondary,
    fontSize: 9,
    ...(count ? { labelBackgroundColor: theme.background } : {}),
    endArrow: head ? "block" : "none",
    endSize: 4,
    ...(kind === EdgeKind.Data || kind === EdgeKind.Overlay ? {} : { dashed: 1 }),
    ...(start ? { exitX: start[0], exitY: start[1], exitDx: 0, exitDy: 0 } : {}),
    ...(end ? { entryX: end[0], entryY: end[1], entryDx: 0, entryDy: 0 } : {}),
  });
  const points: string[] = [];
  for (let p = from + 3; p < to; p += 3) points.push(`<mxPoint x="${n(curve[2 * p])}" y="${n(curve[2 * p + 1])}"/>`);
  const way = points.length ? `<Array as="points">${points.join("")}</Array>` : "";
  const cell =
    `<mxCell id="e${e}" value="${attribute(count)}" style="${style}" edge="1" parent="${LAYER}" source="b${edgeSource[e]}" target="b${edgeTarget[e]}">` +
    `<mxGeometry relative="1" as="geometry">${way}</mxGeometry></mxCell>`;
  const numbers = labels
    .filter((label) => label.kind === "operand")
    .map(
      (label) =>
        `<mxCell id="o${e}" value="${attribute(label.text)}" style="edgeLabel;align=left;verticalAlign=middle;fontSize=9;fontColor=${theme.secondary}" vertex="1" connectable="0" parent="e${e}">` +
        `<mxGeometry x="${AT_HEAD}" relative="1" as="geometry"/></mxCell>`,
    );
  return [cell, ...numbers];
}

/** A point on the border of a box, as fractions of its width and height. */
function portOf({ x, y, w, h }: Scene, item: number, px: number, py: number): [string, string] | undefined {
  if (item < 0 || w[item] <= 0 || h[item] <= 0) return undefined;
  return [fraction((px - x[item]) / w[item]), fraction((py - y[item]) / h[item])];
}

const fraction = (value: number): string => n(Math.min(1, Math.max(0, value)), 4);
const n = (value: number, digits = 2): string => String(Number(value.toFixed(digits)));
const styleText = (look: Look): string =>
  Object.entries(look)
    .map(([name, value]) => `${name}=${value};`)
    .join("");
/** A line break in an attribute would be read as a space. */
const attribute = (text: string): string => escapeXml(text).replace(/\r?\n|\r/g, "&#10;");
