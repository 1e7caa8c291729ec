/** The page around the graph: controls above, outline left, details right, the dock and passes below. All of them can be hidden. */
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Dock } from "../dock/dock";
import { carriesFiles } from "../files/dropped";
import type { Session } from "../session";
import { PanelSizes } from "../state/panelSizes";
import { PanesView } from "../timeline/panesView";
import { Strip } from "../timeline/strip";
import { keyName, pressKey, type Where } from "./commands";
import { Details } from "./details";
import { Divider } from "./divider";
import { Hints } from "./hints";
import { useSignal } from "./hooks";
import { Matches } from "./matches";
import { Outline } from "./outline";
import { Palette } from "./palette";
import { ShortcutSheet } from "./shortcuts";
import { StylesPanel } from "./styles";
import { Toolbar } from "./toolbar";

/** Keys that work even where one types. */
const EVERYWHERE = ["Ctrl+f", "Ctrl+k"];

export function App({ session }: { readonly session: Session }): JSX.Element {
  useSignal(session.onChange);
  const { openPanels, finder } = session;
  const [dialog, setDialog] = useState<"shortcuts" | "palette">();
  const sizes = useMemo(() => new PanelSizes(), []);
  useSignal(sizes.onChange);
  const [dragging, setDragging] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const where: Where = {
    session,
    page: session,
    focusSearch: () => {
      const box = root.current?.querySelector<HTMLInputElement>("input.query");
      box?.focus();
      box?.select();
    },
    chooseComparison: () => root.current?.querySelector<HTMLInputElement>("input.compared")?.click(),
    openSheet: () => setDialog("shortcuts"),
    openPalette: () => session.shown && setDialog("palette"),
  };
  const onKey = (event: KeyboardEvent) => {
    if (pressKey(event, where)) event.preventDefault();
  };
  /** Keys work wherever they are not needed for typing or choosing. */
  const onPageKey = (event: KeyboardEvent) => {
    if (event.defaultPrevented) return;
    const target = event.composedPath()[0] as HTMLElement;
    const busy = target.matches?.("input, select, textarea, canvas, [role=tree], [role=listbox], [role=dialog] *");
    const pressing = (event.key === "Enter" || event.key.startsWith("Arrow")) && target.matches?.("button, [tabindex]");
    if ((!busy && !pressing) || EVERYWHERE.includes(keyName(event))) onKey(event);
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
  const hasLeft = openPanels.has("outline") || finder.isListed;
  const hasStyles = openPanels.has("styles");
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
      <Toolbar at={where} />
      <div class="body">
        {openPanels.has("outline") && <Outline session={session}>{finder.isListed && <Matches session={session} />}</Outline>}
        {!openPanels.has("outline") && finder.isListed && (
          <aside class="side left" aria-label="Search">
            <Matches session={session} />
          </aside>
        )}
        {hasLeft && <Divider name="outline" panel="outline" side="left" sizes={sizes} />}
        <PanesView
          session={session}
          onKey={(event, pane) => {
            if (pressKey(event, { ...where, session: pane })) event.preventDefault();
          }}
        />
        {(openPanels.has("details") || hasStyles) && <Divider name="details" panel="details" side="right" sizes={sizes} />}
        {hasStyles && <StylesPanel session={session} onClose={() => openPanels.set("styles", false)} />}
        {openPanels.has("details") && !hasStyles && <Details session={session} />}
      </div>
      <Dock session={session} sizes={sizes} />
      {openPanels.has("passes") && session.timeline.exists && (
        <>
          <Divider name="passes" panel="passes" side="bottom" sizes={sizes} />
          <Strip session={session} onClose={() => openPanels.set("passes", false)} />
        </>
      )}
      {dialog === "shortcuts" && <ShortcutSheet onClose={() => setDialog(undefined)} />}
      {dialog === "palette" && <Palette at={where} onClose={() => setDialog(undefined)} />}
      <Hints root={root} />
    </div>
  );
}
