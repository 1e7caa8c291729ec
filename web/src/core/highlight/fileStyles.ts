/** Colours and overlays of the program's file; those that a person chooses take precedence. */
import { between, contrast, legible } from "../base/colour";
import { readExpression } from "../base/expression";
import type { CustomPaint, Highlights } from "../scene/types";
import { EdgeKind, type Grouping, type Look, type ProgramData, type Visible } from "../program/types";
import { overlayShade, shade } from "../scene/fileOverlays";
import { ruleOf } from "./apply";

const NIGHT = "#131316";
const NIGHT_INK = "#E9E9EE";

/** Files are written for light pages: in a dark picture a light fill is dimmed, and text that cannot be read on it changes colour. */
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
  return { paints, box, shades: looks.overlays.map(overlayShade), edge };
}

/** The look of each group, numbered from `first`. A pattern that is invalid or could take forever matches nothing. */
function groupLooks({ looks, strings }: ProgramData, grouping: Grouping | undefined, first: number): Int16Array {
  const groupLook = new Int16Array(grouping?.groupCount ?? 0).fill(-1);
  const names: string[] = [];
  const tests = looks!.groups.map(({ pattern }) => {
    try {
      return readExpression(pattern);
    } catch {
      return undefined;
    }
  });
  for (let g = 0; g < groupLook.length; g++) {
    const parent = grouping!.groupParent[g],
      name = strings.at(grouping!.groupName[g]);
    names.push(parent < 0 ? name : `${names[parent]}/${name}`);
    const at = looks!.groups.findIndex(({ graph }, i) => graph === grouping!.groupGraph[g] && tests[i]?.test(names[g]));
    if (at >= 0) groupLook[g] = first + at;
  }
  return groupLook;
}
