/** The buffers alive at a point: each with its size, its type, who made it, who uses it last, and why it is still alive. */
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { kindShade, kindTitle } from "../../core/memory/kinds";
import { bytesText } from "../../core/text/quantities";
import type { LiveRow, Named } from "../engine/memoryProtocol";
import { NodeLink } from "../panels/nodeLink";
import { clipped } from "../panels/outline";
import { useRows } from "../panels/rowWindow";
import { VirtualRows } from "../panels/virtual";
import type { Session } from "../session";
import type { MemoryLane } from "./memoryLane";

const ROW = 24;
const COLUMNS = [
  ["bytes", "100px"],
  ["what if", "110px"],
  ["kind", "160px"],
  ["buffer", "220px"],
  ["type", "170px"],
  ["why it is alive", "460px"],
  ["last use", "200px"],
  ["module", "240px"],
  ["source", "220px"],
] as const;

export function LiveSet({ session, lane }: { readonly session: Session; readonly lane: MemoryLane }): JSX.Element {
  const scroller = useRef<HTMLDivElement>(null);
  const { live } = lane;
  const columns = lane.whatIf.isPossible ? COLUMNS : COLUMNS.filter(([name]) => name !== "what if");
  const template = columns.map(([, width]) => width).join(" ");
  const rowAt = useRows(live, (from, to) => session.ask("memoryRows", { from, to }));
  return (
    <div class="grid" ref={scroller} role="table" aria-label="Buffers alive" aria-rowcount={(live?.lines ?? 0) + 1} tabIndex={0}>
      <div class="line head" role="row" aria-rowindex={1} style={{ gridTemplateColumns: template }}>
        {columns.map(([name]) => (
          <span key={name} role="columnheader" class={name === "bytes" ? "numeric" : ""}>
            {name}
          </span>
        ))}
      </div>
      <VirtualRows
        count={live?.lines ?? 0}
        height={ROW}
        focus={-1}
        scroller={scroller}
        render={(index, style) => (
          <Line
            key={index}
            session={session}
            lane={lane}
            row={rowAt(index)}
            index={index}
            frame={{ top: style.top, gridTemplateColumns: template }}
          />
        )}
      />
    </div>
  );
}

function Line({
  session,
  lane,
  row,
  index,
  frame,
}: {
  readonly session: Session;
  readonly lane: MemoryLane;
  readonly row: LiveRow | undefined;
  readonly index: number;
  readonly frame: { readonly top: string; readonly gridTemplateColumns: string };
}): JSX.Element {
  const { summary } = lane;
  const buffer = row?.buffer;
  const selected = buffer !== undefined && buffer.made.node >= 0 && buffer.made.node === session.about.node?.node;
  const size = row && (row.bytes < 0 ? "unknown" : bytesText(row.bytes));
  if (row?.group !== undefined) {
    const { group } = row;
    return (
      <div class="line data group" role="row" aria-rowindex={index + 2} style={frame} onClick={() => lane.toggleGroup(group)}>
        <span role="cell" class="numeric">
          {size}
        </span>
        <span role="cell" class="wide">
          <button type="button" class="link" aria-expanded={!lane.closed.includes(group)}>
            {clipped(group || "(none)", 160)}
          </button>{" "}
          {row.count.toLocaleString("en-US")} {row.count === 1 ? "buffer" : "buffers"}
        </span>
      </div>
    );
  }
  return (
    <div
      class={buffer?.shares ? "line data shares" : "line data"}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={selected}
      style={frame}
      onClick={() => buffer && "graph" in buffer.made && void session.goTo(buffer.made.node, buffer.made.graph)}
    >
      <span role="cell" class="numeric">
        {buffer?.shares ? "" : size}
      </span>
      {lane.whatIf.isPossible && <span role="cell">{buffer && <Action lane={lane} buffer={buffer} />}</span>}
      <span role="cell">{row && summary && <Kind kind={buffer?.kind ?? summary.kinds[summary.unusedKind]} session={session} />}</span>
      <span role="cell">
        {buffer?.shares ? "└ " : ""}
        {buffer && <Name session={session} named={buffer.made} after={buffer.output} />}
      </span>
      <span role="cell" class="mono">
        {clipped(buffer?.type ?? "", 80)}
      </span>
      <span role="cell" title={buffer?.why}>
        {buffer ? (buffer.shares ? `in the same memory; ${buffer.why}` : buffer.why) : row ? summary?.unusedWhy : ""}
      </span>
      <span role="cell">{buffer?.lastUse ? <Name session={session} named={buffer.lastUse} after="" /> : buffer ? "the end" : ""}</span>
      <span role="cell" title={buffer?.module}>
        {clipped(buffer?.module ?? "", 120)}
      </span>
      <span role="cell" title={buffer?.source}>
        {clipped(buffer?.source ?? "", 120)}
      </span>
    </div>
  );
}

/** What is done to a value in a what-if question. Nothing can be done to what the program is given. */
function Action({ lane, buffer }: { readonly lane: MemoryLane; readonly buffer: NonNullable<LiveRow["buffer"]> }): JSX.Element | null {
  const { summary, whatIf } = lane;
  if (!summary || buffer.made.node < 0 || summary.given.includes(buffer.kind)) return null;
  const action = whatIf.actionOn(buffer.made.id);
  return (
    <select
      class="action"
      aria-label={`What if: ${buffer.made.id}${buffer.output}`}
      value={action}
      onClick={(event) => event.stopPropagation()}
      onChange={(event) => void whatIf.set(buffer.made.id, event.currentTarget.value)}
    >
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
    <span onClick={(event) => event.stopPropagation()}>
      <NodeLink session={session} node={named} />
      {after}
    </span>
  );
}
