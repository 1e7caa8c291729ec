/** The program as text, in step with the selection. Of a pass, before and after are next to each other. */
import type { JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { countText } from "../../core/text/quantities";
import type { SideText, TextRowShown } from "../engine/textProtocol";
import { useSignal } from "../panels/hooks";
import { clipped } from "../panels/outline";
import { useRows } from "../panels/rowWindow";
import { VirtualRows } from "../panels/virtual";
import type { Docked } from "./docked";
import { TextView } from "./textView";

const ROW = 20;
/** Of a longer line, the rest is in the details of its node. */
const LONGEST = 2000;
const SIGNS = { same: "", added: "+", removed: "−", changed: "~", became: "→", copied: "×" } as const;

export function TextPanel({ session, bar }: Docked): JSX.Element {
  const text = useMemo(() => new TextView(session), [session]);
  useSignal(text.onChange);
  const scroller = useRef<HTMLDivElement>(null);
  const longest = useRef(0);
  useEffect(() => void text.load(), [session.program, session.shown !== undefined]);
  useEffect(() => void text.follow(), [session.about.node]);
  const { summary, hits } = text;
  const row = useRows(summary, async (from, to) => {
    const rows = await text.rows(from, to);
    for (const each of rows) longest.current = Math.max(longest.current, lengthOf(each));
    return rows;
  });
  return (
    <section class="sheet text" aria-label="Text">
      {bar(
        <>
          {(session.timeline.row?.before ?? -1) >= 0 && (
            <button type="button" class="tool" aria-pressed={text.sides} onClick={() => void text.setSides(!text.sides)}>
              Before and after
            </button>
          )}
          <input
            class="filter"
            type="search"
            aria-label="Find in text"
            placeholder="Find in text"
            value={text.wanted}
            onInput={(event) => void text.find(event.currentTarget.value)}
            onKeyDown={(event) => event.key === "Enter" && void text.step(event.shiftKey ? -1 : 1)}
          />
          <span class="quiet" role="status" aria-label="Lines found">
            {hits && (hits.length || !text.isSearching) ? found(hits.length, text.hit) : ""}
            {text.isSearching && (hits?.length ? ", searching…" : "searching…")}
          </span>
          <span class="grow" />
        </>,
      )}
      <div
        class={summary?.sides ? "lines sides" : "lines"}
        ref={scroller}
        role="table"
        aria-label="Lines"
        aria-rowcount={summary?.lines ?? 0}
        tabIndex={0}
        onScroll={({ currentTarget }) => currentTarget.style.setProperty("--shift", `${-currentTarget.scrollLeft}px`)}
      >
        <div class="width" style={{ width: `calc(${summary?.sides ? "50% + " : ""}${longest.current + 8}ch)` }}>
          <VirtualRows
            count={summary?.lines ?? 0}
            height={ROW}
            focus={text.line}
            scroller={scroller}
            render={(line, style) => (
              <Line key={line} line={line} style={style} shown={row(line)} text={text} sides={summary?.sides ?? false} />
            )}
          />
        </div>
      </div>
    </section>
  );
}

function Line({
  line,
  style,
  shown,
  text,
  sides,
}: {
  readonly line: number;
  readonly style: { readonly top: string };
  readonly shown: TextRowShown | undefined;
  readonly text: TextView;
  readonly sides: boolean;
}): JSX.Element {
  const place = { "aria-rowindex": line + 1, style };
  if (!shown) return <div class="code" role="row" {...place} />;
  if (shown.kind === "heading" || shown.kind === "fold") {
    const lines = `${countText(shown.rows)} ${shown.rows === 1 ? "line" : "lines"}`;
    return (
      <div class="code" role="row" {...place} data-kind={shown.kind}>
        <span role="cell">
          <button type="button" aria-expanded={shown.kind === "heading" && shown.open} onClick={() => void text.toggle(line)}>
            {shown.kind === "fold" ? (
              `… ${lines} unchanged`
            ) : (
              <>
                {shown.open ? "▾" : "▸"} <b>{clipped(shown.name, 200)}</b> {lines}
              </>
            )}
          </button>
        </span>
      </div>
    );
  }
  return (
    <div class="code" role="row" {...place} data-kind={shown.kind} aria-selected={shown.row === text.row}>
      {sides && <Side side={shown.before} onClick={(side) => void text.goTo(side, false)} />}
      {sides && (
        <span class="sign" role="cell" aria-label={shown.kind}>
          {SIGNS[shown.kind]}
        </span>
      )}
      <Side side={shown.after} onClick={(side) => void text.goTo(side, true)} />
    </div>
  );
}

function Side({ side, onClick }: { readonly side: SideText | undefined; readonly onClick: (side: SideText) => void }): JSX.Element {
  if (!side) return <span role="cell" class="half empty" />;
  return (
    <span role="cell" class="half" onClick={() => onClick(side)}>
      <span class="shifted">
        {beginning(side.words).map(({ text, kind, differs }, i) => {
          const props = { key: i, "data-word": kind };
          return differs ? <mark {...props}>{text}</mark> : <span {...props}>{text}</span>;
        })}
      </span>
    </span>
  );
}

/** As much of a line as is shown. */
function beginning(words: SideText["words"]): SideText["words"] {
  let room = LONGEST;
  const end = words.findIndex(({ text }) => {
    room -= text.length;
    return room < 0;
  });
  if (end < 0) return words;
  const { text, ...last } = words[end];
  return [...words.slice(0, end), { ...last, text: clipped(text, text.length + room) }];
}

function found(total: number, hit: number): string {
  const count = countText(total);
  return hit < 0 ? `${count} ${total === 1 ? "line" : "lines"}` : `${countText(hit + 1)} of ${count}`;
}

function lengthOf(row: TextRowShown): number {
  if (row.kind === "heading" || row.kind === "fold") return 0;
  const length = (side: SideText | undefined) => side?.words.reduce((sum, { text }) => sum + text.length, 0) ?? 0;
  return Math.min(LONGEST, Math.max(length(row.before), length(row.after)));
}
