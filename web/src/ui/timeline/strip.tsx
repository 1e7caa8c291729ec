/** The strip of passes below the graph: one card per pass that changed something, runs of others folded, and how a pass is shown. */
import type { JSX } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { PassRow } from "../../core/program/recording/types";
import { bytesText, countText, quantityText, shortNumber } from "../../core/text/quantities";
import { IconButton } from "../panels/icons";
import { clipped } from "../panels/outline";
import type { Session } from "../session";
import { type Card, cardsOf, didSomething, isStart, peakRise } from "./cards";
import { Overview } from "./overview";
import { MOST_PANES } from "./panes";
import type { PassMode } from "./timeline";

const MODES: readonly (readonly [PassMode, string])[] = [
  ["before", "Before"],
  ["after", "After"],
  ["overlay", "Overlay"],
];
/** Cards this far off screen are rendered before they scroll into view. */
const BEYOND = 400;
/** The counts of a card fit into its width with this many characters; with the time of the program beside them, with fewer. */
const MOST_DIGITS = 10;
const MOST_BESIDE_TIME = 6;

export function Strip({ session, onClose }: { readonly session: Session; readonly onClose: () => void }): JSX.Element {
  return session.timeline.compares ? (
    <ComparisonBar session={session} onClose={onClose} />
  ) : (
    <section class="passes" aria-label="Passes">
      <Controls session={session} onClose={onClose} />
      <div class="pass-lines">
        <Overview session={session} />
        <Cards session={session} />
      </div>
    </section>
  );
}

/** Two programs that are compared have no timeline: one line says how they differ and steps through the changes. */
function ComparisonBar({ session, onClose }: { readonly session: Session; readonly onClose: () => void }): JSX.Element {
  const { timeline } = session;
  const { rows, facts } = timeline;
  const total = facts?.byModule.length ?? 0;
  const current = facts?.byModule[timeline.change];
  return (
    <section class="passes comparison" aria-label="Comparison">
      <p class="compared" data-hint={`${rows[0].name} → ${rows[1].name}`}>
        <span>{clipped(rows[0].name, 120)}</span> → <b>{clipped(rows[1].name, 120)}</b>
      </p>
      <Counts row={rows[1]} moved={facts?.movedCount} whole />
      <p class="compared now">{current && clipped(`${current.place}: ${current.what}`, 200)}</p>
      <StepButtons session={session} />
      <span class="quiet-text" role="status">
        {timeline.change >= 0 ? `${timeline.change + 1} of ${total}` : total ? `${total} ${total === 1 ? "change" : "changes"}` : ""}
      </span>
      <ModeButtons session={session} />
      <IconButton name="Hide comparison" icon="down" onClick={onClose} />
    </section>
  );
}

function StepButtons({ session }: { readonly session: Session }): JSX.Element {
  const { timeline } = session;
  return (
    <div class="pass-row">
      <button
        type="button"
        class="tool"
        data-hint="Previous change"
        data-key="k"
        disabled={!timeline.canStep(-1)}
        onClick={() => timeline.step(-1)}
      >
        Previous change
      </button>
      <button
        type="button"
        class="tool"
        data-hint="Next change"
        data-key="j"
        disabled={!timeline.canStep(1)}
        onClick={() => timeline.step(1)}
      >
        Next change
      </button>
    </div>
  );
}

/** How a pass, or a comparison, is shown. */
function ModeButtons({ session }: { readonly session: Session }): JSX.Element {
  const { timeline, panes } = session;
  const off = !timeline.row || timeline.row.before < 0;
  return (
    <div class="pass-row segmented" role="group" aria-label={timeline.compares ? "Comparison view" : "Pass view"}>
      {MODES.map(([mode, text]) => (
        <button
          type="button"
          key={mode}
          aria-pressed={timeline.mode === mode && !panes.sideBySide}
          disabled={off && mode !== "after"}
          onClick={() => {
            panes.setSideBySide(false);
            timeline.setMode(mode);
          }}
        >
          {text}
        </button>
      ))}
      <button
        type="button"
        data-hint="Before and after in two panes"
        aria-pressed={panes.sideBySide}
        disabled={off && !panes.sideBySide}
        onClick={() => panes.setSideBySide(!panes.sideBySide)}
      >
        Side by side
      </button>
    </div>
  );
}

