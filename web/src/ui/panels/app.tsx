/** The page around the graph: controls above, outline left, details right, table and passes below. All of them can be hidden. */
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { carriesFiles } from "../files/dropped";
import type { Session } from "../session";
import { PanelSizes } from "../state/panelSizes";
import { PanesView } from "../timeline/panesView";
import { Strip } from "../timeline/strip";
import { Details } from "./details";
import { Divider } from "./divider";
import { useSignal } from "./hooks";
import { Outline } from "./outline";
import { pressKey, ShortcutSheet } from "./shortcuts";
import { StylesPanel } from "./styles";
import { TablePanel } from "./table";
import { Toolbar } from "./toolbar";

export interface Panels {
  readonly outline: boolean;
  readonly details: boolean;
  readonly table: boolean;
  readonly shortcuts: boolean;
  readonly passes: boolean;
  readonly styles: boolean;
}

export function App({ session, compact }: { readonly session: Session; readonly compact: boolean }): JSX.Element {
  useSignal(session.onChange);
  const [panels, setPanels] = useState<Panels>({
    outline: !compact,
    details: !compact,
    table: session.options.table !== undefined,
    shortcuts: false,
    passes: true,
    styles: false,
  });
  const sizes = useMemo(() => new PanelSizes(), []);
  useSignal(sizes.onChange);
  const [dragging, setDragging] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const where = {
    session,
    panels,
    setPanels,
    focusSearch: () => {
      const box = root.current?.querySelector<HTMLInputElement>("input.query");
      box?.focus();
      box?.select();
    },
  };
  const onKey = (event: KeyboardEvent) => {
    if (pressKey(event, where)) event.preventDefault();
  };
  /** Keys work wherever they are not needed for typing or choosing. */
  const onPageKey = (event: KeyboardEvent) => {
    const target = event.composedPath()[0] as HTMLElement;
    const busy = target.matches?.("input, select, textarea, canvas, [role=tree], [role=listbox], [role=dialog] *");
    const pressing = (event.key === "Enter" || event.key.startsWith("Arrow")) && target.matches?.("button, [tabindex]");
    if (!busy && !pressing) onKey(event);
    else if ((event.ctrlKey || event.metaKey) && event.key === "f") onKey(event);
  };
  const latest = useRef(onKey);
  latest.current = onKey;
  useEffect(() => {
    if (!session.options.url) return undefined;
    // The viewer is the whole page: it gets the keys that nothing else handles.
    const listener = (event: KeyboardEvent) => {
      if (event.target === document.body) latest.current(event);
    };
    document.addEventListener("keydown", listener);
    return () => document.removeEventListener("keydown", listener);
  }, [session]);
  return (
    <div
      class={dragging ? "app dragging" : "app"}
      ref={root}
      data-theme={session.theme.name}
      style={sizes.variables}
      onKeyDown={onPageKey}
      onDragEnter={(event) => setDragging(carriesFiles(event))}
      onDragLeave={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setDragging(false);
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        setDragging(false);
        // A graph has taken what was dropped on it.
        if (event.defaultPrevented) return;
        event.preventDefault();
        session.dropping.take(event.dataTransfer);
      }}
    >
      <Toolbar session={session} panels={panels} setPanels={setPanels} />
      <div class="body">
        {panels.outline && <Outline session={session} />}
        {panels.outline && <Divider name="outline" panel="outline" side="left" sizes={sizes} />}
        <PanesView
          session={session}
          onKey={(event, pane) => {
            if (pressKey(event, { ...where, session: pane })) event.preventDefault();
          }}
        />
        {(panels.details || panels.styles) && <Divider name="details" panel="details" side="right" sizes={sizes} />}
        {panels.styles && <StylesPanel session={session} onClose={() => setPanels({ ...panels, styles: false })} />}
        {panels.details && !panels.styles && <Details session={session} />}
      </div>
      {panels.table && <Divider name="table" panel="table" side="bottom" sizes={sizes} />}
      {panels.table && <TablePanel session={session} onClose={() => setPanels({ ...panels, table: false })} />}
      {panels.passes && session.timeline.exists && <Strip session={session} onClose={() => setPanels({ ...panels, passes: false })} />}
      {panels.shortcuts && <ShortcutSheet onClose={() => setPanels({ ...panels, shortcuts: false })} />}
    </div>
  );
}
