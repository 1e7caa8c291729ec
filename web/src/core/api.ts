/**
 * The core for hosts without a page (V8 inside Python): load a program's bytes, draw, write. Each step is one call with JSON in and
 * text out, so that the host can report progress, and an error is a message and not a stack trace.
 */
import { DATA, Highlighter } from "./highlight/highlighter";
import { compileRule, readRules } from "./highlight/rules";
import { decodeMemory } from "./memory/memory";
import { choose, draw, FILE, type Picture, type PictureRequest, SEEN } from "./picture";
import { costPicture } from "./picture/cost";
import { memoryPicture } from "./picture/memory";
import type { PanelPicture } from "./picture/types";
import { decodeRecording } from "./program/decode";
import { indexOf } from "./program/programIndex";
import { decodeDiff } from "./program/recording/diff";
import { listedGraphs } from "./listing/listed";
import { Composed } from "./program/recording/compose";
import { historyOf } from "./program/recording/history";
import { momentOf } from "./program/recording/moment";
import type { PassDiff, RecordingData } from "./program/recording/types";
import type { ProgramData, Visible } from "./program/types";
import type { RequestOption } from "./program/options";
import type { ViewOptions } from "./program/viewOptions";
import { searchPasses } from "./search/passes";
import { compileQuery } from "./search/search";
import { type Colours, type Theme, THEMES } from "./scene";
import type { Painter } from "./scene/painter";
import { onPaper } from "./scene/theme";
import { changeColours } from "./scene/changePaints";
import { savedOutputs } from "./view/twoHalves/saved";
import { visibleToDot } from "./writers/dot";
import { sceneToDrawio } from "./writers/drawio";
import { pdfOf, sceneToPdf } from "./writers/pdf";
import { svgOf, svgPieces } from "./writers/svg";

/** What the picture of a file shows. Absent fields have the defaults of files, or with `as: "seen"` those of screens. */
interface FileRequest extends Omit<PictureRequest, "colours" | RequestOption>, Partial<Pick<ViewOptions, RequestOption>> {
  readonly as?: "file" | "seen";
  /** Style rules, and a file of data about nodes, whose first run colours the boxes. */
  readonly style?: unknown;
  readonly nodeData?: { readonly name: string; readonly file: unknown };
}

/** How a drawn picture is written. */
interface WriteOptions extends Partial<Pick<ViewOptions, RequestOption>> {
  readonly title?: string;
  readonly fontCss?: string;
}

let bytes = new Uint8Array(0);
let program: ProgramData | undefined;
let recording: RecordingData | undefined;
let picture: Picture | undefined;

/** A mistake in a name. The host, which knows how to suggest names, completes the message. */
class UnknownName extends Error {
  constructor(
    message: string,
    readonly unknown: string,
    readonly choices: readonly string[],
  ) {
    super(message);
  }
}

/** Allocates the program's bytes for the host to fill (V8 takes no byte strings as arguments). */
export function allocate(length: number): Uint8Array {
  bytes = new Uint8Array(length);
  return bytes;
}

/** What is left of an answer in pieces, the next one last. */
let pieces: string[] = [];

