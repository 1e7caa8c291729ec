/** The graph and the panes next to it. */
import type { JSX } from "preact";
import { Canvas } from "../panels/canvas";
import { IconButton } from "../panels/icons";
import { clipped } from "../panels/outline";
import type { Session } from "../session";
import { didSomething, isStart } from "./cards";
import type { Pane } from "./panes";

type OnKey = (event: KeyboardEvent, session: Session) => void;

export function PanesView({ session, onKey }: { readonly session: Session; readonly onKey: OnKey }): JSX.Element {
  const { list } = session.panes;
  const several = list.length > 0;
  return (
    <div class={session.panes.sideBySide ? "panes in-step" : "panes"}>
      {list
        .filter((pane) => pane.linked)
        .map((pane) => (
          <PaneView key={pane.id} main={session} pane={pane} number={1} onKey={onKey} />
        ))}
      <div class="pane" key="main">
        {several && (
          <div class="pane-bar" key="bar">
            <span>{title(session)}</span>
          </div>
        )}
        <Canvas key="canvas" session={session} onKey={(event) => onKey(event, session)} />
      </div>
      {list
        .filter((pane) => !pane.linked)
        .map((pane, i) => (
          <PaneView key={pane.id} main={session} pane={pane} number={i + 2} onKey={onKey} />
        ))}
    </div>
  );
}

function PaneView({
  main,
  pane,
  number,
  onKey,
}: {
  readonly main: Session;
  readonly pane: Pane;
  readonly number: number;
  readonly onKey: OnKey;
}): JSX.Element {
  const { session } = pane;
  const name = pane.linked ? "Before" : `Pane ${number}`;
  return (
    <div class="pane" role="group" aria-label={name}>
      <div class="pane-bar">
        {pane.linked ? <span>{title(session)}</span> : <Choices session={session} name={name} />}
        <span class="grow" />
        <IconButton name={pane.linked ? "Close side by side" : "Close pane"} icon="close" onClick={() => main.panes.close(pane)} />
      </div>
      <Canvas session={session} onKey={(event) => onKey(event, session)} label={`${name} graph`} />
    </div>
  );
}

/** What a pane shows: which source, which of its passes. */
function Choices({ session, name }: { readonly session: Session; readonly name: string }): JSX.Element {
  const { timeline, view } = session;
  const { sources } = session.options;
  return (
    <>
      {sources.length > 1 && (
        <select
          aria-label={`${name}: source`}
          value={String(view.source)}
          onChange={(event) => session.openSource(Number(event.currentTarget.value))}
        >
          {sources.map((source, i) => (
            <option key={source.name} value={String(i)} selected={i === view.source}>
              {source.name}
            </option>
          ))}
        </select>
      )}
      {timeline.exists ? (
        <select
          aria-label={`${name}: pass`}
          value={String(timeline.pass)}
          onChange={(event) => timeline.choose(Number(event.currentTarget.value))}
        >
          {timeline.rows.map(
            (row, pass) =>
              (didSomething(row, timeline.rows) || isStart(row) || pass === timeline.pass) && (
                <option key={pass} value={String(pass)} selected={pass === timeline.pass}>
                  {row.number}: {clipped([...row.pipeline.slice(-1), row.name].join(" › "), 80)}
                </option>
              ),
          )}
        </select>
      ) : (
        <span>{title(session)}</span>
      )}
    </>
  );
}

function title(session: Session): string {
  const { row, rows, pass, mode, compares } = session.timeline;
  if (!row) return session.program?.name ?? session.options.sources[session.view.source]?.name ?? "";
  if (compares && row.before >= 0) {
    const before = rows[row.before].name;
    return mode === "before" ? before : mode === "after" ? row.name : `${before} → ${row.name}`;
  }
  return `${pass}: ${row.name}${mode === "after" ? "" : `, ${mode}`}`;
}