function Controls({ session, onClose }: { readonly session: Session; readonly onClose: () => void }): JSX.Element {
  const { timeline, panes } = session;
  const { modulePasses, modules } = timeline;
  const selected = session.about.group ? "group" : "node";
  const changed = timeline.counted ? `${countText(timeline.changedCount)} changed` : "comparing…";
  return (
    <div class={modules.size > 1 ? "pass-controls several" : "pass-controls"}>
      <p class="pass-count">
        <b>
          {countText(modulePasses.length)} {modulePasses.length === 1 ? "pass" : "passes"}
        </b>
        {modules.size > 1 ? (
          <select
            aria-label="Module"
            data-hint={`Module; ${changed}`}
            value={timeline.row?.module}
            onChange={(event) => timeline.choose(modules.get(event.currentTarget.value) ?? 0)}
          >
            {[...modules.keys()].map((name) => (
              <option key={name} value={name}>
                {clipped(name, 80)}
              </option>
            ))}
          </select>
        ) : (
          <span>{changed}</span>
        )}
        <IconButton name="Add pane" icon="panes" disabled={panes.list.length >= MOST_PANES} onClick={() => panes.add()} />
        <IconButton name="Hide passes" icon="down" onClick={onClose} />
      </p>
      <StepButtons session={session} />
      <ModeButtons session={session} />
      <div class="pass-row">
        <input
          type="search"
          class="filter"
          aria-label="Filter passes"
          placeholder="Name, or op:dot scope:layer_1"
          data-hint={timeline.filter.problem ?? "Passes by name, or by what they changed: op:dot scope:layer_1"}
          aria-invalid={timeline.filter.problem ? "true" : undefined}
          aria-description={timeline.filter.problem}
          value={timeline.filter.text}
          onInput={(event) => void session.idle.during(timeline.filter.setText(event.currentTarget.value))}
        />
        <span class="quiet-text" role="status" aria-label="Passes searched">
          {timeline.filter.lookedAt !== undefined && `searched ${timeline.filter.lookedAt} of ${timeline.rows.length}…`}
        </span>
      </div>
      <div class="pass-row">
        <button
          type="button"
          class="tool"
          aria-pressed={timeline.filter.onlyHistory}
          data-hint={`Show only the passes that changed the selected ${selected}`}
          disabled={!timeline.touched && !timeline.filter.onlyHistory}
          onClick={() => {
            timeline.filter.onlyHistory = !timeline.filter.onlyHistory;
            session.changed();
          }}
        >
          Changed this {selected}
        </button>
        {timeline.filter.first !== undefined && (
          <button
            type="button"
            class="tool"
            data-hint={`The first pass after which ${clipped(timeline.filter.query, 80)} is found: ${clipped(timeline.rows[timeline.filter.first].name, 80)}`}
            onClick={() => void session.idle.during(timeline.goToFirst())}
          >
            First in pass {timeline.numberOf(timeline.filter.first)}
          </button>
        )}
      </div>
    </div>
  );
}

