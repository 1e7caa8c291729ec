/** Edge overlays of the program's file: their colours, legend and labels. */
import { readColour, type Shade } from "../base/colour";
import { EdgeKind, type ProgramData, type Visible } from "../program/types";
import type { LegendRow } from "./types";

const UNKNOWN: Shade = { light: "#6B6B78", dark: "#A0A0AC" };

/** The same colour in every theme, because it comes from the file. */
export const shade = (colour: string | undefined): Shade | undefined => {
  const read = colour === undefined ? undefined : readColour(colour);
  return read === undefined ? undefined : { light: read, dark: read };
};

export const overlayShade = ({ colour }: { readonly colour?: string }): Shade => shade(colour) ?? UNKNOWN;

/** What the colours of drawn overlays mean. */
export function overlayRows({ looks }: ProgramData, visible: Visible): LegendRow[] {
  const drawn = new Set<number>();
  visible.edgeKind.forEach((kind, e) => {
    if (kind === EdgeKind.Overlay) drawn.add(visible.edgeOutput[e]);
  });
  return (looks?.overlays ?? []).flatMap((overlay, i) => (drawn.has(i) ? [{ text: overlay.name, shade: overlayShade(overlay) }] : []));
}

/** Labels of overlay edges (by edge of the view), and their tooltips. */
export function overlayTexts(
  { looks }: ProgramData,
  visible: Visible,
): { labels: ReadonlyMap<number, string>; tooltips: ReadonlyMap<number, string> } {
  const labels = new Map<number, string>(),
    tooltips = new Map<number, string>();
  if (!looks?.overlays.length) return { labels, tooltips };
  const words = new Map<string, string[]>();
  const key = (overlay: number, source: number, target: number) => `${overlay} ${source} ${target}`;
  looks.overlays.forEach(({ edges }, overlay) => {
    for (const [from, to, label] of edges) {
      if (!label) continue;
      const at = key(overlay, visible.boxOfNode[from], visible.boxOfNode[to]);
      words.set(at, [...(words.get(at) ?? []), label]);
    }
  });
  visible.edgeKind.forEach((kind, e) => {
    if (kind !== EdgeKind.Overlay) return;
    const texts = words.get(key(visible.edgeOutput[e], visible.edgeSource[e], visible.edgeTarget[e])) ?? [];
    if (texts.length) labels.set(e, texts.length > 1 ? `${texts[0]}, …` : texts[0]);
    tooltips.set(e, [looks.overlays[visible.edgeOutput[e]].name, ...texts].join("\n"));
  });
  return { labels, tooltips };
}
