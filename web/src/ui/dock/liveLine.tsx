/** A line of the list of buffers: a group, equal buffers of repeated layers, or a buffer. */
import type { JSX } from "preact";
import { kindShade, kindTitle } from "../../core/memory/kinds";
import { shortSource } from "../../core/memory/memory";
import { bytesText, countText } from "../../core/text/quantities";
import type { LiveRow, Named } from "../engine/memoryProtocol";
import { NodeLink } from "../panels/nodeLink";
import { clipped } from "../panels/outline";
import type { Session } from "../session";
import type { MemoryLane } from "./memoryLane";

interface Shown {
  readonly session: Session;
  readonly lane: MemoryLane;
  readonly row: LiveRow | undefined;
  readonly index: number;
  readonly frame: { readonly top: string; readonly gridTemplateColumns: string };
}

type LiveBuffer = NonNullable<LiveRow["buffer"]>;

export function LiveLine(shown: Shown): JSX.Element {
  const { row } = shown;
  return row?.group === undefined ? <Buffer {...shown} /> : <Group {...shown} group={row.group} count={row.count} />;
}

function Group({ lane, row, index, frame, group, count }: Shown & { readonly group: string; readonly count: number }): JSX.Element {
  return (
    <div class="line data group" role="row" aria-rowindex={index + 2} style={frame} onClick={() => lane.toggle(group)}>
      <span role="cell" class="numeric">
        {sizeText(row)}
      </span>
      <span role="cell" class="wide">
        <button type="button" class="link" aria-expanded={!lane.toggled.includes(group)}>
          {clipped((lane.by === "kind" ? kindTitle(group) : group) || "(none)", 160)}
        </button>{" "}
        {countText(count)} {count === 1 ? "buffer" : "buffers"}
      </span>
    </div>
  );
}

function Buffer({ session, lane, row, index, frame }: Shown): JSX.Element {
  const { summary } = lane;
  const { buffer, repeats } = row ?? {};
  const selected = buffer !== undefined && buffer.made.node >= 0 && buffer.made.node === session.about.node?.node;
  const open = () => {
    if (repeats) lane.toggle(repeats.key);
    else if (buffer && "graph" in buffer.made) void session.goTo(buffer.made.node, buffer.made.graph);
  };
  const why = buffer ? whyText(buffer) : row ? (summary?.unusedWhy ?? "") : "";
  return (
    <div
      class={buffer?.shares ? "line data shares" : "line data"}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={selected}
      style={frame}
      onClick={open}
    >
      <span role="cell" class="numeric">
        {buffer?.shares ? "" : sizeText(row)}
      </span>
      {lane.whatIf.isPossible && (
        <span role="cell">{buffer && <Action lane={lane} buffer={buffer} ids={row?.results ?? []} numbers={row?.numbers ?? []} />}</span>
      )}
      <span role="cell">{row && summary && <Kind kind={buffer?.kind ?? summary.kinds[summary.unusedKind]} session={session} />}</span>
      <span role="cell" class="name" data-hint={buffer && buffer.made.id + buffer.output}>
        {repeats && <Times repeats={repeats} isOpen={lane.toggled.includes(repeats.key)} />}
        {buffer?.shares ? "└ " : ""}
        {buffer && <Name session={session} named={buffer.made} after={buffer.output} />}
      </span>
      <span role="cell" data-hint={buffer?.why ?? why}>
        {why}
      </span>
      <span role="cell" data-hint={buffer?.source}>
        {clipped(shortSource(buffer?.source ?? ""), 120)}
      </span>
      <span role="cell" class="mono" data-hint={buffer?.type}>
        {clipped(buffer?.type ?? "", 80)}
      </span>
      <span role="cell" class="name" data-hint={buffer?.lastUse?.id}>
        {buffer?.lastUse ? <Name session={session} named={buffer.lastUse} after="" /> : buffer ? "the end" : ""}
      </span>
      <span role="cell" data-hint={buffer?.module}>
        {clipped(buffer?.module ?? "", 120)}
      </span>
    </div>
  );
}

/** The row opens them; the button is for the keyboard. */
function Times({
  repeats: { ids, each },
  isOpen,
}: {
  readonly repeats: NonNullable<LiveRow["repeats"]>;
  readonly isOpen: boolean;
}): JSX.Element {
  const sizes = Number.isNaN(each) ? "" : ` of ${bytesText(each)}`;
  return (
    <button
      type="button"
      class="times"
      aria-expanded={isOpen}
      data-hint={`${ids.length} buffers${sizes} that differ only by numbers in their names`}
    >
      {isOpen ? "▾" : "▸"} {ids.length} ×
    </button>
  );
}

/** What is done to a value in a what-if question. Nothing can be done to what the program is given. */
function Action({
  lane: { summary, whatIf },
  buffer,
  ids,
  numbers,
}: {
  readonly lane: MemoryLane;
  readonly buffer: LiveBuffer;
  readonly ids: readonly string[];
  readonly numbers: readonly number[];
}): JSX.Element | null {
  if (!summary || buffer.made.node < 0 || summary.given.includes(buffer.kind)) return null;
  const checkpointed = whatIf.isCheckpointed(numbers);
  if (checkpointed !== false)
    return (
      <span class="action chosen" data-hint="Recomputed with the function or module that is checkpointed">
        {checkpointed ? "recomputed" : "some recomputed"}
      </span>
    );
  const action = whatIf.actionOn(ids);
  return (
    <select
      class={action === "" ? "action" : "action chosen"}
      aria-label={`What if: ${buffer.made.id}${buffer.output}${ids.length > 1 ? ` and ${ids.length - 1} equal` : ""}`}
      value={action}
      onClick={(event) => event.stopPropagation()}
      onChange={(event) => void whatIf.set(ids, event.currentTarget.value)}
    >
      {action === undefined && (
        <option value={undefined} disabled selected>
          some
        </option>
      )}
      {["", ...summary.actions].map((name) => (
        <option key={name} value={name} selected={name === action}>
          {name || "kept"}
        </option>
      ))}
    </select>
  );
}

function Kind({ kind, session }: { readonly kind: string; readonly session: Session }): JSX.Element {
  return (
    <span class="kind">
      <i style={{ background: kindShade(kind)[session.theme.name] }} />
      {kindTitle(kind)}
    </span>
  );
}

/** What made a buffer, or uses it: a link where it is a node. */
function Name({ session, named, after }: { readonly session: Session; readonly named: Named; readonly after: string }): JSX.Element {
  if (!("graph" in named)) return <>{clipped(named.id + after, 160)}</>;
  return (
    <span class="name" onClick={(event) => event.stopPropagation()}>
      <NodeLink session={session} node={named} />
      {after}
    </span>
  );
}

function sizeText(row: LiveRow | undefined): string {
  return row ? (row.bytes < 0 ? "unknown" : bytesText(row.bytes)) : "";
}

/** The reason, without the kind: the column before it says that. */
function whyText({ why, kind, shares }: LiveBuffer): string {
  const title = `${kindTitle(kind)}: `;
  const reason = why.startsWith(title) ? why.slice(title.length) : why;
  return shares ? `in the same memory; ${reason}` : reason;
}
