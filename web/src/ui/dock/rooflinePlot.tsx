/** The plot of a roofline: FLOPs per byte × FLOPs per second on logarithmic axes, below the roofs of the device. */
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { plotOf } from "../../core/scene/rooflinePlot";
import { percentText, shortNumber } from "../../core/text/quantities";
import type { RooflineCell, RooflineView } from "../engine/costProtocol";
import type { Session } from "../session";
import { useResized } from "../panels/hooks";
import { clipped } from "../panels/outline";
import { goToCell } from "./asked";

/** What the parts of the panel show, and which cell is selected. */
export interface RooflinePart {
  readonly session: Session;
  readonly view: RooflineView;
  readonly chosen: ReadonlySet<string>;
  readonly onPoint: (cell: RooflineCell | undefined) => void;
}

export function RooflinePlot({ session, view, chosen, onPoint }: RooflinePart): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const [{ width, height }, setSize] = useState({ width: 640, height: 200 });
  useResized(place, ({ clientWidth, clientHeight }) => setSize({ width: clientWidth, height: clientHeight }));
  const plot = plotOf(view.cells, view.device, { width, height });
  return (
    <div class="plot" ref={place}>
      <svg width={width} height={height} role="group" aria-label="Roofline plot">
        {plot.rules.map(([x1, y1, x2, y2]) => (
          <line key={`${x1} ${y1} ${x2}`} class="rule" x1={x1} y1={y1} x2={x2} y2={y2} />
        ))}
        {plot.roofs.map((corners) => (
          <polyline key={corners.join(" ")} class="roof" points={corners.join(" ")} />
        ))}
        {plot.texts.map(({ x, y, text, anchor }) => (
          <text key={`${x} ${y}`} x={x} y={y} text-anchor={anchor}>
            {text}
          </text>
        ))}
        {plot.dots.map(({ point: cell, x, y, radius, shade }) => (
          <circle
            key={cell.key}
            role="button"
            aria-label={spoken(cell)}
            aria-pressed={chosen.has(cell.key)}
            class={chosen.has(cell.key) ? "chosen" : ""}
            cx={x}
            cy={y}
            r={radius}
            fill={shade[session.theme.name]}
            onClick={() => goToCell(session, cell)}
            onPointerEnter={() => onPoint(cell)}
            onPointerLeave={() => onPoint(undefined)}
          />
        ))}
      </svg>
    </div>
  );
}

/** A point in words: what it is, what it takes, and what it would take at best. */
export function spoken({ name, where, text, share, best, intensity, rate }: RooflineCell): string {
  const numbers = intensity > 0 ? `, ${shortNumber(intensity)} FLOP/B, ${shortNumber(rate)}FLOP/s` : "";
  return `${clipped([where, name].filter(Boolean).join("/"), 160)}: ${text}, ${percentText(share)}${best && `, ${best} at best`}${numbers}`;
}
