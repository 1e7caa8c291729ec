/**
 * The one way from a program to a picture: view, layout, scene. Both the page's engine and the Python host use it, so the screen and
 * an exported file show the same picture for the same request.
 */
import { LayoutCache, layoutCompound, layoutDeep, layoutTwoHalves } from "../layout";
import type { Size } from "../base/camera";
import type { ProgramData, ViewSpec, Visible } from "../program/types";
import { buildScene, unwrapped, isThread, measure, mergeLoneFrames, wrap } from "../scene";
import { buildView } from "../view";
import { escapeName } from "../view/choose/keys";
import { isCalm } from "../view/initial/expansion";
import { openAmongClosed } from "../view/initial/equals";
import { boxesFor, fillScreen, groupToShow, MOST_IN_FIRST } from "../view/initial/fillScreen";
import { fitToScreen } from "../view/initial/fitToScreen";
import { reveal } from "../view/reveal";
import { halvesOf, isTooDeep } from "../view/twoHalves/halves";
import { isLargeView, isNextStep, placesBefore, stepsTo } from "./continuity";
import { bothInSight } from "./bothInSight";
import { columnsOf, inBestColumns } from "./columns";
import { labelled } from "./labels";
import { sized } from "./sizes";
import type { Arrangement, DrawContext, Picture, PictureRequest } from "./types";

/** What the numbers of a wrapped picture mean. */
const CUT_ARROWS = "Circled numbers continue across columns: an arrow that ends at a number resumes at the same number.";

export function draw(program: ProgramData, request: PictureRequest, context: DrawContext = {}): Picture {
  context.progress?.(0.05, "Choosing what to show");
  const cache = context.cache ?? new LayoutCache();
  return compose(arrange(program, request, { ...context, cache }), request, context);
}

/** Chooses the boxes and places them; if room is limited, with fewer groups open until they fit, and if there is more, with more. */
function arrange(program: ProgramData, { fill, ...request }: PictureRequest, context: DrawContext): Arrangement {
  const arrangement = arrangeInRoom(program, request, context);
  if (!fill || arrangement.closed.length > 0) return arrangement;
  const narrow = bothInSight(arrangement, fill, (closed) => {
    const asked = { ...request, spec: { ...request.spec, closed: [...(request.spec.closed ?? []), ...closed] } };
    return arrangeChosen(chooseAt(program, asked, context), { ...context, before: arrangement });
  });
  if (narrow !== arrangement) return { ...narrow, request };
  return { ...filling(program, request, arrangement, fill, context), request };
}

/** An arrangement with as much open, and in as many columns, as fill a screen. */
function filling(program: ProgramData, request: PictureRequest, arrangement: Arrangement, fill: Size, context: DrawContext): Arrangement {
  const { room, ...roomy } = request;
  const opening = (opened: readonly string[], mostBoxes: number, before = arrangement) => {
    const asked = { ...roomy, spec: { ...request.spec, open: [...(request.spec.open ?? []), ...opened] } };
    const chosen = chooseAt(program, asked, context);
    return chosen.visible.boxCount > mostBoxes ? undefined : arrangeChosen(chosen, { ...context, before });
  };
  const group = groupToShow(arrangement.visible);
  const shown = group === undefined ? undefined : opening([group], MOST_IN_FIRST);
  if (group !== undefined && shown && isCalm(shown.visible)) return { ...shown, opened: [group] };
  const most = boxesFor(fill, arrangement.visible);
  if (most === 0) return arrangement;
  const fuller = (opened: readonly string[], before: Arrangement) => {
    const more = opening(opened, most, before);
    return more && inBestColumns(more, fill);
  };
  return fillScreen(fill, inBestColumns(arrangement, fill), fuller, (visible) => openAmongClosed(program, visible));
}

function arrangeInRoom(program: ProgramData, request: PictureRequest, context: DrawContext): Arrangement {
  const { room, ...roomy } = request;
  if (room) {
    let whole: Arrangement | undefined;
    const closing = (closed: readonly string[]) => {
      const asked = closed.length ? { ...roomy, spec: { ...request.spec, closed } } : roomy;
      const arrangement = arrangeInRoom(program, asked, whole ? { ...context, before: whole } : context);
      whole ??= arrangement;
      return arrangement;
    };
    return { ...fitToScreen(room, closing), request };
  }
  return arrangeChosen(chooseAt(program, request, context), context);
}

/** Places boxes where those of the picture before them lead. */
function arrangeChosen(chosen: Unplaced, context: DrawContext): Arrangement {
  const { before } = context;
  const { program, request, spec, visible } = chosen;
  if (before && isSame(before, chosen)) return { ...chosen, layout: before.layout, layoutMs: 0 };
  if (chosen.stayed || (before && isNextStep(before, request.spec, visible))) return place(chosen, before, context);
  return place(chosen, isLargeView(visible) ? undefined : stepBefore(program, { ...request, spec }, context), context);
}

