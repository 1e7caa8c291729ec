/** How far nodes or modules are from the limits of a device, and where most time could be saved; linked with the graph in both directions. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { countText, percentText } from "../../core/text/quantities";
import type { Gain, RooflineCell, RooflineView } from "../engine/costProtocol";
import { Choice } from "../panels/choice";
import { clipped } from "../panels/outline";
import { goToCell, useAnswer, useSelectedCells } from "./asked";
import type { Docked } from "./docked";
import { type RooflinePart, RooflinePlot, spoken } from "./rooflinePlot";

/** What a point is, if it is not a group. */
const NODE = "node";

export function RooflinePanel({ session, bar }: Docked): JSX.Element {
  const [metric, setMetric] = useState<string>();
  const [per, setPer] = useState(NODE);
  const [pointed, setPointed] = useState<RooflineCell>();
  const { program, shown, graphName: graph } = session;
  const request = program && shown ? { metric, grouping: per === NODE ? undefined : per, graph } : undefined;
  const view = useAnswer(session, "roofline", request, [program, shown !== undefined, graph, metric, per]);
  const chosen = useSelectedCells(session, "roofline", view);
  const point = (cell: RooflineCell | undefined) => {
    setPointed(cell);
    session.pointing.outline(cell?.node ?? -1);
  };
  return (
    <section class="sheet roofline" aria-label="Roofline">
      {bar(
        <>
          <Choice
            label="Time"
            prefix="Time"
            value={view?.metric ?? ""}
            options={(view?.metrics ?? []).map((name) => [name, name])}
            onChoose={setMetric}
          />
          <Choice
            label="Points"
            prefix="Points"
            value={per}
            options={[NODE, ...(program?.groupings ?? [])].map((name) => [name, name])}
            onChoose={setPer}
          />
          <span class="quiet" role="status" aria-label="Roofline of">
            {pointed ? spoken(pointed) : view ? summary(view) : ""}
          </span>
          <span class="grow" />
        </>,
      )}
      {view ? (
        <div class="beside">
          {view.cells.some(({ intensity }) => intensity > 0) ? (
            <RooflinePlot session={session} view={view} chosen={chosen} onPoint={point} />
          ) : (
            <p class="quiet padded">Nothing here has a time, FLOPs and bytes.</p>
          )}
          <Gains session={session} view={view} chosen={chosen} onPoint={point} />
        </div>
      ) : (
        <p class="quiet padded">
          Nothing here has a time. opscope view … --profile FILE shows measured times, and --device NAME what a device takes at best.
        </p>
      )}
    </section>
  );
}

function summary({ total, origin, metric, device, more }: RooflineView): string {
  const left = more > 0 ? `; ${countText(more)} quicker ones are left out` : "";
  return `${metric}: ${total}, ${origin}${device ? `; limits of ${device.title}` : "; --device NAME adds the limits of a device"}${left}`;
}

/** What to look at first: where most time is above that of the device, or if that is unknown, where most time is. */
function Gains({ session, view, chosen, onPoint }: RooflinePart): JSX.Element {
  const title = view.hasGains ? "Most to gain" : "Slowest";
  const { idle } = view;
  const row = ({ cell, count, name, where, text, best, part }: Gain) => (
    <li key={cell.key}>
      <button
        type="button"
        aria-pressed={chosen.has(cell.key)}
        data-hint={spoken(cell)}
        onClick={() => goToCell(session, cell)}
        onPointerEnter={() => onPoint(cell)}
        onPointerLeave={() => onPoint(undefined)}
      >
        <b>{percentText(part)}</b>
        <span class="name">
          {clipped(name, 60)}
          {count > 1 && ` ×${count}`}
        </span>
        <span>
          {text}
          {view.hasGains && best && ` → ${best}`}
        </span>
        <small>{clipped(where, 120)}</small>
      </button>
    </li>
  );
  const before = idle ? view.gains.filter(({ part }) => part > idle.part).length : 0;
  return (
    <div class="gains">
      <h3>
        {title} <small>of {view.whole}</small>
      </h3>
      <ol aria-label={title}>
        {view.gains.slice(0, before).map(row)}
        {idle && (
          <li key="idle">
            <button type="button" onClick={() => session.openPanels.set("kernels", true)}>
              <b>{percentText(idle.part)}</b>
              <span class="name">device idle</span>
              <span>{idle.text}</span>
              <small>Show when</small>
            </button>
          </li>
        )}
        {view.gains.slice(before).map(row)}
      </ol>
      {view.unjudged && <p class="quiet">{view.unjudged}</p>}
    </div>
  );
}