function Cards({ session }: { readonly session: Session }): JSX.Element {
  const { timeline } = session;
  const { rows, pass, filter } = timeline;
  const scroller = useRef<HTMLDivElement>(null);
  const [sight, setSight] = useState({ from: 0, to: 2400 });
  const [at, setAt] = useState(-1);
  const listed = `${filter.key}\n${filter.onlyHistory && [...(timeline.touched ?? [])].join(" ")}`;
  const { cards, bands, width } = useMemo(
    () => cardsOf(rows, { takes: timeline.takes, unfolded: timeline.unfolded, chosen: pass }),
    [rows, listed, pass, timeline.unfolded.size],
  );
  const look = () => {
    const element = scroller.current;
    if (element) setSight({ from: element.scrollLeft - BEYOND, to: element.scrollLeft + element.clientWidth + BEYOND });
  };
  const chosenAt = cards.findIndex((card) => card.kind === "pass" && card.pass === pass);
  useLayoutEffect(() => {
    const element = scroller.current,
      card = cards[chosenAt];
    if (!element || !card) return;
    if (card.x < element.scrollLeft + 40 || card.x + card.width > element.scrollLeft + element.clientWidth - 40) {
      element.scrollTo({ left: Math.max(0, card.x - element.clientWidth / 2 + card.width / 2), behavior: "instant" });
    }
    look();
  }, [pass, cards.length]);
  useLayoutEffect(() => {
    const observer = new ResizeObserver(look);
    if (scroller.current) observer.observe(scroller.current);
    return () => observer.disconnect();
  }, []);
  const active = at >= 0 && at < cards.length ? at : chosenAt;
  const activate = (card: Card | undefined) => {
    if (card?.kind === "pass") timeline.choose(card.pass);
    else if (card) {
      timeline.unfolded.add(card.first);
      session.changed();
    }
  };
  const onKey = (event: KeyboardEvent) => {
    const to = { ArrowRight: active + 1, ArrowLeft: active - 1, Home: 0, End: cards.length - 1 }[event.key];
    if (to !== undefined) {
      const next = Math.max(0, Math.min(cards.length - 1, to));
      setAt(next);
      if (cards[next]?.kind === "pass") activate(cards[next]);
    } else if (event.key === "Enter" || event.key === " ") activate(cards[active]);
    else if (event.key === "j" || event.key === "k") timeline.step(event.key === "j" ? 1 : -1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const most = useMemo(
    () => ({
      seconds: Math.max(0, ...rows.map((row) => row.seconds ?? 0)),
      nodes: Math.max(1, ...rows.map((row) => row.nodes)),
      highestRise: timeline.highestRise,
    }),
    [rows, timeline.row?.module],
  );
  return (
    <div
      class="pass-cards"
      ref={scroller}
      onScroll={look}
      role="listbox"
      aria-label="Timeline"
      aria-orientation="horizontal"
      tabIndex={0}
      onKeyDown={onKey}
      aria-activedescendant={active >= 0 ? `opscope-pass-${active}` : undefined}
      onWheel={(event) => {
        if (scroller.current && Math.abs(event.deltaY) > Math.abs(event.deltaX)) scroller.current.scrollLeft += event.deltaY;
      }}
    >
      <div class="pass-track" style={{ width: `${width}px` }} role="presentation">
        {bands.map((band) => (
          <span
            key={`${band.level} ${band.x}`}
            class="pass-band"
            data-level={band.level}
            style={{ left: `${band.x}px`, width: `${band.width}px` }}
            data-hint={band.name}
            aria-hidden="true"
          >
            <span>{clipped(band.name, 120)}</span>
          </span>
        ))}
        {cards.map((card, i) =>
          (card.x + card.width < sight.from || card.x > sight.to) && i !== active ? null : (
            <CardView
              key={card.kind === "pass" ? `p${card.pass}` : `f${card.first}`}
              session={session}
              card={card}
              row={rows[card.kind === "pass" ? card.pass : card.first]}
              number={i}
              active={i === active}
              most={most}
              onChoose={() => {
                setAt(-1);
                activate(card);
              }}
            />
          ),
        )}
        {cards.length === 0 && filter.lookedAt === undefined && (
          <p class="quiet">
            {filter.onlyHistory
              ? `No pass changed the selected ${session.about.group ? "group" : "node"}.`
              : `No pass matches. ${filter.problem ?? ""}`.trim()}
          </p>
        )}
      </div>
    </div>
  );
}

function CardView({
  session,
  card,
  row,
  number,
  active,
  most,
  onChoose,
}: {
  readonly session: Session;
  readonly card: Card;
  readonly row: PassRow;
  readonly number: number;
  readonly active: boolean;
  readonly most: { readonly seconds: number; readonly nodes: number; readonly highestRise: number | undefined };
  readonly onChoose: () => void;
}): JSX.Element {
  const style = { left: `${card.x}px`, width: `${card.width}px` };
  const id = `opscope-pass-${number}`;
  if (card.kind === "fold") {
    return (
      <div
        id={id}
        class={active ? "pass-card fold active" : "pass-card fold"}
        style={style}
        role="option"
        aria-selected="false"
        onClick={onChoose}
        data-hint="Show these passes"
      >
        <span>{card.count}</span> unchanged {card.count === 1 ? "pass" : "passes"}
      </div>
    );
  }
  const chosen = session.timeline.pass === card.pass;
  const rise = peakRise(row, session.timeline.rows);
  const share = most.seconds > 0 ? (row.seconds ?? 0) / most.seconds : row.nodes / most.nodes;
  return (
    <div
      id={id}
      class={["pass-card", chosen && "chosen", active && "active", !didSomething(row, session.timeline.rows) && "still"]
        .filter(Boolean)
        .join(" ")}
      style={style}
      role="option"
      aria-selected={chosen}
      data-hint={spoken(row, rise)}
      onClick={onChoose}
    >
      <span class="pass-name">{clipped(row.name, 90)}</span>
      <span class="pass-meter">
        <i class={most.seconds > 0 ? "seconds" : "size"} style={{ width: `${Math.max(2, 100 * Math.sqrt(share))}%` }} />
        <span>
          <span>
            {row.seconds === null ? "" : `${secondsText(row.seconds)} · `}
            {countText(row.nodes)} nodes
          </span>
          {rise !== 0 && <b class={card.pass === most.highestRise ? "peak highest" : "peak"}>{rise > 0 ? "▲" : "▼"}</b>}
        </span>
      </span>
      <span class="pass-foot">
        <Counts row={row} />
        {row.estimatedSeconds !== undefined && <span class="quiet-text">{quantityText(row.estimatedSeconds, "s")}</span>}
      </span>
    </div>
  );
}

interface CountsProps {
  readonly row: PassRow;
  /** How many of the changed nodes are in another scope or graph now, if it is known. */
  readonly moved?: number;
  readonly whole?: boolean;
}

export function Counts({ row, moved = 0, whole = false }: CountsProps): JSX.Element {
  if (isStart(row)) return <span class="pass-counts quiet-text">initial program</span>;
  if (row.added === undefined) return <span class="pass-counts quiet-text">…</span>;
  const counts = [row.added, row.removed, row.changed].map((count) => (count ? countText(count) : ""));
  const isLong = !whole && counts.join("").length > (row.estimatedSeconds === undefined ? MOST_DIGITS : MOST_BESIDE_TIME);
  const part = (name: string, sign: string, count = 0) =>
    count ? (
      <span class={name}>
        {sign}
        {isLong ? shortNumber(count).replace(" ", "") : countText(count)}
      </span>
    ) : null;
  const any = didSomething(row, []);
  return (
    <span class="pass-counts">
      {any ? (
        <>
          {part("added", "+", row.added)}
          {part("removed", "−", row.removed)}
          {part("changed", "~", row.changed)}
          {(whole || !(row.added || row.removed || row.changed)) &&
            sharing(row, moved).map((text) => <span class="quiet-text">{text}</span>)}
          {row.aside && <span class="quiet-text">{row.aside}</span>}
        </>
      ) : (
        <span class="quiet-text">unchanged</span>
      )}
    </span>
  );
}

/** Nodes that are elsewhere now, and those that changed their number without being added or removed. */
function sharing(row: PassRow, moved: number): string[] {
  return [
    ...(moved ? [`${countText(moved)} moved`] : []),
    ...(row.merged ? [`${row.merged} merged`] : []),
    ...(row.copied ? [`${row.copied} copied`] : []),
  ];
}

function spoken(row: PassRow, rise: number): string {
  const did =
    row.added === undefined
      ? "not compared yet"
      : didSomething(row, [])
        ? row.aside || [`${row.added} added, ${row.removed} removed, ${row.changed} changed`, ...sharing(row, 0)].join(", ")
        : isStart(row)
          ? "initial program"
          : "unchanged";
  const best = row.estimatedSeconds === undefined ? "" : `; the program takes ${quantityText(row.estimatedSeconds, "s")} at best`;
  const peak = row.peak === undefined ? "" : `; peak memory ${rise ? `${bytesText(row.peak - rise)} → ` : ""}${bytesText(row.peak)}`;
  return `${row.number}: ${[...row.pipeline, row.name].join(", ")}, ${row.nodes} nodes, ${did}${best}${peak}`;
}

export function secondsText(seconds: number): string {
  if (seconds < 0.001) return `${Math.round(seconds * 1e6)} µs`;
  const [value, unit] = seconds < 0.9995 ? [seconds * 1000, "ms"] : [seconds, "s"];
  return `${value < 9.95 ? Number(value.toFixed(1)) : countText(Math.round(value))} ${unit}`;
}
