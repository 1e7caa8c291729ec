/** Where the cost is: modules or source lines level by level, each as wide as its share, linked with the graph in both directions. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { shareText } from "../../core/metrics/changes";
import { isChange } from "../../core/program/names";
import { partShade } from "../../core/scene/theme";
import { countText, percentText } from "../../core/text/quantities";
import type { CostCell, CostView } from "../engine/costProtocol";
import { Choice } from "../panels/choice";
import { clipped } from "../panels/outline";
import { goToCell, useAnswer, useSelectedCells } from "./asked";
import type { Docked } from "./docked";

const ROW = 24;

export function CostPanel({ session, bar }: Docked): JSX.Element {
  const [metric, setMetric] = useState<string>();
  const [grouping, setGrouping] = useState<string>();
  const [root, setRoot] = useState("");
  const [pointed, setPointed] = useState<CostCell>();
  const { program, shown, graphName: graph } = session;

  useEffect(() => setRoot(""), [program, graph, grouping]);
  const request = program && shown ? { metric, grouping, graph, root } : undefined;
  const view = useAnswer(session, "cost", request, [program, shown !== undefined, graph, metric, grouping, root]);
  const chosen = useSelectedCells(session, "cost", view);
  const depth = view?.cells.reduce((most, cell) => Math.max(most, cell.depth), 0) ?? 0;
  return (
    <section class="sheet cost" aria-label="Cost">
      {bar(
        <>
          <Choice label="Width" prefix="Width" value={view?.metric ?? ""} options={named(view?.metrics)} onChoose={setMetric} />
          <Choice label="Rows" prefix="Rows" value={view?.grouping ?? ""} options={named(program?.groupings)} onChoose={setGrouping} />
          <span class="quiet" role="status" aria-label="Cost of">
            {view && (pointed ? spoken(view, pointed) : `${view.total}, ${view.origin}${directions(view)}${missing(view)}`)}
          </span>
          <span class="grow" />
          {root !== "" && (
            <button type="button" class="tool" onClick={() => setRoot("")}>
              Show all
            </button>
          )}
        </>,
      )}
      {view && view.cells.length === 0 && <p class="quiet padded">Nothing here has a number for {view.metric}.</p>}
      <div class="icicle" role="group" aria-label="Shares">
        <div style={{ height: `${(depth + 1) * ROW}px` }}>
          {view?.cells.map((cell) => (
            <button
              key={cell.key}
              type="button"
              class="cell"
              aria-label={spoken(view, cell)}
              aria-pressed={chosen.has(cell.key)}
              style={{
                left: `${cell.from * 100}%`,
                width: `${cell.width * 100}%`,
                top: `${cell.depth * ROW}px`,
                background: partShade(cell.part, isChange({ name: view.metric }))[session.theme.name],
              }}
              onClick={() => goToCell(session, cell)}
              onDblClick={() => cell.isGroup && setRoot(cell.key)}
              onPointerEnter={() => {
                setPointed(cell);
                session.pointing.outline(cell.node);
              }}
              onPointerLeave={() => {
                setPointed(undefined);
                session.pointing.outline(-1);
              }}
            >
              {clipped(cell.name, 60)} <span>{isChange({ name: view.metric }) ? cell.text : percentText(cell.share)}</span>
            </button>
          ))}
        </div>
      </div>
    </section>
  );
}

function spoken({ metric }: CostView, { name, text, share }: CostCell): string {
  const of = isChange({ name: metric }) ? " of the time before" : "";
  return `${clipped(name, 160)}: ${text}, ${shareText({ name: metric }, share)}${of}`;
}

/** What got slower and what got faster, which the total of a change adds up. */
function directions({ more, less }: CostView): string {
  return more && `: ${more} where it got slower, ${less} where it got faster`;
}

function missing({ unknown }: CostView): string {
  return unknown > 0 ? `, unknown for ${countText(unknown)} ${unknown === 1 ? "operation" : "operations"}` : "";
}

/** Names that are written as they are. */
const named = (names: readonly string[] = []): [string, string][] => names.map((name) => [name, name]);
