/** The plot of a roofline: FLOPs per byte × FLOPs per second on logarithmic axes, below the roofs of the device. */
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { HEAT, heatOf } from "../../core/scene/theme";
import { percentText, shortNumber } from "../../core/text/quantities";
import type { RooflineCell, RooflineView } from "../engine/costProtocol";
import type { Session } from "../session";
import { useResized } from "../panels/hooks";
import { clipped } from "../panels/outline";
import { goToCell } from "./asked";

const MARGIN = { left: 46, right: 12, top: 10, bottom: 30 };
/** What takes a smaller share is not drawn: it would stretch the axes, and nobody has to look at it. */
const LEAST_SHARE = 0.0005;
/** Names of roofs that are close to each other are side by side. */
const NAME_WIDTH = 74;
const LEAST_RADIUS = 3;
const MOST_RADIUS = 13;

/** A logarithmic axis: powers of ten around all values, and where a value is between 0 and 1. */
interface Axis {
  readonly ticks: readonly number[];
  readonly at: (value: number) => number;
}

function axisOf(values: readonly number[]): Axis {
  const from = Math.floor(Math.log10(Math.min(...values)));
  const to = Math.max(from + 1, Math.ceil(Math.log10(Math.max(...values))));
  const ticks = Array.from({ length: to - from + 1 }, (_, i) => 10 ** (from + i));
  return { ticks, at: (value) => (Math.log10(value) - from) / (to - from) };
}

/** What the parts of the panel show, and which cell is selected. */
export interface RooflinePart {
  readonly session: Session;
  readonly view: RooflineView;
  readonly chosen: string | undefined;
  readonly onPoint: (cell: RooflineCell | undefined) => void;
}

export function RooflinePlot({ session, view, chosen, onPoint }: RooflinePart): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const [{ width, height }, setSize] = useState({ width: 640, height: 200 });
  useResized(place, ({ clientWidth, clientHeight }) => setSize({ width: clientWidth, height: clientHeight }));
  const points = view.cells.filter(({ intensity, rate, share }) => intensity > 0 && rate > 0 && share >= LEAST_SHARE);
  const { bandwidth = Number.NaN, roofs = [] } = view.device ?? {};
  const ridges = roofs.map(({ rate }) => rate / bandwidth);
  const xAxis = axisOf([...points.map(({ intensity }) => intensity), ...ridges.flatMap((x) => [x / 10, x * 3])]);
  const yAxis = axisOf([...points.map(({ rate }) => rate), ...roofs.map(({ rate }) => rate)]);
  const x = (value: number) => MARGIN.left + xAxis.at(value) * Math.max(1, width - MARGIN.left - MARGIN.right);
  const y = (value: number) => height - MARGIN.bottom - yAxis.at(value) * Math.max(1, height - MARGIN.top - MARGIN.bottom);
  const most = Math.max(...points.map(({ share }) => share));
  const mostGain = Math.max(...points.map(({ gain }) => gain || 0));
  const [first, last] = [xAxis.ticks[0], xAxis.ticks[xAxis.ticks.length - 1]];
  const lowest = yAxis.ticks[0];
  return (
    <div class="plot" ref={place}>
      <svg width={width} height={height} role="group" aria-label="Roofline plot">
        {xAxis.ticks.map((tick) => (
          <g key={`x${tick}`}>
            <line class="rule" x1={x(tick)} x2={x(tick)} y1={MARGIN.top} y2={height - MARGIN.bottom} />
            <text x={x(tick)} y={height - MARGIN.bottom + 12} text-anchor="middle">
              {shortNumber(tick)}
            </text>
          </g>
        ))}
        {yAxis.ticks.map((tick) => (
          <g key={`y${tick}`}>
            <line class="rule" x1={MARGIN.left} x2={width - MARGIN.right} y1={y(tick)} y2={y(tick)} />
            <text x={MARGIN.left - 5} y={y(tick) + 3.5} text-anchor="end">
              {shortNumber(tick)}
            </text>
          </g>
        ))}
        <text x={(MARGIN.left + width) / 2} y={height - 4} text-anchor="middle">
          FLOPs per byte; upwards: FLOPs per second
        </text>
        {roofs.map(({ rate, name }, i) => (
          <g key={name}>
            <polyline
              class="roof"
              points={[
                [x(Math.max(first, lowest / bandwidth)), y(Math.max(lowest, first * bandwidth))],
                [x(rate / bandwidth), y(rate)],
                [x(last), y(rate)],
              ].join(" ")}
            />
            <text x={width - MARGIN.right - 3 - (i % 3) * NAME_WIDTH} y={y(rate) - 3} text-anchor="end">
              {name}
            </text>
          </g>
        ))}
        {/* The largest first, so that small ones are on top. */}
        {points.map((cell) => (
          <circle
            key={cell.key}
            role="button"
            aria-label={spoken(cell)}
            aria-pressed={cell.key === chosen}
            class={cell.key === chosen ? "chosen" : ""}
            cx={x(cell.intensity)}
            cy={y(cell.rate)}
            r={LEAST_RADIUS + (MOST_RADIUS - LEAST_RADIUS) * Math.sqrt(cell.share / most)}
            fill={(mostGain > 0 ? heatOf((cell.gain || 0) / mostGain) : HEAT[2])[session.theme.name]}
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
