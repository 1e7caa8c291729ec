/** The outline: the boxes of the view as a tree, in sync with the canvas; screen readers use it to navigate the graph. */
import type { ComponentChildren, JSX } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { boxStyle } from "../../core/scene/style";
import { BoxKind } from "../../core/program/types";
import { countText } from "../../core/text/quantities";
import type { Session } from "../session";
import { enterGraph } from "../state/view";
import { VirtualRows } from "./virtual";

const ROW = 26;
const NAME_END = 12;

/** `children` are above it. */
export function Outline({ session, children }: { readonly session: Session; readonly children?: ComponentChildren }): JSX.Element {
  const [tab, setTab] = useState<"outline" | "graphs">("outline");
  const graphs = session.program?.graphs.length ?? 0;
  return (
    <aside class="side left" aria-label="Outline">
      {children}
      <div class="tabs" role="tablist" aria-label="Left panel">
        <button
          type="button"
          role="tab"
          id="opscope-tab-outline"
          aria-selected={tab === "outline"}
          aria-controls="opscope-left"
          onClick={() => setTab("outline")}
        >
          Outline
        </button>
        <button
          type="button"
          role="tab"
          id="opscope-tab-graphs"
          aria-selected={tab === "graphs"}
          aria-controls="opscope-left"
          onClick={() => setTab("graphs")}
        >
          Graphs {graphs > 0 && countText(graphs)}
        </button>
      </div>
      <div id="opscope-left" role="tabpanel" aria-labelledby={`opscope-tab-${tab}`} style={{ display: "contents" }}>
        {tab === "outline" ? <Tree session={session} /> : <Graphs session={session} />}
      </div>
    </aside>
  );
}

function Tree({ session }: { readonly session: Session }): JSX.Element {
  const { shown, theme } = session;
  const scroller = useRef<HTMLDivElement>(null);
  const rowOf = useMemo(() => {
    const rows = new Int32Array(shown?.scene.boxCount ?? 0).fill(-1);
    shown?.result.outline.forEach((box, row) => {
      rows[box] = row;
    });
    return rows;
  }, [shown]);
  if (!shown || shown.result.outline.length === 0) return <p class="quiet">{shown ? "No nodes here." : ""}</p>;
  const { scene, result } = shown;
  const selected = session.selectedItems.at(-1) ?? -1;
  const current = selected >= 0 ? rowOf[scene.box[selected]] : -1;
  const chosen = new Set(session.selectedItems);

  const onKey = (event: KeyboardEvent) => {
    const row = Math.max(0, current);
    const box = result.outline[row];
    const go = (to: number) => session.selectItem(result.outline[Math.max(0, Math.min(result.outline.length - 1, to))], false, true);
    if (event.key === "ArrowDown") go(current < 0 ? 0 : row + 1);
    else if (event.key === "ArrowUp") go(row - 1);
    else if (event.key === "Home") go(0);
    else if (event.key === "End") go(result.outline.length - 1);
    else if (event.key === "PageDown") go(row + 20);
    else if (event.key === "PageUp") go(row - 20);
    else if (event.key === "ArrowRight") {
      if (result.open[box]) go(row + 1);
      else session.toggle(box);
    } else if (event.key === "ArrowLeft") {
      if (result.open[box]) session.toggle(box);
      else if (scene.parent[box] >= 0) session.selectItem(scene.parent[box], false, true);
    } else if (event.key === "Enter" || event.key === " ") session.toggle(box);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <div
      class="list"
      ref={scroller}
      role="tree"
      aria-label="Groups and nodes"
      tabIndex={0}
      onKeyDown={onKey}
      aria-activedescendant={current >= 0 ? `opscope-row-${current}` : undefined}
    >
      <VirtualRows
        count={result.outline.length}
        height={ROW}
        focus={current}
        scroller={scroller}
        render={(row, style) => {
          const box = result.outline[row];
          const container = result.open[box] === 1 || scene.expandable[box] === 1;
          const leaf = result.kind[box] === BoxKind.Node || !container;
          const depth = result.outlineDepth[row];
          const { fill, stroke } = boxStyle(scene, theme, box);
          return (
            <div
              key={box}
              id={`opscope-row-${row}`}
              class="row"
              role="treeitem"
              tabIndex={-1}
              aria-level={depth + 1}
              aria-selected={chosen.has(box)}
              aria-expanded={container ? result.open[box] === 1 : undefined}
              style={{ ...style, paddingLeft: `${8 + Math.min(depth, 12) * 13}px` }}
              onClick={(event) => session.selectItem(box, event.shiftKey || event.ctrlKey || event.metaKey, true)}
              onDblClick={() => session.toggle(box)}
            >
              {container ? (
                <span
                  class="twist"
                  aria-hidden="true"
                  onClick={(event) => {
                    event.stopPropagation();
                    session.toggle(box);
                  }}
                >
                  {result.open[box] ? "▾" : "▸"}
                </span>
              ) : (
                <span class="dot" aria-hidden="true" style={{ background: fill, borderColor: stroke }} />
              )}
              <span class={leaf ? "name soft" : "name"}>{clipped(scene.title[box])}</span>
              {scene.repeat[box] > 1 && <span class="times">×{scene.repeat[box]}</span>}
              {scene.subtitle[box] && <span class="hidden">{clipped(scene.subtitle[box], 80)}</span>}
              {container && result.operationsInside[box] > 1 && (
                <span class="count" data-hint="operations">
                  {countText(result.operationsInside[box])}
                </span>
              )}
            </div>
          );
        }}
      />
    </div>
  );
}

