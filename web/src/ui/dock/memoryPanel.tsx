/** What is in memory while the program runs: the lane, and the buffers that are alive at a point of it. */
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { kindHint, kindShade, kindTitle, peakText } from "../../core/memory/kinds";
import { GROUPED_BY, type GroupedBy } from "../../core/memory/live";
import { bytesText, countText } from "../../core/text/quantities";
import type { MemorySummary, StepFacts } from "../engine/memoryProtocol";
import { Choice } from "../panels/choice";
import { useSignal } from "../panels/hooks";
import { clipped } from "../panels/outline";
import type { Session } from "../session";
import type { Docked } from "./docked";
import { Lane } from "./lane";
import { LiveSet } from "./liveSet";
import { MemoryLane } from "./memoryLane";
import { WhatIfBar } from "./whatIfBar";

const GROUPS: Readonly<Record<GroupedBy, string>> = { buffer: "nothing", module: "module", source: "source line", kind: "kind" };

export function MemoryPanel({ session, bar }: Docked): JSX.Element {
  const lane = MemoryLane.of(session);
  useSignal(lane.onChange);
  useEffect(() => void lane.load(), [session.program, session.shown !== undefined]);
  useEffect(() => void lane.refreshSpans(), [session.about.node]);
  useEffect(() => () => lane.leave(), [lane]);
  useEffect(() => void session.timeline.findPeaks(), [session.timeline.exists]);
  const { summary, hovered, live } = lane;
  const facts = hovered ?? live;
  return (
    <section class="sheet memory" aria-label="Memory">
      {bar(
        <>
          <span class="quiet" role="status" aria-label="Peak">
            {summary ? peakText(summary) : lane.problem ? "" : "Reading…"}
          </span>
          {summary?.remark && (
            <span class="warning" role="note" data-hint={summary.remark}>
              {clipped(summary.remark, 400)}
            </span>
          )}
          <ToLastPass lane={lane} session={session} />
          <ToHighestRise session={session} />
          <span class="grow" />
          <Choice
            label="Group buffers by"
            prefix="Group"
            value={lane.by}
            options={GROUPED_BY.map((name) => [name, GROUPS[name]])}
            onChoose={(name) => lane.groupBy(name)}
          />
          {lane.whatIf.isPossible && (
            <button
              type="button"
              class="tool"
              disabled={!summary || lane.whatIf.busy}
              data-hint="Find values to recompute that lower the peak. The search is greedy: another set may be better"
              onClick={() => void lane.whatIf.suggest()}
            >
              Suggest
            </button>
          )}
          <button
            type="button"
            class="tool"
            disabled={!summary}
            data-hint="Show what is alive where the most bytes are in use"
            onClick={() => summary && void lane.choose(summary.peak, true)}
          >
            Go to the peak
          </button>
        </>,
      )}
      {lane.problem && (
        <p class="quiet padded" role="alert">
          {clipped(lane.problem, 600)}
        </p>
      )}
      {!lane.problem && (
        <>
          <Lane session={session} lane={lane} />
          <p class="point" role="status" aria-label="Point">
            {facts && summary ? sentence(facts, summary.steps) : " "}
            {facts && summary && <Kinds facts={facts} summary={summary} session={session} />}
          </p>
          {summary && <WhatIfBar session={session} whatIf={lane.whatIf} summary={summary} />}
          {summary && !lane.whatIf.isPossible && (
            <p class="quiet what-if">
              What if values were recomputed? This page cannot compute it: run `opscope memory SOURCE --suggest`, or `opscope view SOURCE`.
            </p>
          )}
          <LiveSet session={session} lane={lane} />
        </>
      )}
    </section>
  );
}

function sentence({ position, runs, bytes }: StepFacts, steps: number): string {
  const name = runs ? `, ${clipped(runs.id, 80)}` : "";
  return `Step ${countText(position + 1)} of ${countText(steps)}${name}: ${bytesText(bytes)} in use`;
}

/** The colours, with the bytes of each kind at a point. */
function Kinds({
  facts: { byKind },
  summary: { kinds, unknown },
  session,
}: {
  readonly facts: StepFacts;
  readonly summary: MemorySummary;
  readonly session: Session;
}): JSX.Element {
  return (
    <>
      {kinds.map((kind, i) =>
        byKind[i] > 0 ? (
          <span key={kind} class="kind" data-hint={kindHint(kind)}>
            <i style={{ background: kindShade(kind)[session.theme.name] }} />
            {kindTitle(kind)} {bytesText(byKind[i])}
          </span>
        ) : null,
      )}
      {unknown > 0 && <span>{countText(unknown)} buffers of unknown size are in no sum</span>}
    </>
  );
}

/** Which pass raised the peak most. */
function ToHighestRise({ session: { timeline } }: { readonly session: Session }): JSX.Element | null {
  const { highestRise: pass, rows } = timeline;
  if (pass === undefined) return null;
  const { name, before, peak } = rows[pass];
  return (
    <button
      type="button"
      class="tool"
      data-hint={`${clipped(name, 80)} raised the peak from ${bytesText(rows[before].peak ?? 0)} to ${bytesText(peak ?? 0)}, in the order in which programs are written`}
      onClick={() => timeline.choose(pass)}
    >
      Raised most by pass {timeline.numberOf(pass)}
    </button>
  );
}

/** Before the last pass, nodes are not in the order in which they will run. */
function ToLastPass({ lane, session }: { readonly lane: MemoryLane; readonly session: Session }): JSX.Element | null {
  const { lastPass } = lane;
  if (lastPass === undefined) return null;
  return (
    <button
      type="button"
      class="tool"
      data-hint="Only then are nodes in the order in which they run"
      onClick={() => session.timeline.choose(lastPass)}
    >
      Show the last pass
    </button>
  );
}
