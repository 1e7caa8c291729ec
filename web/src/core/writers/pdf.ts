/**
 * A scene as the content stream of a PDF page (the host wraps it: `render/writers/pdf.py`). Text is written as Unicode code units under
 * the two bundled fonts, so that it can be selected and searched.
 */
import { type Dash, paintScene, type Painter } from "../scene/painter";
import type { Theme } from "../scene/theme";
import type { Scene, TextRun } from "../scene/types";

/** The distance of a control point from the corner of a quarter circle, as a share of the radius. */
const ARC = 1 - 0.5522847498;

const n = (value: number): string => String(Math.round(value * 100) / 100);

class PdfPainter implements Painter {
  private readonly chunks: string[] = [];
  private lines: string[] = [];
  private fillColour = "";
  private strokeColour = "";
  private lineWidth = -1;
  private dash: Dash | undefined;

  begin(): void {}
  end(): void {}

  put(line: string): void {
    if (this.lines.push(line) < 4096) return;
    this.chunks.push(this.lines.join("\n"));
    this.lines = [];
  }

  private fillWith(colour: string): void {
    if (colour === this.fillColour) return;
    this.fillColour = colour;
    this.put(`${channels(colour)} rg`);
  }

  private strokeWith(colour: string, width: number, dash: Dash): void {
    if (colour !== this.strokeColour) this.put(`${channels(colour)} RG`);
    if (width !== this.lineWidth) this.put(`${n(width)} w`);
    if (dash !== this.dash) this.put(dash === "solid" ? "[] 0 d" : dash === "dotted" ? "[1.5 3] 0 d" : "[5 3] 0 d");
    this.strokeColour = colour;
    this.lineWidth = width;
    this.dash = dash;
  }

  rect(x: number, y: number, w: number, h: number, radius: number, fill: string, stroke: string, width: number, dash: Dash): void {
    if (fill) this.fillWith(fill);
    if (stroke) this.strokeWith(stroke, width, dash);
    const act = fill && stroke ? "B" : fill ? "f" : "S";
    const r = Math.min(radius, w / 2, h / 2);
    if (r <= 0) {
      this.put(`${n(x)} ${n(y)} ${n(w)} ${n(h)} re ${act}`);
      return;
    }
    const c = r * ARC;
    const right = x + w;
    const bottom = y + h;
    this.put(
      `${n(x + r)} ${n(y)} m ${n(right - r)} ${n(y)} l ${n(right - c)} ${n(y)} ${n(right)} ${n(y + c)} ${n(right)} ${n(y + r)} c ` +
        `${n(right)} ${n(bottom - r)} l ${n(right)} ${n(bottom - c)} ${n(right - c)} ${n(bottom)} ${n(right - r)} ${n(bottom)} c ` +
        `${n(x + r)} ${n(bottom)} l ${n(x + c)} ${n(bottom)} ${n(x)} ${n(bottom - c)} ${n(x)} ${n(bottom - r)} c ` +
        `${n(x)} ${n(y + r)} l ${n(x)} ${n(y + c)} ${n(x + c)} ${n(y)} ${n(x + r)} ${n(y)} c h ${act}`,
    );
  }

  curve(curve: Float64Array, from: number, to: number, stroke: string, width: number, dash: Dash): void {
    this.strokeWith(stroke, width, dash);
    let path = `${n(curve[2 * from])} ${n(curve[2 * from + 1])} m`;
    for (let p = from + 1; p < to; p += 3) {
      for (let i = 0; i < 6; i++) path += ` ${n(curve[2 * p + i])}`;
      path += " c";
    }
    this.put(`${path} S`);
  }

  triangle(x0: number, y0: number, x1: number, y1: number, x2: number, y2: number, fill: string): void {
    this.fillWith(fill);
    this.put(`${n(x0)} ${n(y0)} m ${n(x1)} ${n(y1)} l ${n(x2)} ${n(y2)} l h f`);
  }

  text(run: TextRun, colour: string): void {
    this.fillWith(colour);
    const x = run.anchor === "start" ? run.x : run.anchor === "middle" ? run.x - run.width / 2 : run.x - run.width;
    this.put(`BT /F${run.bold ? 2 : 1} ${run.size} Tf 1 0 0 -1 ${n(x)} ${n(run.y)} Tm <${codes(run.text)}> Tj ET`);
  }

  finish(): string {
    return [...this.chunks, ...this.lines].join("\n");
  }
}

const channels = (colour: string): string =>
  [1, 3, 5].map((at) => String(Math.round((Number.parseInt(colour.slice(at, at + 2), 16) / 255) * 1000) / 1000)).join(" ");

/** UTF-16 code units as hex. A character beyond the first plane becomes one replacement character: the font has none of them. */
function codes(text: string): string {
  let hex = "";
  for (let i = 0; i < text.length; i++) {
    let code = text.charCodeAt(i);
    if (code >= 0xdc00 && code <= 0xdfff) continue;
    if (code >= 0xd800 && code <= 0xdbff) code = 0xfffd;
    hex += code.toString(16).padStart(4, "0");
  }
  return hex;
}

/** Drawing commands in scene coordinates (y downwards). */
export function sceneToPdf(scene: Scene, theme: Theme): string {
  return pdfOf(scene, theme, (painter) => paintScene(scene, theme, painter));
}

/** Drawing commands of anything that is painted. */
export function pdfOf(size: { readonly width: number; readonly height: number }, theme: Theme, paint: (painter: Painter) => void): string {
  const painter = new PdfPainter();
  if (theme.paper) painter.rect(0, 0, Math.ceil(size.width), Math.ceil(size.height), 0, theme.paper, "", 0, "solid");
  paint(painter);
  return painter.finish();
}