/** Shortens a text; some names have ten thousand characters. */
export function clipped(text: string, most = 200): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

/** As much of a name as fits, with its end: numbered names differ there. */
function BothEnds({ name }: { readonly name: string }): JSX.Element {
  const shown = clipped(name);
  const end = Math.max(0, shown.length - NAME_END);
  return (
    <span class="name ends">
      <span>{shown.slice(0, end)}</span>
      <span>{shown.slice(end)}</span>
    </span>
  );
}

function Graphs({ session }: { readonly session: Session }): JSX.Element {
  const [filter, setFilter] = useState("");
  const scroller = useRef<HTMLDivElement>(null);
  const { graphs = [], entry } = session.program ?? {};
  const rows = useMemo(() => {
    const matching = graphs.filter((graph) => graph.name.toLowerCase().includes(filter.toLowerCase()));
    // A compiled program has its entry after a thousand small graphs.
    return [...matching.filter(({ name }) => name === entry), ...matching.filter(({ name }) => name !== entry)];
  }, [graphs, entry, filter]);
  const current = rows.findIndex((graph) => graph.name === session.graphName);
  const enter = (name: string) => session.change(enterGraph({ ...session.view, graph: undefined, trail: [] }, name), { look: "first" });
  return (
    <>
      <input
        class="filter"
        type="text"
        aria-label="Filter graphs"
        placeholder="Filter"
        value={filter}
        onInput={(event) => setFilter(event.currentTarget.value)}
      />
      {rows.length === 0 && <p class="quiet">No graph matches.</p>}
      <div
        class="list"
        ref={scroller}
        role="listbox"
        aria-label="Graphs of the program"
        tabIndex={0}
        aria-activedescendant={current >= 0 ? `opscope-graph-${current}` : undefined}
        onKeyDown={(event) => {
          const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
          const next = rows[Math.max(0, Math.min(rows.length - 1, current + by))];
          if (!by || !next) return;
          enter(next.name);
          event.preventDefault();
          event.stopPropagation();
        }}
      >
        <VirtualRows
          count={rows.length}
          height={ROW}
          focus={current}
          scroller={scroller}
          render={(i, style) => (
            <div
              key={rows[i].name}
              id={`opscope-graph-${i}`}
              class="row"
              role="option"
              tabIndex={-1}
              aria-selected={i === current}
              style={style}
              data-hint={clipped(rows[i].name)}
              onClick={() => enter(rows[i].name)}
            >
              <BothEnds name={rows[i].name} />
              {rows[i].callers > 1 && <span class="extra">called ×{rows[i].callers}</span>}
              <span class="count">{countText(rows[i].nodes)}</span>
            </div>
          )}
        />
      </div>
    </>
  );
}
