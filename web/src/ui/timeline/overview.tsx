/** All passes of a module in one line: how much each changed. Brush it to list only some of them, click to show one. */
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { IconButton } from "../panels/icons";
import type { Session } from "../session";
import { didSomething } from "./cards";
import type { PassRange } from "./passFilter";

const HEIGHT = 26;
/** A shorter movement is a click. */
const LEAST_BRUSH = 5;

export function Overview({ session }: { readonly session: Session }): JSX.Element | null {
  const { timeline } = session;
  const { rows, row, filter } = timeline;
  const line = useRef<HTMLDivElement>(null);
  const from = useRef<{ readonly x: number; readonly pass: number } | undefined>(undefined);
  const passes = rows.flatMap((each, pass) => (each.module === row?.module ? [pass] : []));
  if (passes.length < 3) return null;
  const sizes = passes.map((pass) => rows[pass]).map(({ added = 0, removed = 0, changed = 0 }) => [added, removed, changed] as const);
  const most = Math.max(1, ...sizes.map(([added, removed, changed]) => added + removed + changed));
  const slot = 100 / passes.length;
  const passAt = (x: number): number => {
    const { left, width } = line.current!.getBoundingClientRect();
    return passes[Math.max(0, Math.min(passes.length - 1, Math.floor(((x - left) / Math.max(1, width)) * passes.length)))];
  };
  const brush = (event: PointerEvent): void => {
    if (!from.current || Math.abs(event.clientX - from.current.x) < LEAST_BRUSH) return;
    const to = passAt(event.clientX);
    filter.range = { first: Math.min(from.current.pass, to), last: Math.max(from.current.pass, to) };
    session.changed();
  };
  const end = (event: PointerEvent): void => {
    const clicked = from.current && Math.abs(event.clientX - from.current.x) < LEAST_BRUSH;
    from.current = undefined;
    if (clicked) timeline.choose(nearest(passes.indexOf(passAt(event.clientX))));
  };
  /** The pass there, or the nearest that changed something: most passes are thin lines between others. */
  const nearest = (at: number): number => {
    for (let far = 0; far < 4; far++)
      for (const i of [at + far, at - far]) if (passes[i] !== undefined && didSomething(rows[passes[i]], rows)) return passes[i];
    return passes[at];
  };
  const place = ({ first, last }: PassRange) => ({
    left: `${passes.indexOf(first) * slot}%`,
    width: `${(passes.indexOf(last) - passes.indexOf(first) + 1) * slot}%`,
  });
  return (
    <div class="overview">
      <div
        class="overview-line"
        ref={line}
        role="img"
        aria-label="Overview of all passes by the size of their change"
        data-hint="Drag to list only some passes; click to show one"
        onPointerDown={(event) => {
          from.current = { x: event.clientX, pass: passAt(event.clientX) };
          event.currentTarget.setPointerCapture(event.pointerId);
        }}
        onPointerMove={brush}
        onPointerUp={end}
        onPointerCancel={() => {
          from.current = undefined;
        }}
      >
        <svg viewBox={`0 0 ${passes.length} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
          {passes.map((pass, i) => {
            let top = HEIGHT;
            const scale = barHeight(sizes[i][0] + sizes[i][1] + sizes[i][2], most);
            return ["added", "removed", "changed"].map((kind, k) => {
              const height = scale * sizes[i][k];
              top -= height;
              return height > 0 && <rect key={`${pass} ${kind}`} class={kind} x={i + 0.1} y={top} width={0.8} height={height} />;
            });
          })}
        </svg>
        {filter.range && <span class="brushed" style={place(filter.range)} />}
        <span class="now" style={place({ first: timeline.pass, last: timeline.pass })} />
      </div>
      {filter.range && (
        <IconButton
          name="Show all passes"
          icon="close"
          onClick={() => {
            filter.range = undefined;
            session.changed();
          }}
        />
      )}
    </div>
  );
}

/** Pixels per changed node: small changes stay visible next to large ones. */
function barHeight(total: number, most: number): number {
  return total === 0 ? 0 : (3 + (HEIGHT - 3) * (Math.log1p(total) / Math.log1p(most))) / total;
}
