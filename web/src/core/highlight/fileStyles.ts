/** Colours and overlays that come with the program's own file, under whatever a person lays over it. */
import { between, contrast, legible, readColour, type Shade } from "../base/colour";
import type { CustomPaint, Highlights, LegendRow } from "../scene/types";
import { EdgeKind, type Grouping, type Look, type ProgramData, type Visible } from "../program/types";
import { ruleOf } from "./apply";

const NIGHT = "#131316";
const NIGHT_INK = "#E9E9EE";

/** The same colour in every theme: it is the file's. */
const shade = (colour: string | undefined): Shade | undefined => {
  const read = colour === undefined ? undefined : readColour(colour);
  return read === undefined ? undefined : { light: read, dark: read };
};

/** Files are made for light pages: in a dark picture a light ground is dimmed, and ink that cannot be read on it gives way. */
function paintOf(look: Look): CustomPaint {
  const fill = shade(look.fill),
    text = shade(look.text),
    stroke = shade(look.stroke);
  const ground = fill && contrast(fill.dark, NIGHT_INK) < 4.5 ? between(fill.dark, NIGHT, 0.82) : fill?.dark;
  return {
    ...(fill && ground ? { fill: { light: fill.light, dark: ground } } : {}),
    ...(stroke ? { stroke } : {}),
    ...(text ? { text: { light: text.light, dark: ground ? legible(ground, text.dark, NIGHT_INK) : text.dark } } : {}),
  };
}

const UNKNOWN: Shade = { light: "#6B6B78", dark: "#A0A0AC" };

export function ownHighlights(program: ProgramData, grouping: Grouping | undefined, visible: Visible): Highlights | undefined {
  const { looks } = program;
  if (!looks) return undefined;
  const paints = [...looks.nodes.map(([, look]) => paintOf(look)), ...looks.groups.map(({ look }) => paintOf(look))];
  const ofNode = new Int16Array(program.nodeCount).fill(-1);
  looks.nodes.forEach(([node], i) => {
    ofNode[node] = i;
  });
  const ofGroup = groupLooks(program, grouping, looks.nodes.length);
  const edge = Int16Array.from(visible.edgeKind, (kind, e) => (kind === EdgeKind.Overlay ? visible.edgeOutput[e] : -1));
  const box = Int16Array.from({ length: visible.boxCount }, (_, b) => ruleOf(visible, b, ofNode, ofGroup));
  return { paints, box, shades: looks.overlays.map(({ colour }) => shade(colour) ?? UNKNOWN), edge };
}

/** Which look each group has, numbered from `first`. A pattern that is none matches nothing. */
function groupLooks({ looks, strings }: ProgramData, grouping: Grouping | undefined, first: number): Int16Array {
  const found = new Int16Array(grouping?.groupCount ?? 0).fill(-1);
  const names: string[] = [];
  const tests = looks!.groups.map(({ pattern }) => {
    try {
      return new RegExp(pattern);
    } catch {
      return undefined;
    }
  });
  for (let g = 0; g < found.length; g++) {
    const parent = grouping!.groupParent[g],
      name = strings.at(grouping!.groupName[g]);
    names.push(parent < 0 ? name : `${names[parent]}/${name}`);
    const at = looks!.groups.findIndex(({ graph }, i) => graph === grouping!.groupGraph[g] && tests[i]?.test(names[g]));
    if (at >= 0) found[g] = first + at;
  }
  return found;
}

/** What the colours of drawn overlays mean. */
export function overlayRows({ looks }: ProgramData, visible: Visible): LegendRow[] {
  const drawn = new Set<number>();
  visible.edgeKind.forEach((kind, e) => {
    if (kind === EdgeKind.Overlay) drawn.add(visible.edgeOutput[e]);
  });
  return (looks?.overlays ?? []).flatMap(({ name, colour }, i) => (drawn.has(i) ? [{ text: name, shade: shade(colour) ?? UNKNOWN }] : []));
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