/** The picture from which one with more groups expanded continues: the one before, if it is that, else it is drawn. */
function stepBefore(program: ProgramData, request: PictureRequest, { now, cache, before }: DrawContext): Arrangement | undefined {
  const steps = stepsTo(request.spec).map((spec) => ({ ...request, reveal: undefined, spec }));
  const isShown = (step: PictureRequest) =>
    before !== undefined && isSame(before, { program, request: step, spec: step.spec, direction: before.direction });
  const shown = steps.map(isShown).lastIndexOf(true);
  let previous = shown < 0 ? undefined : before;
  for (const step of steps.slice(shown + 1)) previous = place(chooseAt(program, step, { now }), previous, { now, cache });
  return previous;
}

type Unplaced = Omit<Arrangement, "layout" | "layoutMs">;

function chooseAt(program: ProgramData, request: PictureRequest, { now = Date.now, stayed }: DrawContext): Unplaced {
  const start = now();
  const { visible, ...chosen } = choose(program, request);
  const halves = chosen.spec.forwardBackward && !isTooDeep(visible) ? halvesOf(visible, program) : undefined;
  return {
    program,
    request,
    ...chosen,
    visible,
    // Two halves are always laid out downwards.
    direction: halves ? "TB" : (request.rankdir ?? "TB"),
    halves,
    closed: [],
    stayed: stayed?.(visible),
    viewMs: now() - start,
  };
}

/** Gives boxes their places; those of `previous` keep their order. */
function place(chosen: Unplaced, previous: Arrangement | undefined, { now = Date.now, progress, cache }: DrawContext): Arrangement {
  const start = now();
  const { visible, halves, direction } = chosen;
  const options = {
    direction,
    progress: progress && ((part: number) => progress(0.1 + part * 0.7, "Laying out")),
  };
  const graph = measure(visible, previous && placesBefore(previous, chosen));
  const layOut = chosen.request.wrap ? layoutDeep : layoutCompound;
  const layout = halves ? layoutTwoHalves(graph, halves, options, cache) : layOut(graph, options, cache);
  return { ...chosen, layout, layoutMs: now() - start };
}

interface Chosen {
  readonly visible: Visible;
  readonly spec: ViewSpec;
  readonly opened: readonly string[];
  readonly unfolded: readonly string[];
  readonly revealed: number;
}

/** The boxes of a picture, without places. */
export function choose(program: ProgramData, request: PictureRequest): Chosen {
  const { spec, mergeFrames } = request;
  const chosen = request.reveal
    ? reveal(program, spec, request.reveal.node, request.reveal.level)
    : { visible: buildView(program, spec), spec, opened: [], unfolded: [], revealed: -1 };
  const visible = mergeFrames ? mergeLoneFrames(chosen.visible) : chosen.visible;
  return { ...chosen, visible: sized(program, labelled(program, visible, spec.label ?? []), spec.sizeBy) };
}

/** Does a picture have the same boxes as the previous one? */
function isSame(
  before: Arrangement,
  { program, request, spec, direction }: Pick<Arrangement, "program" | "request" | "spec" | "direction">,
): boolean {
  const key = (of: ViewSpec, { mergeFrames }: PictureRequest, flow: string) => JSON.stringify([of, mergeFrames ?? false, flow]);
  return before.program === program && key(before.spec, before.request, before.direction) === key(spec, request, direction);
}

/** Lines, texts and colours for boxes that have their places. */
export function compose(arrangement: Arrangement, request: PictureRequest, { progress }: DrawContext = {}): Picture {
  progress?.(0.85, "Drawing");
  const { program, spec, visible, layout, direction, halves } = arrangement;
  const { wrap: wrapped } = request;
  // In a file, halves are in one piece: a page has no room for two of them in each column.
  const isInOnePiece = halves !== undefined && wrapped === "page";
  const broken =
    typeof wrapped === "string" ? !isInOnePiece && (layout.far !== undefined || isThread(layout, direction, wrapped)) : wrapped;
  const columns = columnsOf(arrangement, arrangement.columns ?? request.columns);
  const placed = broken
    ? wrap(visible, layout, direction)
    : columns > 1
      ? wrap(visible, layout, direction, columns)
      : unwrapped(visible, layout);
  const explained = placed.labels.length ? { ...visible, remarks: [...visible.remarks, CUT_ARROWS] } : visible;
  const scene = buildScene(program, explained, placed, {
    direction,
    legend: request.legend ?? false,
    regions: wrapped === "screen" && !request.legend,
    operands: spec.operands,
    ...(request.emphasis ? { emphasis: namedBoxes(spec) } : {}),
    ...request.colours?.(visible),
  });
  return { ...arrangement, request, scene };
}

/** Keys of the boxes that a specification names. */
function namedBoxes({ around, paths }: ViewSpec): ReadonlySet<string> {
  const names = [...(around ?? []), ...(paths ?? [])];
  return new Set(names.map((name) => `n:${escapeName(name)}`));
}
