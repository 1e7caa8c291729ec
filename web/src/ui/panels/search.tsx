/** The search box: results while typing, next and previous, and the option to show only matches with their neighbours. */
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import type { Session } from "../session";
import { Icon } from "./icons";

export function SearchBox({ session }: { readonly session: Session }): JSX.Element {
  const {
    view,
    finder: { result },
  } = session;
  const [open, setOpen] = useState(false);
  const [at, setAt] = useState(-1);
  const input = useRef<HTMLInputElement>(null);
  const rows = result?.rows ?? [];

  const choose = (index: number) => {
    const row = rows[index];
    if (!row) return;
    session.finder.hit = index;
    setAt(index);
    setOpen(false);
    void session.goTo(row.node, row.graph);
  };

  const onKey = (event: KeyboardEvent) => {
    if (event.key === "Escape") {
      if (open && view.query) setOpen(false);
      else if (view.query) void session.finder.search("");
      if (!open) input.current?.blur();
      event.stopPropagation();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      setOpen(true);
      setAt(Math.max(0, Math.min(rows.length - 1, at + (event.key === "ArrowDown" ? 1 : -1))));
      event.preventDefault();
    } else if (event.key === "Enter") {
      if (open && at >= 0 && session.finder.hit !== at) choose(at);
      else {
        setOpen(false);
        void session.finder.step(event.shiftKey ? -1 : 1);
      }
      event.preventDefault();
    }
  };

  return (
    <div
      class="find"
      role="search"
      onFocusOut={(event) => !(event.currentTarget as HTMLElement).contains(event.relatedTarget as Node | null) && setOpen(false)}
    >
      <input
        ref={input}
        type="search"
        class="query"
        aria-label="Search"
        placeholder="Search op:dot shape:512 (press /)"
        value={view.query}
        spellcheck={false}
        autocomplete="off"
        aria-controls={open && view.query !== "" ? "opscope-hits" : undefined}
        aria-autocomplete="list"
        aria-activedescendant={open && at >= 0 ? `opscope-hit-${at}` : undefined}
        onInput={(event) => {
          setOpen(true);
          setAt(-1);
          void session.finder.search(event.currentTarget.value);
        }}
        onFocus={() => setOpen(view.query !== "")}
        onKeyDown={onKey}
      />
      {view.query !== "" && (
        <div class="state">
          <span role="status">
            {result ? `${session.finder.hit >= 0 ? `${session.finder.hit + 1} of ` : ""}${result.total.toLocaleString("en-US")}` : ""}
          </span>
          <button type="button" aria-label="Previous match" title="Previous match (Shift+N)" onClick={() => void session.finder.step(-1)}>
            <Icon name="up" />
          </button>
          <button type="button" aria-label="Next match" title="Next match (N)" onClick={() => void session.finder.step(1)}>
            <Icon name="down" />
          </button>
          <button
            type="button"
            aria-label="Show only matches with their neighbours"
            title="Show only matches with their neighbours"
            aria-pressed={view.matchesOnly >= 0}
            onClick={() => session.change({ ...view, matchesOnly: view.matchesOnly >= 0 ? -1 : 1 }, { look: "fit" })}
          >
            <Icon name="funnel" />
          </button>
          <button
            type="button"
            aria-label="Clear"
            title="Clear"
            onClick={() => {
              void session.finder.search("");
              if (view.matchesOnly >= 0) session.change({ ...session.view, matchesOnly: -1 }, { look: "fit" });
            }}
          >
            <Icon name="close" />
          </button>
        </div>
      )}
      {open && view.query !== "" && (
        <ul class="hits" id="opscope-hits" role="listbox" aria-label="Matches">
          {rows.map((row, i) => (
            <li
              key={row.node}
              id={`opscope-hit-${i}`}
              role="option"
              aria-selected={i === at}
              tabIndex={-1}
              onPointerDown={(event) => event.preventDefault()}
              onClick={() => choose(i)}
            >
              <b>{row.id}</b>
              <span>{row.op}</span>
              <span>{row.type}</span>
              {row.graph !== session.graphName && <span>in {row.graph}</span>}
            </li>
          ))}
          {result?.problem && (
            <li class="note" role="option" aria-selected={false}>
              {result.problem}
            </li>
          )}
          {result && !result.problem && rows.length === 0 && (
            <li class="note" role="option" aria-selected={false}>
              No matches. Try part of a name, /a regular expression/, or op: type: scope: attr.name:
            </li>
          )}
          {result && result.total > rows.length && (
            <li class="note" role="option" aria-selected={false}>
              {(result.total - rows.length).toLocaleString("en-US")} more; all of them are highlighted in the graph
            </li>
          )}
        </ul>
      )}
    </div>
  );
}
