/** Edges that the program's own file lays over the graph: their colours, legend and words. */
import { readColour, type Shade } from "../base/colour";
import { EdgeKind, type ProgramData, type Visible } from "../program/types";
import type { LegendRow } from "./types";

const UNKNOWN: Shade = { light: "#6B6B78", dark: "#A0A0AC" };

/** The same colour in every theme: it is the file's. */
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

/** Words at the edges of overlays (by edge of the view), and what their tooltips say. */
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
    const said = words.get(key(visible.edgeOutput[e], visible.edgeSource[e], visible.edgeTarget[e])) ?? [];
    if (said.length) labels.set(e, said.length > 1 ? `${said[0]}, …` : said[0]);
    tooltips.set(e, [looks.overlays[visible.edgeOutput[e]].name, ...said].join("\n"));
  });
  return { labels, tooltips };
}
