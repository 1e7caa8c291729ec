/**
 * The core for hosts without a page (V8 inside Python): load a program's bytes, choose what to see, lay it out, draw it. Each step is
 * one call with JSON in and text out, so that the host can tell how far it is, and an error is a sentence and not a stack trace.
 */
import { visibleToDot } from "./writers/dot";
import { highlightsOf, layered, overlaid } from "./highlight/apply";
import { dataColours } from "./highlight/dataColours";
import { matchRules } from "./highlight/match";
import { matchNodeData } from "./highlight/nodeData";
import { ownHighlights } from "./highlight/fileStyles";
import { rulesOf } from "./highlight/predefined";
import { compileRule } from "./highlight/rules";
import type { CompoundLayout } from "./layout";
import { sceneToPdf } from "./writers/pdf";
import { decodeRecording, isRecording } from "./program/recording/decode";
import { markPaints } from "./program/recording/marks";
import { type Moment, momentOf } from "./program/recording/moment";
import type { RecordingData } from "./program/recording/types";
import { buildScene, inOnePiece, isThread, layoutView, mergeLoneFrames, type Scene, type SceneOptions, THEMES, wrap } from "./scene";
import { sceneToSvg } from "./writers/svg";
import type { ProgramData, ViewSpec, Visible } from "./program/types";
import { buildView } from "./view";
import { halvesOf } from "./view/twoHalves/halves";
import { escapeName } from "./view/choose/keys";
import { decodeWire } from "./program/wire";

/** What the numbers of a wrapped picture mean. */
const CUT_ARROWS = "Numbers in circles join what was parted: an arrow that ends at a number goes on where the same number stands again.";

export interface PictureOptions {
  readonly theme?: "light" | "dark";
  readonly direction?: "TB" | "LR";
  readonly legend?: boolean;
  /** Break a very long picture into columns: always, never, or (by default) where it is a thread. */
  readonly wrap?: boolean;
  readonly title?: string;
  readonly fontCss?: string;
  /** Style rules, or the name of predefined ones; and a file of data about nodes, whose first run colours the boxes. */
  readonly style?: unknown;
  readonly nodeData?: { readonly name: string; readonly file: unknown };
  readonly grouping?: string;
}

let bytes = new Uint8Array(0);
let program: ProgramData | undefined;
let visible: Visible | undefined;
let layout: CompoundLayout | undefined;
let scene: Scene | undefined;
let about: ReadonlySet<string> = new Set();
let beside = false;
let operands: boolean | undefined;
let recording: RecordingData | undefined;
let marks: Uint8Array | undefined;

/** Room for the program's bytes, for the host to fill (V8 takes no byte strings as arguments). */
export function allocate(length: number): Uint8Array {
  bytes = new Uint8Array(length);
  return bytes;
}

const steps: Record<string, (argument: never) => string> = {
  load(): string {
    marks = undefined;
    recording = isRecording(bytes) ? decodeRecording(bytes) : undefined;
    program = recording ? recording.program(recording.passes[recording.passes.length - 1].content) : decodeWire(bytes);
    return JSON.stringify({ name: program.name, nodes: program.nodeCount });
  },

  /** Of a recording: the program before or after its last pass, or both in one, with what it did marked. */
  moment(mode: Moment | null): string {
    const shown = recording && mode ? momentOf(recording, mode) : undefined;
    if (shown) ({ program, marks } = shown);
    return JSON.stringify({ nodes: need(program).nodeCount });
  },

  view(spec: ViewSpec): string {
    visible = mergeLoneFrames(buildView(need(program), spec));
    operands = spec.operands;
    beside = spec.beside === true && halvesOf(visible) !== undefined;
    const named = [...(spec.around?.nodes ?? []), ...(spec.paths ? [spec.paths.from, spec.paths.to] : [])];
    about = new Set(named.map((name) => `n:${escapeName(name)}`));
    return JSON.stringify({ boxes: visible.boxCount, edges: visible.edgeCount, remarks: visible.remarks });
  },

  layout(options: PictureOptions): string {
    layout = layoutView(need(program), need(visible), beside, { direction: options.direction, now: Date.now, budget: 4000 });
    return JSON.stringify({ width: layout.width, height: layout.height });
  },

  scene(options: PictureOptions): string {
    const { legend = true } = options;
    const direction = beside ? "TB" : (options.direction ?? "TB");
    const whole = need(layout);
    const seen = need(visible);
    const broken = options.wrap ?? (!beside && isThread(whole, direction));
    const placed = broken ? wrap(seen, whole, direction) : inOnePiece(seen, whole);
    const told = broken && placed.labels.length ? { ...seen, remarks: [...seen.remarks, CUT_ARROWS] } : seen;
    scene = buildScene(need(program), told, placed, {
      direction,
      legend,
      operands,
      emphasis: about,
      ...(marks ? { paints: markPaints(seen, marks) } : chosenColours(need(program), seen, options)),
    });
    return JSON.stringify({ width: Math.ceil(scene.width), height: Math.ceil(scene.height) });
  },

  svg(options: PictureOptions): string {
    return sceneToSvg(need(scene), THEMES[options.theme ?? "light"], options);
  },

  dot(options: PictureOptions): string {
    return visibleToDot(need(visible), THEMES[options.theme ?? "light"], options);
  },

  pdf(options: PictureOptions): string {
    return sceneToPdf(need(scene), THEMES[options.theme ?? "light"]);
  },
};

/** What the person's rules and data say about the boxes of a view. */
function chosenColours(
  data: ProgramData,
  seen: Visible,
  { style, nodeData, grouping }: PictureOptions,
): Pick<SceneOptions, "highlights" | "legendRows" | "paints"> {
  const rules = rulesOf(style).map(compileRule);
  rules.forEach(({ problem }, i) => {
    if (problem) throw new Error(`style rule ${i + 1}: ${problem}`);
  });
  const groups = data.groupings.find(({ name }) => name === grouping) ?? data.groupings[0];
  const ruled = layered(
    ownHighlights(data, groups, seen),
    rules.length ? highlightsOf(seen, rules, matchRules(data, groups, rules)) : undefined,
  );
  const run = nodeData && matchNodeData(data, nodeData.file, nodeData.name)[0];
  const coloured = run && dataColours(run, seen);
  return {
    highlights: overlaid(ruled, coloured?.highlights, seen),
    legendRows: coloured?.legend,
    ...(coloured ? { paints: coloured.paints } : {}),
  };
}

function need<T>(value: T | undefined): T {
  if (value === undefined)
    throw new Error("steps must come in order: load, view, layout, scene, then svg or pdf (dot needs the view only)");
  return value;
}

/** One step by name. The answer starts with "+" and carries the result, or with "-" and says what went wrong. */
export function call(step: string, argument: string): string {
  try {
    return `+${steps[step](JSON.parse(argument) as never)}`;
  } catch (error) {
    return `-${error instanceof Error ? error.message : String(error)}`;
  }
}
