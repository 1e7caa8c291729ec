/** What the device did in one step, in the order of time and by stream; linked with the graph in both directions. */
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { endOf, type KernelLane, laneText, pieceAt, type Span } from "../../core/scene/kernelLane";
import { quantityText } from "../../core/text/quantities";
import { useResized, useWheel } from "../panels/hooks";
import { clipped } from "../panels/outline";
import type { Session } from "../session";
import { useAnswer } from "./asked";
import type { Docked } from "./docked";
import { STILL, ZOOM } from "./gestures";
import { paintLane } from "./kernelPainter";

/** The shortest part that can be shown, in nanoseconds. */
const SHORTEST = 200;

export function KernelPanel({ session, bar }: Docked): JSX.Element {
  const { program, shown } = session;
  const lane = useAnswer(session, "lane", program && shown ? {} : undefined, [program, shown !== undefined]);
  const [pointed, setPointed] = useState(-1);
  const end = useMemo(() => (lane ? endOf(lane) : 1), [lane]);
  const [span, setSpan] = useState<Span>();
  useEffect(() => setSpan(undefined), [lane]);
  return (
    <section class="sheet kernels" aria-label="Kernels">
      {bar(
        <>
          <span class="quiet" role="status" aria-label="Kernel">
            {lane && (lane.names[pointed] === undefined ? laneText(lane) : spoken(lane, pointed))}
          </span>
          <span class="grow" />
          {span && (
            <button type="button" class="tool" onClick={() => setSpan(undefined)}>
              Show all
            </button>
          )}
        </>,
      )}
      {lane ? (
        <Kernels
          session={session}
          lane={lane}
          span={span ?? [0, end]}
          end={end}
          setSpan={setSpan}
          pointed={pointed}
          setPointed={setPointed}
        />
      ) : (
        <p class="quiet padded">
          Nothing here was profiled on a device. opscope view trace_dir, or --profile FILE, shows the kernels of a step in the order of
          time.
        </p>
      )}
    </section>
  );
}

function spoken({ start, duration, kernel, kernels, stream, streams, names }: KernelLane, piece: number): string {
  const what = [names[piece], clipped(kernels[kernel[piece]], 120)].filter(Boolean).join(": ");
  return `${what}, ${seconds(duration[piece])} at ${seconds(start[piece])}, ${streams[stream[piece]]}`;
}

const seconds = (nanoseconds: number): string => quantityText(nanoseconds * 1e-9, "s");

function Kernels({
  session,
  lane,
  span,
  end,
  setSpan,
  pointed,
  setPointed,
}: {
  readonly session: Session;
  readonly lane: KernelLane;
  readonly span: Span;
  readonly end: number;
  readonly setSpan: (span: Span | undefined) => void;
  readonly pointed: number;
  readonly setPointed: (piece: number) => void;
}): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const drag = useRef<{ readonly x: number; readonly span: Span } | undefined>(undefined);
  const { theme } = session;
  const chosen = selectedPieces(session, lane);
  const paint = () => {
    const element = canvas.current;
    if (!element) return;
    const ratio = window.devicePixelRatio || 1;
    const size = { width: element.clientWidth, height: element.clientHeight };
    element.width = Math.round(size.width * ratio);
    element.height = Math.round(size.height * ratio);
    const context = element.getContext("2d")!;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    paintLane(context, lane, span, { chosen, pointed }, theme, size);
  };
  useEffect(paint);
  useResized(canvas, paint);
  const at = (event: MouseEvent): number => {
    const box = canvas.current!.getBoundingClientRect();
    return pieceAt(lane, event.clientX - box.left, event.clientY - box.top, span, { x: 0, y: 0, width: box.width, height: box.height });
  };
  const point = (piece: number) => {
    if (piece === pointed) return;
    setPointed(piece);
    session.pointing.outline(piece < 0 ? -1 : lane.node[piece]);
  };
  const go = (piece: number) => {
    if (piece >= 0 && lane.node[piece] >= 0) void session.goTo(lane.node[piece], session.graphName);
  };
  const show = (from: number, length: number) => {
    const long = Math.min(end, Math.max(SHORTEST, length));
    const first = Math.max(0, Math.min(end - long, from));
    setSpan(long >= end ? undefined : [first, first + long]);
  };
  const zoom = (time: number, factor: number) => show(time - (time - span[0]) * factor, (span[1] - span[0]) * factor);
  useWheel(canvas, (event) => {
    const box = canvas.current!.getBoundingClientRect();
    zoom(span[0] + ((event.clientX - box.left) / Math.max(1, box.width)) * (span[1] - span[0]), event.deltaY > 0 ? ZOOM : 1 / ZOOM);
  });
  const onMove = (event: PointerEvent) => {
    if (!drag.current) return point(at(event));
    const [from, to] = drag.current.span;
    show(from - ((event.clientX - drag.current.x) / Math.max(1, canvas.current!.clientWidth)) * (to - from), to - from);
  };
  const step = (by: number) => {
    const next = Math.max(0, Math.min(lane.start.length - 1, pointed + by));
    point(next);
    if (lane.start[next] < span[0] || lane.start[next] > span[1]) show(lane.start[next] - (span[1] - span[0]) / 2, span[1] - span[0]);
  };
  const onKey = (event: KeyboardEvent) => {
    const middle = pointed >= 0 ? lane.start[pointed] : (span[0] + span[1]) / 2;
    if (event.key === "ArrowRight") step(1);
    else if (event.key === "ArrowLeft") step(-1);
    else if (event.key === "Enter") go(pointed);
    else if (event.key === "+" || event.key === "=") zoom(middle, 1 / ZOOM);
    else if (event.key === "-") zoom(middle, ZOOM);
    else if (event.key === "0") setSpan(undefined);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <canvas
      ref={canvas}
      class="kernel-lane"
      tabIndex={0}
      role="slider"
      aria-label="Kernels of a step"
      aria-valuemin={0}
      aria-valuemax={Math.max(0, lane.start.length - 1)}
      aria-valuenow={Math.max(0, pointed)}
      aria-valuetext={pointed >= 0 ? spoken(lane, pointed) : ""}
      onPointerDown={(event) => {
        if (event.button !== 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        drag.current = { x: event.clientX, span };
      }}
      onPointerMove={onMove}
      onPointerUp={(event) => {
        if (drag.current && Math.abs(event.clientX - drag.current.x) < STILL) go(at(event));
        drag.current = undefined;
      }}
      onPointerCancel={() => {
        drag.current = undefined;
      }}
      onPointerLeave={() => point(-1)}
      onDblClick={() => setSpan(undefined)}
      onKeyDown={onKey}
    />
  );
}

/** Which pieces belong to what is selected on the graph: a node, or everything that is in a box. */
function selectedPieces({ shown, selectedItems, about }: Session, { node }: KernelLane): (piece: number) => boolean {
  if (!shown || selectedItems.length === 0) return () => false;
  const { boxOfNode } = shown.result;
  const { parent, box } = shown.scene;
  const isChosen = new Set(selectedItems.map((item) => box[item]));
  // The box of a node in a stack is that of its counterpart in the first repeat.
  if (about.node) return (piece) => node[piece] === about.node!.node;
  return (piece) => {
    let at = node[piece] < 0 ? -1 : boxOfNode[node[piece]];
    while (at >= 0 && !isChosen.has(at)) at = parent[at];
    return at >= 0;
  };
}
