/**
 * The one way from a program to a picture: view, layout, scene. Both the page's engine and the Python host use it, so the screen and
 * an exported file show the same picture for the same request.
 */
import { layoutTwoHalves, layoutCompound } from "../layout";
import type { ProgramData, ViewSpec, Visible } from "../program/types";
import { buildScene, unwrapped, isThread, measure, mergeLoneFrames, wrap } from "../scene";
import { buildView } from "../view";
import { escapeName } from "../view/choose/keys";
import { fitToScreen } from "../view/initial/fitToScreen";
import { reveal } from "../view/reveal";
import { halvesOf } from "../view/twoHalves/halves";
import { placesBefore } from "./continuity";
import { labelled } from "./labels";
import { sized } from "./sizes";
import type { Arrangement, DrawContext, Picture, PictureRequest } from "./types";

/** What the numbers of a wrapped picture mean. */
const CUT_ARROWS = "Circled numbers continue across columns: an arrow that ends at a number resumes at the same number.";

export function draw(program: ProgramData, request: PictureRequest, context: DrawContext = {}): Picture {
  context.progress?.(0.05, "Choosing what to show");
  return compose(arrange(program, request, context), request, context);
}

/** Chooses the boxes and places them; if room is limited, with fewer groups open until they fit. */
function arrange(program: ProgramData, request: PictureRequest, context: DrawContext): Arrangement {
  const { room, ...roomy } = request;
  if (room) {
    const closing = (closed: readonly string[]) =>
      arrange(program, closed.length ? { ...roomy, spec: { ...request.spec, closed } } : roomy, context);
    return { ...fitToScreen(room, closing), request };
  }
  const { now = Date.now, progress, cache, before } = context;
  const start = now();
  const { visible, spec, opened, unfolded, revealed } = choose(program, request);
  const halves = spec.forwardBackward ? halvesOf(visible, program) : undefined;
  const direction = halves ? "TB" : (request.rankdir ?? "TB");
  const stayed = context.stayed?.(visible);
  const chosen = now();
  const arrangement = {
    program,
    request,
    spec,
    visible,
    direction,
    twoHalves: halves !== undefined,
    opened,
    unfolded,
    closed: [],
    revealed,
    stayed,
    viewMs: chosen - start,
  } as const;
  if (before && isSame(before, arrangement)) return { ...arrangement, layout: before.layout, layoutMs: 0 };
  const options = {
    direction,
    progress: progress && ((part: number) => progress(0.1 + part * 0.7, "Laying out")),
  };
  const graph = measure(visible, before && placesBefore(before, arrangement));
  const layout = halves ? layoutTwoHalves(graph, halves, options, cache) : layoutCompound(graph, options, cache);
  return { ...arrangement, layout, layoutMs: now() - chosen };
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
function isSame(before: Arrangement, { program, request, spec, direction }: Omit<Arrangement, "layout" | "layoutMs">): boolean {
  const key = (of: ViewSpec, { mergeFrames }: PictureRequest, flow: string) => JSON.stringify([of, mergeFrames ?? false, flow]);
  return before.program === program && key(before.spec, before.request, before.direction) === key(spec, request, direction);
}

/** Lines, texts and colours for boxes that have their places. */
export function compose(arrangement: Arrangement, request: PictureRequest, { progress }: DrawContext = {}): Picture {
  progress?.(0.85, "Drawing");
  const { program, spec, visible, layout, direction, twoHalves } = arrangement;
  const { wrap: wrapped } = request;
  const broken = typeof wrapped === "string" ? !twoHalves && isThread(layout, direction, wrapped) : wrapped;
  const placed = broken ? wrap(visible, layout, direction) : unwrapped(visible, layout);
  const explained = placed.labels.length ? { ...visible, remarks: [...visible.remarks, CUT_ARROWS] } : visible;
  const scene = buildScene(program, explained, placed, {
    direction,
    legend: request.legend ?? false,
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
