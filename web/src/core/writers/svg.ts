/**
 * SVG text of a scene: selectable text, tooltips, stable ids and classes, colours as plain hex (so that rasterizers without CSS
 * variables draw the same). Built in chunks; names are escaped and can never become markup.
 */
import type { Size } from "../base/camera";
import { EdgeKind } from "../program/types";
import { BOLD_WEIGHT, FONT_STACK } from "../text/measure";
import { type Dash, paintScene, type Painter, type Part } from "../scene/painter";
import { boxTooltip, edgeTooltip } from "../scene/tooltips";
import type { Theme } from "../scene/theme";
import type { Scene, TextRun } from "../scene/types";

export interface SvgOptions {
  /** An @font-face rule, so that the picture looks the same if the font is not installed. */
  readonly fontCss?: string;
  readonly title?: string;
}

const UNSAFE = /[&<>"\ufffe\uffff]|(?![\t\n\r])\p{Cc}|\p{Cs}/gu;
const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** Anything but what needs no escape: nearly no text has any, and looking is faster than replacing. */
const DOUBTFUL = /[^ !#-%'-;=?-~\u00a0-\ud7ff\ue000-\ufffd]/;

/** Text for XML: markup characters as entities; characters that XML does not allow as a replacement character. */
export function escapeXml(text: string): string {
  return !DOUBTFUL.test(text) ? text : text.replace(UNSAFE, (character) => ENTITIES[character] ?? "\ufffd");
}

/** At most two decimals, and no more than needed. */
const n = (value: number): string => String(Math.round(value * 100) / 100);

const EDGE_CLASS: Record<number, string> = {
  [EdgeKind.Data]: "data",
  [EdgeKind.Control]: "control",
  [EdgeKind.Link]: "link",
  [EdgeKind.Carried]: "carried",
  [EdgeKind.Overlay]: "overlay",
};

class SvgPainter implements Painter {
  private readonly chunks: string[] = [];
  private lines: string[] = [];

  /** Only the parts of a scene have ids and tooltips. */
  constructor(private readonly scene?: Scene) {}

  private put(line: string): void {
    if (this.lines.push(line) >= 4096) this.flush();
  }

  private flush(): void {
    this.chunks.push(`${this.lines.join("\n")}\n`);
    this.lines = [];
  }

  begin(part: Part, index: number): void {
    this.put(this.opening(part, index));
  }

  private opening(part: Part, index: number): string {
    const { scene } = this;
    if (!scene) return `<g class="${part}">`;
    if (part === "edge") {
      const ends = `data-from="${escapeXml(key(scene, scene.edgeSource[index]))}" data-to="${escapeXml(key(scene, scene.edgeTarget[index]))}"`;
      return `<g class="edge ${EDGE_CLASS[scene.edgeKind[index]]}" id="e${index}" ${ends}><title>${escapeXml(edgeTooltip(scene, index))}</title>`;
    }
    if (part === "frame" || part === "box") {
      const id = part === "frame" ? `f${index}` : `b${index}`;
      return `<g class="${part}" id="${id}" data-key="${escapeXml(key(scene, index))}"><title>${escapeXml(boxTooltip(scene, index))}</title>`;
    }
    return `<g class="${part}">`;
  }

  end(): void {
    this.put("</g>");
  }

  rect(x: number, y: number, w: number, h: number, radius: number, fill: string, stroke: string, width: number, dash: Dash): void {
    const round = radius ? ` rx="${n(Math.min(radius, h / 2, w / 2))}"` : "";
    const line = stroke ? ` stroke="${stroke}"${width === 1 ? "" : ` stroke-width="${n(width)}"`}${dashed(dash)}` : "";
    this.put(`<rect x="${n(x)}" y="${n(y)}" width="${n(w)}" height="${n(h)}"${round} fill="${fill || "none"}"${line}/>`);
  }

  curve(curve: Float64Array, from: number, to: number, stroke: string, width: number, dash: Dash): void {
    let d = `M${n(curve[2 * from])} ${n(curve[2 * from + 1])}`;
    for (let p = from + 1; p < to; p += 3) {
      d += straight(curve, p) ? "L" : `C${n(curve[2 * p])} ${n(curve[2 * p + 1])} ${n(curve[2 * p + 2])} ${n(curve[2 * p + 3])} `;
      d += `${n(curve[2 * p + 4])} ${n(curve[2 * p + 5])}`;
    }
    this.put(`<path d="${d}" fill="none" stroke="${stroke}" stroke-width="${n(width)}"${dashed(dash)}/>`);
  }

  triangle(x0: number, y0: number, x1: number, y1: number, x2: number, y2: number, fill: string): void {
    this.put(`<path d="M${n(x0)} ${n(y0)}L${n(x1)} ${n(y1)} ${n(x2)} ${n(y2)}Z" fill="${fill}"/>`);
  }

  text(run: TextRun, colour: string): void {
    const anchor = run.anchor === "start" ? "" : ` text-anchor="${run.anchor}"`;
    const weight = run.bold ? ` font-weight="${BOLD_WEIGHT}"` : "";
    const tip = run.full === undefined ? "" : `<title>${escapeXml(run.full)}</title>`;
    this.put(
      `<text x="${n(run.x)}" y="${n(run.y)}" font-size="${run.size}"${weight}${anchor} fill="${colour}">${tip}${escapeXml(run.text)}</text>`,
    );
  }

  finish(): string[] {
    this.flush();
    return this.chunks;
  }
}

function dashed(dash: Dash): string {
  if (dash === "solid") return "";
  return dash === "dotted" ? ' stroke-dasharray="1.5 3"' : ' stroke-dasharray="5 3"';
}

/** Is this cubic a vertical or horizontal line? Most are, and "L" is a third of the text. */
function straight(curve: Float64Array, p: number): boolean {
  const same = (axis: 0 | 1) => {
    const at = curve[2 * p - 2 + axis];
    return curve[2 * p + axis] === at && curve[2 * p + 2 + axis] === at && curve[2 * p + 4 + axis] === at;
  };
  return same(0) || same(1);
}

function key(scene: Scene, item: number): string {
  return item < 0 ? "" : scene.key[scene.box[item]];
}

export function sceneToSvg(scene: Scene, theme: Theme, options: SvgOptions = {}): string {
  return svgPieces(scene, theme, options).join("");
}

/** The same in pieces, for whom the whole of a very large picture is too much at once. */
export function svgPieces(scene: Scene, theme: Theme, options: SvgOptions = {}): readonly string[] {
  return piecesOf(scene, theme, options, (painter) => paintScene(scene, theme, painter), scene);
}

/** SVG text of anything that is painted. */
export function svgOf(size: Size, theme: Theme, options: SvgOptions, paint: (painter: Painter) => void): string {
  return piecesOf(size, theme, options, paint).join("");
}

function piecesOf(size: Size, theme: Theme, options: SvgOptions, paint: (painter: Painter) => void, scene?: Scene): string[] {
  const width = n(Math.ceil(size.width));
  const height = n(Math.ceil(size.height));
  const painter = new SvgPainter(scene);
  paint(painter);
  const font = options.fontCss ?? "";
  const head = [
    `<svg xmlns="http://www.w3.org/2000/svg" class="opscope ${theme.name}" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="${escapeXml(FONT_STACK)}" stroke-linejoin="round">`,
    options.title ? `<title>${escapeXml(options.title)}</title>` : "",
    `<style>${font}.opscope text{font-kerning:none;font-variant-ligatures:none;white-space:pre}</style>`,
    theme.paper ? `<rect width="${width}" height="${height}" fill="${theme.paper}"/>` : "",
  ];
  return [`${head.join("\n")}\n`, ...painter.finish(), "</svg>\n"];
}