const steps: Record<string, (argument: never) => string | readonly string[]> = {
  load(): string {
    recording = decodeRecording(bytes);
    program = recording.program(recording.passes.at(-1)?.content ?? 0);
    return JSON.stringify({ name: program.name, nodes: program.nodeCount });
  },

  draw(request: FileRequest): string {
    const marked = recording && request.diff ? momentOf(recording, request.diff) : undefined;
    const shown = marked?.program ?? need(program);
    const colours =
      marked && request.colourBy === undefined
        ? (visible: Visible): Colours => changeColours(marked.program, visible, marked)
        : coloursFor(shown, request);
    picture = draw(shown, { ...(request.as === "seen" ? SEEN : FILE), ...request, colours });
    const { visible, scene } = picture;
    return JSON.stringify({
      width: Math.ceil(scene.width),
      height: Math.ceil(scene.height),
      boxes: visible.boxCount,
      edges: visible.edgeCount,
      remarks: visible.remarks,
    });
  },

  /** What every pass did to a node. The bytes are the diffs of the passes of one module, of these lengths (0: it changed nothing). */
  history({ lengths, pass, node }: { lengths: readonly number[]; pass: number; node: number }): string {
    const diffs = packedDiffs(lengths);
    const rows = lengths.map((_, i) => ({ before: i - 1, module: "" }));
    const walk = historyOf(rows, pass, node);
    let next = walk.next();
    while (!next.done) next = walk.next(diffs(next.value));
    return JSON.stringify(next.value);
  },

  /** The links of passes in a row, from a program of that many nodes to the last. The bytes are as for `history`. */
  compose({ lengths, count }: { lengths: readonly number[]; count: number }): string {
    const diffs = packedDiffs(lengths);
    const composed = new Composed(count);
    for (const at of lengths.keys()) {
      const diff = diffs(at);
      if (diff) composed.follow(diff);
    }
    return JSON.stringify(composed.links());
  },

  /** What a query finds after each pass of a recording, and which passes touched it. */
  searchPasses({ query: text }: { query: string }): string {
    const { passes, program: programOf, diff } = need(recording);
    const query = compileQuery(text);
    if (query.problem !== undefined) throw new Error(query.problem);
    const rows = searchPasses(passes, query, (pass) => programOf(passes[pass].content), diff);
    if (query.doubt !== undefined && rows.every(({ count }) => count === 0)) throw new Error(query.doubt);
    return JSON.stringify(rows);
  },

  /** What the forward half saves for the backward half: nodes and their outputs, with bytes (-1: unknown). */
  saved(): string {
    const shown = need(program);
    return JSON.stringify([...savedOutputs(shown)].map(([at, { node, bytes }]) => [node, at - shown.outputs.start[node], bytes]));
  },

  /** Both programs of a comparison as lines, side by side: changes with some context, or everything. */
  listing({ whole }: { whole: boolean }): string {
    const { passes, program: programOf, diff: diffOf } = need(recording);
    const row = passes.at(-1);
    const diff = row && row.before >= 0 ? diffOf(passes.length - 1) : undefined;
    if (!row || !diff) return JSON.stringify([]);
    const before = programOf(passes[row.before].content),
      after = programOf(row.content);
    return JSON.stringify(listedGraphs(before, after, diff, whole));
  },

  svg(options: WriteOptions): readonly string[] {
    return svgPieces(need(picture).scene, themeOf(options), options);
  },

  pdf(options: WriteOptions): string {
    return sceneToPdf(need(picture).scene, themeOf(options));
  },

  drawio(options: WriteOptions): string {
    return sceneToDrawio(need(picture).scene, themeOf(options), options);
  },

  /** The picture of a run's memory at a position. The bytes are the memory, not a program. */
  memory({ form, position, ...options }: { form: "svg" | "pdf"; position: number } & WriteOptions): string {
    return painted(memoryPicture(decodeMemory(bytes), position), form, options);
  },

  /** The picture of what the entry costs, by a metric. */
  cost({ form, by, ...options }: { form: "svg" | "pdf"; by?: string } & WriteOptions): string {
    const index = indexOf(need(program));
    const drawn = costPicture(index, index.program.entry, by);
    if (!drawn) throw new Error("nothing here has a time, FLOPs or bytes");
    return painted(drawn, form, options);
  },

  /** Needs no picture, because Graphviz does the layout. */
  dot({ theme = "light", title, ...request }: FileRequest & WriteOptions): string {
    const { visible } = choose(need(program), { ...FILE, ...request });
    return visibleToDot(visible, THEMES[theme], { title, rankdir: request.rankdir, operands: request.spec.operands });
  },
};

/** A picture of a panel, written. */
function painted({ width, height, paint }: PanelPicture, form: "svg" | "pdf", options: WriteOptions): string {
  const theme = themeOf(options);
  const paintAll = (painter: Painter) => paint(painter, theme);
  const text = form === "svg" ? svgOf({ width, height }, theme, options, paintAll) : pdfOf({ width, height }, theme, paintAll);
  return JSON.stringify({ width, height, text });
}

/** The diffs of passes, which the bytes contain one after the other; undefined where a pass changed nothing. */
function packedDiffs(lengths: readonly number[]): (at: number) => PassDiff | undefined {
  let end = 0;
  const ends = lengths.map((length) => {
    end += length;
    return end;
  });
  return (at) => (lengths[at] ? decodeDiff(bytes.subarray(ends[at] - lengths[at], ends[at])) : undefined);
}

function themeOf({ theme = "light", background }: WriteOptions): Theme {
  return onPaper(THEMES[theme], background);
}

/** The colours that rules and data give to the boxes of a view. A mistake in them is reported before anything is drawn. */
function coloursFor(shown: ProgramData, { style, nodeData, colourBy, colourScale }: FileRequest): (visible: Visible) => Colours {
  const rules = readRules(style ?? []);
  rules.map(compileRule).forEach(({ problem }, i) => {
    if (problem) throw new Error(`style rule ${i + 1}: ${problem}`);
  });
  const highlighter = new Highlighter(shown);
  const [run] = nodeData ? highlighter.add(nodeData.file, nodeData.name) : [];
  const chosen = colourBy ?? (run ? `${DATA}${run.name}` : "category");
  if (!highlighter.knows(chosen))
    throw new UnknownName(`nothing named '${chosen}' to colour by`, chosen, [...highlighter.choices, "attr:NAME"]);
  return (visible) => highlighter.colours(visible, { rules, colour: chosen, scale: colourScale });
}

function need<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("steps must come in order: load, draw, then svg, pdf or drawio (dot needs load only)");
  return value;
}

/**
 * One step by name. The answer is "+" and the result, "*" and in how many pieces it can be fetched (a text of a hundred megabytes is
 * copied several times on its way to the host), "-" and what went wrong, or "?" and a mistake in a name.
 */
export function call(step: string, argument: string): string {
  try {
    const answer = steps[step](JSON.parse(argument) as never);
    if (typeof answer === "string") return `+${answer}`;
    pieces = [...answer].reverse();
    return `*${pieces.length}`;
  } catch (error) {
    if (error instanceof UnknownName)
      return `?${JSON.stringify({ message: error.message, unknown: error.unknown, choices: error.choices })}`;
    return `-${error instanceof Error ? error.message : String(error)}`;
  }
}

/** The next piece of the last answer. */
export function nextPiece(): string {
  return need(pieces.pop());
}
