/** The picture on the page. */
import { Highlighter } from "../../../core/highlight/highlighter";
import { draw, findKeys, matchKeys, type Picture, SCREEN } from "../../../core/picture";
import type { ViewSpec, Visible } from "../../../core/program/types";
import { changeColours } from "../../../core/scene/changePaints";
import { overlayRows } from "../../../core/scene/fileOverlays";
import type { Colours } from "../../../core/scene/types";
import { groupingOf } from "../../../core/view/groups/grouping";
import { ScenePainter } from "../../canvas/scenePainter";
import { operationsInside } from "../facts";
import { buffersOf, copied, incidence, indexBoxes, indexEdges, outlineOf, packScene } from "../pack";
import { firstChange } from "../passAnswers";
import { boxMarks, changeLegend, changeMarks } from "../passView";
import type { ViewRequest, ViewResult } from "../protocol";
import type { Drawn, EngineState } from "../state";
import type { Handler, Progress } from "./handler";
import { type Turned, turnTo } from "./turn";

export const view: Handler<"view"> = async (state, question, { progress, transfer }) => {
  const start = performance.now();
  if (Highlighter.needsDetails(question.styles) || question.spec.label?.length) await state.needDetails();
  const turned = question.pass ? await turnTo(state, question.pass) : undefined;
  const request = await withChange(state, inThisProgram(state, question));
  const before = state.drawn;
  const picture = drawView(state, request, turned, progress);
  const result = resultOf(state, request, picture, before);
  transfer.push(...buffersOf(result));
  return { ...result, ...(turned ? { program: state.summary(0) } : {}), totalMs: performance.now() - start };
};

function drawView(state: EngineState, request: ViewRequest, stayed: Turned | undefined, progress: Progress): Picture {
  return draw(
    state.index.program,
    {
      ...SCREEN,
      spec: withNear(state, request),
      rankdir: request.rankdir,
      reveal: request.reveal === undefined ? undefined : { node: request.reveal, level: request.revealLevel },
      room: request.room,
      fill: request.fill,
      columns: request.columns,
      colours: (visible) => coloursOf(state, request, visible),
    },
    { now: () => performance.now(), progress, cache: state.layouts, before: state.drawn, stayed },
  );
}

/** The part of a picture that the page gets; the engine keeps the whole. */
function resultOf(state: EngineState, request: ViewRequest, picture: Picture, before: Drawn | undefined): Omit<ViewResult, "totalMs"> {
  const { program, visible, scene, stayed } = picture;
  const grouping = request.spec.groupBy ?? "";
  const marks = marksFor(state, request);
  const { highlighter } = state;
  const boxIndex = indexBoxes(scene),
    edgeIndex = indexEdges(scene);
  const operations = operationsInside(state.index, visible, request.spec.groupBy);
  state.drawn = {
    ...picture,
    grouping: groupingOf(program, grouping),
    operations,
    painter: new ScenePainter({ scene, boxIndex, edgeIndex }),
  };
  const located = findKeys(visible.key, request.locate);
  const outline = outlineOf(visible, picture.layout, scene.direction);
  const { start: incidentStart, value: incidentEdge } = incidence(scene);
  return {
    scene: packScene(scene),
    kind: visible.kind.slice(),
    node: visible.node.slice(),
    open: visible.open.slice(),
    operationsInside: operations.slice(),
    boxOfNode: visible.boxOfNode.slice(),
    folded: visible.folded.slice(),
    outline: outline.order,
    outlineDepth: outline.depth,
    boxIndex: copied(boxIndex),
    edgeIndex: copied(edgeIndex),
    incidentStart,
    incidentEdge,
    ...(scene.edgeSource === visible.edgeSource
      ? {}
      : { ends: { source: visible.edgeSource.slice(), target: visible.edgeTarget.slice() } }),
    before: stayed?.box ?? (before ? matchKeys(before.visible.key, visible.key) : new Int32Array(visible.boxCount).fill(-1)),
    located: located.map((box, i) => (box >= 0 ? box : (stayed?.locate(request.locate[i]) ?? -1))),
    ...(marks ? { marks: boxMarks(visible, marks) } : {}),
    opened: picture.opened,
    unfolded: picture.unfolded,
    revealed: picture.revealed,
    closed: picture.closed,
    columns: request.fill ? (picture.columns ?? 1) : request.columns,
    legend:
      marks && !highlighter.isMetric(request.colour)
        ? [...changeLegend(marks, state.passShown?.changed ?? 0), ...overlayRows(program, visible)]
        : scene.legendRows,
    rules: highlighter.report(visible, request.styles),
    remarks: highlighter.knows(request.colour) ? scene.remarks : [...scene.remarks, `There is no metric "${request.colour}" here.`],
    measures: highlighter.measures(visible).filter(({ name }) => scene.measures.every((shown) => shown.name !== name)),
    viewMs: picture.viewMs,
    layoutMs: picture.layoutMs,
  };
}

/** Metrics take precedence over the changes of a pass, and those over the chosen colouring. */
function coloursOf(state: EngineState, request: ViewRequest, visible: Visible): Colours {
  const { highlighter } = state;
  const marks = highlighter.isMetric(request.colour) ? undefined : marksFor(state, request);
  const chosen = highlighter.colours(visible, {
    rules: request.styles,
    colour: marks ? "category" : request.colour,
    scale: request.colourScale,
  });
  return marks ? { ...chosen, ...changeColours(state.index.program, visible, { marks, counted: state.passShown?.counted }) } : chosen;
}

/** What the pass did to each node, if that is shown. */
function marksFor({ passShown }: EngineState, { pass }: ViewRequest): Uint8Array | undefined {
  return pass?.colours && passShown ? changeMarks(passShown) : undefined;
}

/** The graph that is shown may not exist after another pass. */
function inThisProgram({ passes, index }: EngineState, request: ViewRequest): ViewRequest {
  const { graph, ...rest } = request.spec;
  return passes && graph !== undefined && index.graphNamed(graph) < 0 ? { ...request, spec: rest } : request;
}

/** What a pass changed first is known only now that its program is here. */
async function withChange({ passes, passShown }: EngineState, request: ViewRequest): Promise<ViewRequest> {
  const reveal = request.pass?.revealChange && passes && passShown ? await firstChange(passes, passShown) : -1;
  return reveal < 0 ? request : { ...request, reveal };
}

/** Matches by number become names of the shown graph. */
function withNear(state: EngineState, { spec, near }: ViewRequest): ViewSpec {
  if (!near) return spec;
  const [first, last] = state.nodesOf(spec.graph);
  const inGraph = near.nodes.filter((node) => node >= first && node < last);
  const around = Array.from(inGraph, (node) => state.index.id(node));
  return around.length ? { ...spec, around, hops: near.hops, stopAt: [], also: [] } : { ...spec, only: [] };
}
