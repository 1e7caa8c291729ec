/** The memory lane: hover to see what runs, click to choose a point, drag to highlight a part on the graph, turn the wheel to zoom. */
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { bytesText } from "../../core/text/quantities";
import { useResized, useSignal, useWheel } from "../panels/hooks";
import type { Session } from "../session";
import { STILL, ZOOM } from "./gestures";
import { type LaneSize, paintMarks, paintUsage, positionAt } from "./lanePainter";
import type { MemoryLane } from "./memoryLane";

/** PageUp and PageDown move by this part of what is shown. */
const PAGE = 0.1;

export function Lane({ session, lane }: { readonly session: Session; readonly lane: MemoryLane }): JSX.Element {
  useSignal(lane.onChange);
  const canvas = useRef<HTMLCanvasElement>(null);
  const base = useRef<{ of: unknown; theme: unknown; width: number; height: number; image: HTMLCanvasElement } | undefined>(undefined);
  const start = useRef<number | undefined>(undefined);
  const { theme } = session;
  const { summary, usage, range, position, live } = lane;

  const paint = () => {
    const element = canvas.current;
    if (!element) return;
    if (!summary || !usage) {
      element.getContext("2d")!.clearRect(0, 0, element.width, element.height);
      return;
    }
    const ratio = window.devicePixelRatio || 1;
    const size: LaneSize = { width: element.clientWidth, height: element.clientHeight, pixels: ratio };
    if (size.width < 1 || size.height < 1) return;
    const [width, height] = [Math.round(size.width * ratio), Math.round(size.height * ratio)];
    const was = base.current;
    if (was?.of !== usage || was.theme !== theme || was.width !== width || was.height !== height) {
      const image = document.createElement("canvas");
      image.width = width;
      image.height = height;
      const context = image.getContext("2d")!;
      context.scale(ratio, ratio);
      paintUsage(context, usage, summary, theme, size);
      base.current = { of: usage, theme, width, height, image };
    }
    if (element.width !== width) element.width = width;
    if (element.height !== height) element.height = height;
    const context = element.getContext("2d")!;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, width, height);
    context.drawImage(base.current!.image, 0, 0);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    paintMarks(context, [usage.from, usage.to], { ...lane, position, hovered: lane.hovered?.position }, theme, size);
  };
  useEffect(paint);
  const resized = ({ clientWidth }: HTMLCanvasElement) => {
    lane.resize(Math.max(1, Math.round(clientWidth * (window.devicePixelRatio || 1))));
    paint();
  };
  useResized(canvas, resized, [lane]);

  const at = (event: MouseEvent) => {
    const box = canvas.current!.getBoundingClientRect();
    return positionAt(event.clientX - box.left, range, box.width);
  };
  const isDragged = (event: MouseEvent) => start.current !== undefined && Math.abs(event.clientX - start.current) >= STILL;
  const startedAt = () => {
    const box = canvas.current!.getBoundingClientRect();
    return positionAt(start.current! - box.left, range, box.width);
  };
  const onMove = (event: PointerEvent) => {
    void lane.hover(at(event));
    if (!isDragged(event)) return;
    const [a, b] = [startedAt(), at(event)];
    lane.brush([Math.min(a, b), Math.max(a, b) + 1]);
  };
  const onUp = (event: PointerEvent) => {
    if (start.current !== undefined && !isDragged(event)) void lane.choose(at(event), true);
    start.current = undefined;
  };
  const onKey = (event: KeyboardEvent) => {
    if (!summary) return;
    const page = Math.max(1, Math.round((range[1] - range[0]) * PAGE));
    const moves: Readonly<Record<string, number>> = {
      ArrowLeft: position - 1,
      ArrowRight: position + 1,
      PageUp: position - page,
      PageDown: position + page,
      Home: 0,
      End: summary.steps - 1,
    };
    if (event.key in moves) void lane.choose(moves[event.key], false);
    else if (event.key === "Enter") void lane.choose(position, true);
    else if (event.key === "+" || event.key === "=") lane.zoom(position, 1 / ZOOM);
    else if (event.key === "-") lane.zoom(position, ZOOM);
    else if (event.key === "0") lane.showAll();
    else if (event.key === "Escape" && lane.brushed) lane.brush(undefined);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  useWheel(canvas, (event) => lane.zoom(at(event), event.deltaY > 0 ? ZOOM : 1 / ZOOM));
  return (
    <canvas
      ref={canvas}
      class="lane"
      tabIndex={0}
      role="slider"
      aria-label="Point of the run"
      aria-valuemin={0}
      aria-valuemax={Math.max(0, (summary?.steps ?? 1) - 1)}
      aria-valuenow={position}
      aria-valuetext={live ? `step ${position + 1} of ${summary?.steps ?? 0}, ${live.runs?.id ?? ""}, ${bytesText(live.bytes)} in use` : ""}
      onPointerDown={(event) => {
        if (event.button !== 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        start.current = event.clientX;
      }}
      onPointerMove={onMove}
      onPointerUp={onUp}
      onPointerCancel={() => {
        start.current = undefined;
      }}
      onPointerLeave={() => void lane.hover(undefined)}
      onDblClick={() => lane.showAll()}
      onKeyDown={onKey}
    />
  );
}
